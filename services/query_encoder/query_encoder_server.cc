#include "services/query_encoder/query_encoder_server.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/desired_generation.h"
#include "common/clients/manifest_status.h"
#include "common/log/log.h"
#include "common/models/inference.h"

namespace sightline {
namespace {

EncodeEngineOptions WithMetrics(EncodeEngineOptions options, MetricsRegistry* metrics) {
  options.text.metrics = BatchMetrics::Make(metrics, "text");
  options.image.metrics = BatchMetrics::Make(metrics, "image");
  options.decode.metrics = BatchMetrics::Make(metrics, "decode");
  return options;
}

}  // namespace

QueryEncoderServer::QueryEncoderServer(const QueryEncoderConfig& config)
    : config_(config),
      pool_(config.compute.threads),
      models_(config.store.store, ModelOptions{&pool_, config.compute.deterministic},
              config.store.verify),
      engine_(WithMetrics(config.engine, &metrics_), &generations_, Clock::Real()),
      rpc_(config.server, &metrics_),
      service_(&engine_, rpc_.calls()),
      admin_([this](const StatusRequest&) { return Status(); }, rpc_.calls()) {}

QueryEncoderServer::~QueryEncoderServer() {
  rpc_.Drain();
  engine_.Drain();
}

absl::Status QueryEncoderServer::Start() {
  ComputePool::SingleThreadedLibraries();
  UseSingleThreadedTorch();
  rpc_.AddService(v1::QueryEncoder::service_full_name(), &service_);
  rpc_.AddService(v1::Admin::service_full_name(), &admin_);
  RETURN_IF_ERROR(rpc_.Start());
  RETURN_IF_ERROR(Load());
  generations_.SetComplete();
  RETURN_IF_ERROR(WarmUp());
  rpc_.SetServing(true);
  return absl::OkStatus();
}

absl::Status QueryEncoderServer::Load() {
  for (const std::string& index : config_.store.indexes) {
    ASSIGN_OR_RETURN(DesiredGeneration desired, ReadDesiredGeneration(config_.store.store, index));
    auto held = std::make_shared<EncoderGeneration>();
    ASSIGN_OR_RETURN(held->encoder, models_.Get(desired.manifest.encoder_model()));
    if (held->encoder->space() != desired.manifest.embedding().space()) {
      return absl::FailedPreconditionError(
          absl::StrCat("generation '", desired.manifest.generation(), "' of index '", index,
                       "' lies in another embedding space than its encoder ", held->encoder->id()));
    }
    if (!desired.manifest.reranker_model().empty()) {
      ASSIGN_OR_RETURN(held->reranker, models_.Get(desired.manifest.reranker_model()));
      if (held->reranker->cross_encoder() == nullptr) {
        return absl::FailedPreconditionError(absl::StrCat(
            "generation '", desired.manifest.generation(), "' of index '", index, "' names ",
            desired.manifest.reranker_model(), " as its reranker, which has no cross-encoder"));
      }
    }
    Log(Severity::kInfo, "generation loaded",
        {{"index", index}, {"generation", desired.manifest.generation()}});
    generations_.Put({std::move(desired.manifest), desired.sequence, std::move(held)});
  }
  return absl::OkStatus();
}

// The first forward pass of a process allocates and compiles; no caller should wait for
// that.
absl::Status QueryEncoderServer::WarmUp() {
  const CallContext call = CallContext::Unbounded();
  for (const auto& entry : generations_.All()) {
    const bundle::v1::GenerationManifest& manifest = entry->manifest;
    EncodeRequest request;
    request.target = {manifest.index(), manifest.generation(), manifest.embedding().space()};
    if (entry->held->encoder->text_encoder() == nullptr) continue;
    request.queries.push_back(TextQuery{"a picture to warm up with"});
    RETURN_IF_ERROR(engine_.EncodeQueries(request, call).status());
  }
  return absl::OkStatus();
}

ServerStatus QueryEncoderServer::Status() const {
  ServerStatus status;
  status.service = "query_encoder";
  const LoadedModels models = models_.Loaded();
  for (const auto& entry : generations_.All()) {
    status.generations.push_back(ReadyGeneration(entry->manifest, entry->sequence, {}, models));
  }
  status.models = DescribeModels(models);
  return status;
}

}  // namespace sightline
