// A gRPC server with what every one of ours has: health, reflection, a metrics page,
// limits, drain.
//
//   MetricsRegistry metrics;
//   RpcServer server(options, &metrics);
//   IndexSearchService service(&searcher, server.gate());
//   server.AddService(&service);
//   RETURN_IF_ERROR(server.Start());     // answers, and reports NOT_SERVING
//   ... load, warm ...
//   server.SetServing(true);
//   return RunUntilSignal(&server, &signals);
//
// One thread reads (event_loop.h).  Handlers are code that blocks, and reads from top to bottom:
// those that compute run in threads, those that mostly wait in fibers of that one (HandlerPlace),
// of both together max_concurrent_calls at a time.
#ifndef SIGHTLINE_COMMON_RPC_RPC_SERVER_H_
#define SIGHTLINE_COMMON_RPC_RPC_SERVER_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/metrics/metrics.h"
#include "common/metrics/metrics_server.h"
#include "common/rpc/call_gate.h"
#include "common/rpc/rpc_options.h"

namespace grpc {
class Server;
}  // namespace grpc

namespace sightline {

class EventLoop;
class HealthService;
class ReflectionService;
class RpcService;

// AddService and Start from one thread; everything else is thread-safe.
class RpcServer {
 public:
  // `metrics` and `clock` must outlive the server.
  RpcServer(const RpcServerOptions& options, MetricsRegistry* metrics,
            Clock* clock = Clock::Real());

  // Cancels calls in progress, waits for their handlers and stops.  Drain first to be
  // kind.
  ~RpcServer();

  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  // What handlers run in.
  CallGate* gate() { return &gate_; }

  // Before Start.  The service must outlive the server or its Drain.
  void AddService(RpcService* service);

  // Listens.  Health is NOT_SERVING until SetServing(true), but for its entry `liveness`, which is
  // SERVING for as long as calls are taken (health_service.h).  InvalidArgument for a
  // malformed address; Unavailable if an address cannot be listened on.
  absl::Status Start();

  // The ports in use, after Start; metrics_port is 0 without a metrics page.
  int port() const { return port_; }
  int metrics_port() const { return metrics_server_ == nullptr ? 0 : metrics_server_->port(); }

  // Sets grpc.health.v1 for every service and for "".  Ignored after Drain began.
  void SetServing(bool serving);
  bool serving() const;
  // Whether Drain began.
  bool draining() const;

  // Reports NOT_SERVING, keeps answering for drain_delay if it ever was SERVING, then takes no
  // new call, lets those in progress end within drain_timeout and cancels the rest.  Returns when
  // no handler runs any more; the metrics page stays until the destructor.  Later calls wait for
  // the first.
  void Drain();

 private:
  // Those that were added, and the server's own.
  std::vector<RpcService*> Services() const;
  void SetHealth(bool serving);
  void Stop(absl::Duration delay, absl::Duration timeout);

  const RpcServerOptions options_;
  MetricsRegistry* const metrics_;
  Clock* const clock_;
  CallGate gate_;
  std::vector<RpcService*> services_;
  const std::unique_ptr<HealthService> health_;
  std::unique_ptr<ReflectionService> reflection_;  // null if it is not wanted
  std::unique_ptr<MetricsServer> metrics_server_;
  std::unique_ptr<EventLoop> loop_;  // outlives server_
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;

  mutable Mutex mutex_;  // held over health changes only
  bool serving_ GUARDED_BY(mutex_) = false;
  bool ever_served_ GUARDED_BY(mutex_) = false;
  bool draining_ GUARDED_BY(mutex_) = false;
  Mutex stop_mutex_;  // held while stopping
  bool stopped_ GUARDED_BY(stop_mutex_) = false;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_RPC_SERVER_H_
