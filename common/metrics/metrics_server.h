// The page that Prometheus scrapes: http://<address>/metrics.
//
// Served by cpp-httplib rather than prometheus-cpp's Exposer: the Exposer's civetweb gives
// its threads stacks of 100 KiB, which is less than the thread-local storage of a process
// that links LibTorch, and so it cannot start there.
#ifndef SIGHTLINE_COMMON_METRICS_METRICS_SERVER_H_
#define SIGHTLINE_COMMON_METRICS_METRICS_SERVER_H_

#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/metrics/metrics.h"

namespace httplib {
class Server;
}  // namespace httplib

namespace sightline {

// Serves until it is destroyed.  Thread-safe.
class MetricsServer {
 public:
  // `address` is "IP:port"; port 0 takes a free one.  `registry` must outlive the server.
  // InvalidArgument for a malformed address, Unavailable if it cannot be listened on.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(const MetricsRegistry* registry,
                                                              absl::string_view address);
  ~MetricsServer();

  int port() const { return port_; }

 private:
  MetricsServer(std::unique_ptr<httplib::Server> server, int port);

  const std::unique_ptr<httplib::Server> server_;
  const int port_;
  std::thread listener_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_METRICS_METRICS_SERVER_H_
