// The page that Prometheus scrapes: http://<address>/metrics.
#ifndef SIGHTLINE_COMMON_METRICS_METRICS_SERVER_H_
#define SIGHTLINE_COMMON_METRICS_METRICS_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/metrics/metrics.h"

namespace prometheus {
class Exposer;
}  // namespace prometheus

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
  MetricsServer(std::unique_ptr<prometheus::Exposer> exposer, std::string host, int port);

  std::unique_ptr<prometheus::Exposer> exposer_;
  const std::string host_;
  const int port_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_METRICS_METRICS_SERVER_H_
