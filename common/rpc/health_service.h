// grpc.health.v1.Health: whether a server and its services take calls, and whether it lives.
//
// gRPC's own service answers from threads that serve nothing else, and so says SERVING for a
// server whose handlers are all stuck.  Here Check is a call like any other, through the gate and
// on the threads that others are served by.
#ifndef SIGHTLINE_COMMON_RPC_HEALTH_SERVICE_H_
#define SIGHTLINE_COMMON_RPC_HEALTH_SERVICE_H_

#include <list>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/base/mutex.h"
#include "common/rpc/call_gate.h"
#include "common/rpc/rpc_service.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace sightline {

// The entry that tells whether the server can answer at all.  Nothing sets it.
inline constexpr absl::string_view kLivenessEntry = "liveness";

// Thread-safe.
class HealthService final : public RpcService {
 public:
  // Watches that are open at a time.  One more ends with UNIMPLEMENTED: a caller whose balancing
  // watches health then takes the server for healthy, and after any other error for unhealthy
  // (gRFC A17).  They hold no thread.
  static constexpr int kMaxWatches = 1000;

  // `calls` outlives this.  There is one entry, liveness.
  explicit HealthService(CallGate* calls);

  // Adds or changes the entry of a service; "" is the server's.  Tells those who watch it.
  void Set(const std::string& service, bool serving);

 private:
  using Request = grpc::health::v1::HealthCheckRequest;
  using Response = grpc::health::v1::HealthCheckResponse;
  using State = Response::ServingStatus;
  class Watcher;
  using Watchers = std::list<Watcher*>;

  // NOT_SERVING for liveness when the gate is stuck.  NOT_FOUND: no such entry.
  absl::Status Check(Request request, const CallContext& call, Response* response);
  // A watch of liveness is told SERVING and nothing else: who is stuck tells nobody.
  void Open(Watcher* watcher);
  void Begin(Watcher* watcher, const IncomingRequest& question);
  State StateOf(const std::string& service) const REQUIRES(mutex_);
  void Tell(Watcher* watcher) REQUIRES(mutex_);
  void NoteWritten(Watcher* watcher, bool ok);
  void NoteGone(Watcher* watcher);
  void NoteDeleted();
  void End(Watcher* watcher, const absl::Status& why) REQUIRES(mutex_);

  CallGate* const calls_;
  Mutex mutex_;  // of what the watchers hold, too
  std::map<std::string, State> states_ GUARDED_BY(mutex_);
  int open_watches_ GUARDED_BY(mutex_) = 0;
  Watchers watchers_ GUARDED_BY(mutex_);  // those that have asked
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_HEALTH_SERVICE_H_
