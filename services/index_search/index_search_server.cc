#include "services/index_search/index_search_server.h"

#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/clients/manifest_status.h"

namespace sightline {
namespace {

SearchEngineOptions WithMetrics(SearchEngineOptions options, MetricsRegistry* metrics) {
  options.batching.metrics = BatchMetrics::Make(metrics, "search");
  return options;
}

}  // namespace

IndexSearchServer::IndexSearchServer(const IndexSearchConfig& config)
    : pool_(config.threads),
      generations_(Clock::Real()),
      host_({config.store.store, config.generations.state_dir, config.shards, config.store.verify},
            &pool_, &janitor_),
      engine_(WithMetrics(config.engine, &metrics_), &generations_, Clock::Real()),
      rpc_(config.server, &metrics_),
      service_(&engine_, rpc_.calls()),
      follower_(config.generations, &host_, generations_.table(), &janitor_, &metrics_,
                Clock::Real(), [this](bool serving) { rpc_.SetServing(serving); }),
      admin_([this](const StatusRequest& request) { return Status(request); }, rpc_.calls()) {}

IndexSearchServer::~IndexSearchServer() {
  rpc_.Drain();
  engine_.Drain();
}

absl::Status IndexSearchServer::Start() {
  ComputePool::SingleThreadedLibraries();
  rpc_.AddService(v1::IndexSearch::service_full_name(), &service_);
  rpc_.AddService(v1::Admin::service_full_name(), &admin_);
  RETURN_IF_ERROR(rpc_.Start());
  follower_.Start();
  return absl::OkStatus();
}

ServerStatus IndexSearchServer::Status(const StatusRequest& request) {
  follower_.NoteUses(request.router, UsesOf(request));
  ServerStatus status;
  status.service = "index_search";
  for (const HeldGeneration& entry : generations_.table()->All()) {
    std::vector<int> shards;
    if (const auto* held = static_cast<const SearchGeneration*>(entry.held.get())) {
      for (const auto& [shard, opened] : held->shards) shards.push_back(shard);
    }
    status.generations.push_back(DescribeGeneration(entry, std::move(shards), {}));
  }
  return status;
}

}  // namespace sightline
