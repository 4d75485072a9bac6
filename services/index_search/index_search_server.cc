#include "services/index_search/index_search_server.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/verify.h"
#include "common/clients/manifest_status.h"
#include "common/log/log.h"

namespace sightline {
namespace {

SearchEngineOptions WithMetrics(SearchEngineOptions options, MetricsRegistry* metrics) {
  options.batching.metrics = BatchMetrics::Make(metrics, "search");
  return options;
}

}  // namespace

IndexSearchServer::IndexSearchServer(const IndexSearchConfig& config)
    : config_(config),
      pool_(config.threads),
      engine_(WithMetrics(config.engine, &metrics_), &generations_, Clock::Real()),
      rpc_(config.server, &metrics_),
      service_(&engine_, rpc_.calls()),
      admin_([this](const StatusRequest&) { return Status(); }, rpc_.calls()) {}

IndexSearchServer::~IndexSearchServer() {
  rpc_.Drain();
  engine_.Drain();
}

absl::Status IndexSearchServer::Start() {
  ComputePool::SingleThreadedLibraries();
  rpc_.AddService(v1::IndexSearch::service_full_name(), &service_);
  rpc_.AddService(v1::Admin::service_full_name(), &admin_);
  RETURN_IF_ERROR(rpc_.Start());
  for (const std::string& index : config_.store.indexes) RETURN_IF_ERROR(LoadIndex(index));
  generations_.SetComplete();
  rpc_.SetServing(true);
  return absl::OkStatus();
}

absl::Status IndexSearchServer::LoadIndex(const std::string& index) {
  ASSIGN_OR_RETURN(DesiredGeneration desired, ReadDesiredGeneration(config_.store.store, index));
  std::vector<int> wanted = config_.shards;
  if (wanted.empty()) {
    wanted.resize(desired.manifest.shards_size());
    std::iota(wanted.begin(), wanted.end(), 0);
  }
  for (const int shard : wanted) {
    if (shard < desired.manifest.shards_size()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "the configuration wants shard ", shard, " of index '", index, "', but generation '",
        desired.manifest.generation(), "' has ", desired.manifest.shards_size()));
  }
  if (config_.store.verify) {
    VerifyOptions verify;
    verify.shards = wanted;
    verify.features = false;
    verify.state_dir = config_.state_dir;
    RETURN_IF_ERROR(VerifyGeneration(config_.store.store, desired.manifest, verify));
  }
  auto held = std::make_shared<SearchGeneration>();
  int64_t items = 0;
  for (const int shard : wanted) {
    ASSIGN_OR_RETURN(SearchableShard opened, OpenShard(desired, shard));
    items += opened.vectors->size();
    held->shards.emplace(shard, std::move(opened));
  }
  Log(Severity::kInfo, "generation loaded",
      {{"index", index},
       {"generation", desired.manifest.generation()},
       {"shards", held->shards.size()},
       {"items", items}});
  generations_.Put({std::move(desired.manifest), desired.sequence, std::move(held)});
  return absl::OkStatus();
}

absl::StatusOr<SearchableShard> IndexSearchServer::OpenShard(const DesiredGeneration& desired,
                                                             int shard) {
  const bundle::v1::GenerationManifest& manifest = desired.manifest;
  const bundle::v1::ShardManifest& description = manifest.shards(shard);
  const std::string path =
      JoinPath(GenerationDirectory(config_.store.store, manifest.index(), manifest.generation()),
               description.vectors().path());
  SearchableShard opened;
  ASSIGN_OR_RETURN(opened.vectors,
                   ShardVectors::Open(path, description, manifest.embedding().dimension()));
  const VectorView view{opened.vectors->data(), opened.vectors->size(), opened.vectors->dimension(),
                        opened.vectors->stride()};
  ASSIGN_OR_RETURN(opened.index, OpenFlatIndex(view, &pool_));
  return opened;
}

ServerStatus IndexSearchServer::Status() const {
  ServerStatus status;
  status.service = "index_search";
  for (const auto& entry : generations_.All()) {
    std::vector<int> shards;
    for (const auto& [shard, opened] : entry->held->shards) shards.push_back(shard);
    status.generations.push_back(
        ReadyGeneration(entry->manifest, entry->sequence, std::move(shards), {}));
  }
  return status;
}

}  // namespace sightline
