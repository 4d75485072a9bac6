// The composition root that servers of generations share: ports, the generations that they
// follow, what they say of themselves, and the order in which all of that starts and ends.
//
//   struct RerankDomain {              // what is the reranker's own
//     using Config = RerankerConfig;   // with RpcServerOptions `server`, GenerationOptions
//                                      // `generations`
//     using Service = RerankerService; // made of &engine and CallGate
//     static constexpr char kName[] = "reranker";
//     static int Threads(const Config& config);   // of the pool
//     static void PrepareLibraries();             // of the thread that starts the server
//     // All of these outlive the domain and whatever it loads.
//     RerankDomain(const Config& config, MetricsRegistry* metrics, ComputePool* pool,
//                  Janitor* janitor);
//     LoadedModels Models() const;                // none: the server has no models
//     std::vector<DeviceStatus> Devices() const;  // that it computes on
//     static std::vector<int> ShardsOf(const HeldGeneration& entry);  // that it holds of it
//
//     GenerationRegistry<RerankGeneration> generations;
//     RerankHost host;      // a GenerationHost
//     RerankEngine engine;  // with Drain()
//   };
//   using RerankerServer = BackendServer<RerankDomain>;
#ifndef SIGHTLINE_COMMON_RPC_BACKEND_SERVER_H_
#define SIGHTLINE_COMMON_RPC_BACKEND_SERVER_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "common/api/server_status.h"
#include "common/base/clock.h"
#include "common/base/compute_pool.h"
#include "common/base/status_macros.h"
#include "common/clients/manifest_status.h"
#include "common/generations/generation_follower.h"
#include "common/generations/generation_table.h"
#include "common/generations/janitor.h"
#include "common/metrics/metrics.h"
#include "common/rpc/admin_service.h"
#include "common/rpc/rpc_server.h"
#include "common/rpc/server_process.h"

namespace sightline {

template <typename Domain>
class BackendServer final : public ServerProcess {
 public:
  explicit BackendServer(const typename Domain::Config& config)
      : pool_(Domain::Threads(config)),
        domain_(config, &metrics_, &pool_, &janitor_),
        rpc_(config.server, &metrics_),
        service_(&domain_.engine, rpc_.gate()),
        source_(config.generations.source),
        follower_(config.generations, &domain_.host, domain_.generations.table(), &janitor_,
                  &metrics_, Clock::Real(), [this](bool serving) { rpc_.SetServing(serving); }),
        admin_([this](const StatusRequest& request) { return Status(request); }, rpc_.gate()) {}

  ~BackendServer() override {
    rpc_.Drain();
    domain_.engine.Drain();
  }

  absl::Status Start(const std::shared_ptr<Cancellation>& stop) override {
    Domain::PrepareLibraries();
    rpc_.AddService(&service_);
    rpc_.AddService(&admin_);
    RETURN_IF_ERROR(source_->Open());
    RETURN_IF_ERROR(rpc_.Start());
    follower_.Start(stop);
    return absl::OkStatus();
  }

  RpcServer* rpc() override { return &rpc_; }

 private:
  ServerStatus Status(const StatusRequest& request) {
    follower_.NoteUses(request.router, UsesOf(request));
    ServerStatus status;
    status.service = Domain::kName;
    // In this order: the models of what is held here are among those that are loaded then.
    const std::vector<HeldGeneration> held = domain_.generations.table()->All();
    const LoadedModels models = domain_.Models();
    const absl::Time now = Clock::Real()->Now();
    for (const HeldGeneration& entry : held) {
      status.generations.push_back(DescribeGeneration(entry, Domain::ShardsOf(entry), models, now));
    }
    status.models = DescribeModels(models);
    status.indexes = follower_.Indexes();
    status.devices = domain_.Devices();
    status.draining = rpc_.draining();
    return status;
  }

  MetricsRegistry metrics_;
  ComputePool pool_;
  Janitor janitor_;
  Domain domain_;
  RpcServer rpc_;
  typename Domain::Service service_;
  const std::shared_ptr<GenerationSource> source_;
  GenerationFollower follower_;
  AdminService admin_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_BACKEND_SERVER_H_
