// Composition root of router.
#ifndef SIGHTLINE_SERVICES_ROUTER_ROUTER_SERVER_H_
#define SIGHTLINE_SERVICES_ROUTER_ROUTER_SERVER_H_

#include <map>
#include <memory>
#include <string>

#include "common/api/server_status.h"
#include "common/base/timer_thread.h"
#include "common/metrics/metrics.h"
#include "common/replicas/replicas.h"
#include "common/retrieval/backends.h"
#include "common/retrieval/budget_policy.h"
#include "common/retrieval/retriever.h"
#include "common/retrieval/search_caches.h"
#include "common/rpc/admin_service.h"
#include "common/rpc/rpc_server.h"
#include "common/rpc/server_process.h"
#include "services/router/backend_poller.h"
#include "services/router/channel_pool.h"
#include "services/router/membership.h"
#include "services/router/name_watcher.h"
#include "services/router/replica_sets.h"
#include "services/router/router_config.h"
#include "services/router/router_service.h"
#include "services/router/status_board.h"

namespace sightline {

// Whom calls tell that a server is not what it was when it was polled last: the poller, while there
// is one.  Thread-safe; outlived by nobody's call, since calls share it.
class EarlyPolls {
 public:
  void Set(BackendPoller* poller) {
    MutexLock lock(mutex_);
    poller_ = poller;
  }
  void Ask(const std::string& address) {
    MutexLock lock(mutex_);
    if (poller_ != nullptr) poller_->PollSoon(address);
  }

 private:
  Mutex mutex_;
  BackendPoller* poller_ GUARDED_BY(mutex_) = nullptr;
};

class RouterServer : public ServerProcess {
 public:
  explicit RouterServer(const RouterConfig& config);
  ~RouterServer() override;

  // Listens and begins to ask the backends.  Reports SERVING once every index is known,
  // or after start_grace those that are.  It takes no time that `stop` could end.
  absl::Status Start(const std::shared_ptr<Cancellation>& stop) override;
  RpcServer* rpc() override { return &rpc_; }

 private:
  ServerStatus Describe() const;
  void SetMembers(const Membership& members);
  void OnReport(const std::string& address, absl::StatusOr<ServerStatus> status);
  void Refresh();

  const RouterConfig config_;
  MetricsRegistry metrics_;
  ChannelPool channels_;
  const std::shared_ptr<EarlyPolls> early_polls_ = std::make_shared<EarlyPolls>();
  ReplicaSets sets_;
  StatusBoard board_;
  const FixedShareBudget budget_;
  SearchCaches caches_;
  const Retriever retriever_;
  RpcServer rpc_;
  RouterService service_;
  AdminService admin_;
  absl::Time started_;
  // Of the board alone: those of requests do not wait for it.
  std::unique_ptr<TimerThread> refreshes_;
  std::unique_ptr<BackendPoller> poller_;
  std::unique_ptr<NameWatcher> names_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_ROUTER_SERVER_H_
