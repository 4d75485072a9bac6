#include "services/reranker/reranker_server.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/desired_generation.h"
#include "common/bundle/generation.h"
#include "common/bundle/verify.h"
#include "common/clients/manifest_status.h"
#include "common/log/log.h"
#include "common/models/inference.h"

namespace sightline {
namespace {

RerankEngineOptions WithMetrics(RerankEngineOptions options, MetricsRegistry* metrics) {
  options.batching.metrics = BatchMetrics::Make(metrics, "rerank");
  return options;
}

}  // namespace

RerankerServer::RerankerServer(const RerankerConfig& config)
    : config_(config),
      pool_(config.compute.threads),
      models_(config.store.store, ModelOptions{&pool_, config.compute.deterministic},
              config.store.verify),
      engine_(WithMetrics(config.engine, &metrics_), &generations_, Clock::Real()),
      rpc_(config.server, &metrics_),
      service_(&engine_, rpc_.calls()),
      admin_([this](const StatusRequest&) { return Status(); }, rpc_.calls()) {}

RerankerServer::~RerankerServer() {
  rpc_.Drain();
  engine_.Drain();
}

absl::Status RerankerServer::Start() {
  ComputePool::SingleThreadedLibraries();
  UseSingleThreadedTorch();
  rpc_.AddService(v1::Reranker::service_full_name(), &service_);
  rpc_.AddService(v1::Admin::service_full_name(), &admin_);
  RETURN_IF_ERROR(rpc_.Start());
  for (const std::string& index : config_.store.indexes) RETURN_IF_ERROR(LoadIndex(index));
  generations_.SetComplete();
  RETURN_IF_ERROR(WarmUp());
  rpc_.SetServing(true);
  return absl::OkStatus();
}

absl::Status RerankerServer::LoadIndex(const std::string& index) {
  ASSIGN_OR_RETURN(DesiredGeneration desired, ReadDesiredGeneration(config_.store.store, index));
  const bundle::v1::GenerationManifest& manifest = desired.manifest;
  auto held = std::make_shared<RerankGeneration>();
  if (!manifest.reranker_model().empty()) {
    ASSIGN_OR_RETURN(held->model, models_.Get(manifest.reranker_model()));
    if (held->model->cross_encoder() == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat("generation '", manifest.generation(), "' of index '", index, "' names ",
                       manifest.reranker_model(), " as its reranker, which has no cross-encoder"));
    }
    if (config_.store.verify) {
      VerifyOptions verify;
      verify.vectors = false;
      verify.state_dir = config_.state_dir;
      RETURN_IF_ERROR(VerifyGeneration(config_.store.store, manifest, verify));
    }
    const std::string directory =
        GenerationDirectory(config_.store.store, index, manifest.generation());
    for (int shard = 0; shard < manifest.shards_size(); ++shard) {
      const bundle::v1::ShardManifest& description = manifest.shards(shard);
      const std::string path = JoinPath(directory, description.features().path());
      ASSIGN_OR_RETURN(held->features[shard], FeatureStore::Open(path, description));
    }
  }
  Log(Severity::kInfo, "generation loaded",
      {{"index", index}, {"generation", manifest.generation()}, {"items", manifest.item_count()}});
  generations_.Put({std::move(desired.manifest), desired.sequence, std::move(held)});
  return absl::OkStatus();
}

// The first forward pass of a process allocates and compiles; no caller should wait for
// that.
absl::Status RerankerServer::WarmUp() {
  const CallContext call = CallContext::Unbounded();
  for (const auto& entry : generations_.All()) {
    const bundle::v1::GenerationManifest& manifest = entry->manifest;
    if (entry->held->model == nullptr) continue;
    RerankRequest request;
    request.target = {manifest.index(), manifest.generation(), manifest.embedding().space()};
    request.query_is_text = manifest.item_kind() == bundle::v1::IMAGE;
    for (int shard = 0; shard < manifest.shards_size() && request.candidates.empty(); ++shard) {
      if (manifest.shards(shard).item_count() == 0) continue;
      request.candidates.push_back(StoredRef{request.target, shard, 0});
    }
    // Only a text is at hand to warm up with, so captions wait for their first image.
    if (!request.query_is_text || request.candidates.empty()) continue;
    request.query = TextQuery{"a picture to warm up with"};
    RETURN_IF_ERROR(engine_.RerankCandidates(request, call).status());
  }
  return absl::OkStatus();
}

ServerStatus RerankerServer::Status() const {
  ServerStatus status;
  status.service = "reranker";
  const LoadedModels models = models_.Loaded();
  for (const auto& entry : generations_.All()) {
    status.generations.push_back(ReadyGeneration(entry->manifest, entry->sequence, {}, models));
  }
  status.models = DescribeModels(models);
  return status;
}

}  // namespace sightline
