#include "services/query_encoder/query_encoder_server.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/clients/manifest_status.h"
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
    : pool_(config.compute.threads),
      models_(config.store.store, ModelOptions{&pool_, config.compute.deterministic},
              config.store.verify, &janitor_),
      generations_(Clock::Real()),
      host_(config.store.store, &models_),
      engine_(WithMetrics(config.engine, &metrics_), &generations_, Clock::Real()),
      rpc_(config.server, &metrics_),
      service_(&engine_, rpc_.calls()),
      follower_(config.generations, &host_, generations_.table(), &janitor_, &metrics_,
                Clock::Real(), [this](bool serving) { rpc_.SetServing(serving); }),
      admin_([this](const StatusRequest& request) { return Status(request); }, rpc_.calls()) {}

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
  follower_.Start();
  return absl::OkStatus();
}

ServerStatus QueryEncoderServer::Status(const StatusRequest& request) {
  follower_.NoteUses(request.router, UsesOf(request));
  ServerStatus status;
  status.service = "query_encoder";
  const LoadedModels models = models_.Loaded();
  for (const HeldGeneration& entry : generations_.table()->All()) {
    status.generations.push_back(DescribeGeneration(entry, {}, models));
  }
  status.models = DescribeModels(models);
  return status;
}

}  // namespace sightline
