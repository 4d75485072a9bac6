#include "services/corpus_encoder/corpus_encoder.h"

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/compute_pool.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/bundle/loaded_model.h"
#include "common/config/device_models.h"
#include "common/device/device_info.h"
#include "common/log/log.h"
#include "common/models/inference.h"
#include "common/models/model.h"
#include "common/models/model_cache.h"
#include "common/object_store/conditional_writes.h"
#include "services/corpus_encoder/device_timeline.h"
#include "services/corpus_encoder/remote_store.h"
#include "services/corpus_encoder/work_folder.h"

namespace sightline {
namespace {

// Brings from the object store what the job reads.  One that publications could be lost in is
// refused before any work is done.
absl::Status Prepare(const CorpusEncoderConfig& config, const CallContext& call) {
  const CorpusEncoderOptions& job = config.job;
  if (job.share.writes()) RETURN_IF_ERROR(CheckConditionalWrites(*job.object_store, call));
  JobInputs inputs;
  inputs.models = {config.model};
  for (const NamedReranker& named : config.rerankers) inputs.models.push_back(named.model);
  inputs.images_index = job.images_index;
  inputs.captions_index = job.captions_index;
  inputs.base = job.base;
  return FetchInputs(job.place(), inputs, call);
}

ModelCacheOptions CacheOptions(const CorpusEncoderConfig& config, ComputePool* pool,
                               std::shared_ptr<DeviceTimeline> device) {
  const CorpusEncoderOptions& job = config.job;
  ModelCacheOptions options = ModelCacheOptionsOf({job.store, {}, config.verify_model},
                                                  config.compute, config.precision, config.place);
  options.model.pool = pool;
  options.model.execution.passes = std::move(device);
  options.precision.state_dir = WorkDirectory(job.store, job.images_index);
  return options;
}

// A model without transformer's blocks computes in float32 alone.
absl::Status CheckChosen(const CorpusEncoderConfig& config, const LoadedModel& loaded) {
  const std::string& named = config.precision.policy.precision;
  if (loaded.precision == named) return absl::OkStatus();
  return MakeError(reasons::kPrecisionMissing,
                   absl::StrCat("model ", config.model, " computes in ", loaded.precision,
                                " alone, not in ", named, "; leave `compute.precision` out"));
}

// Whether the model computes on a device.  FailedPrecondition if that has no room for it; else
// errors as ModelCache::DeviceFootprints.
absl::StatusOr<bool> IsOnDevice(ModelCache& models, const std::string& model) {
  ASSIGN_OR_RETURN(const auto footprints, models.DeviceFootprints({model}));
  for (const device::DeviceFootprint& footprint : footprints) {
    if (footprint.bytes <= footprint.limit) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("model ", model, " takes ", footprint.bytes, " bytes of device ",
                     footprint.device, ", of which ", footprint.limit,
                     " may be used; raise `device.memory_limit`, or encode on the CPU"));
  }
  return !footprints.empty();
}

}  // namespace

absl::StatusOr<EncodeSummary> RunCorpusEncoder(const CorpusEncoderConfig& config,
                                               DecoderStarter* starter, bool terminal,
                                               const CallContext& call) {
  ComputePool::SingleThreadedLibraries();
  UseSingleThreadedTorch();
  ComputePool pool(config.compute.threads);

  if (config.job.object_store != nullptr) RETURN_IF_ERROR(Prepare(config, call));

  CorpusEncoderOptions options = config.job;
  const auto device = std::make_shared<DeviceTimeline>(Clock::Real());
  ModelCache models(CacheOptions(config, &pool, device));
  ASSIGN_OR_RETURN(const bool on_device, IsOnDevice(models, config.model));
  ASSIGN_OR_RETURN(std::shared_ptr<const Model> encoder, models.Get(config.model, call));
  const LoadedModel loaded = models.Loaded().at(config.model);
  RETURN_IF_ERROR(CheckChosen(config, loaded));
  if (!on_device && !config.place.execution.on_cpu()) {
    Log(Severity::kWarning, "the encoder has nothing that is computed on a device",
        {{"model", config.model}, {"device", config.place.execution.device}});
  }
  if (on_device) options.device = device;
  options.precision = {loaded.precision, loaded.agreement};
  std::vector<CorpusModels::Reranker> rerankers;
  for (const NamedReranker& named : config.rerankers) {
    std::shared_ptr<const Model> reranker = encoder;
    if (named.model != config.model) {
      ASSIGN_OR_RETURN(reranker, models.GetPreparing(named.model));
    }
    rerankers.push_back({named.name, std::move(reranker)});
  }

  std::vector<std::unique_ptr<CorpusReader>> corpora;
  for (const CorpusSpec& spec : config.corpora) {
    ASSIGN_OR_RETURN(std::unique_ptr<CorpusReader> corpus, OpenCorpus(spec));
    corpora.push_back(std::move(corpus));
  }

  Progress::Options progress_options;
  progress_options.terminal = terminal;
  progress_options.write = [](absl::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  Progress progress(progress_options, Clock::Real());
  DecoderPool decoders(starter, config.max_decode_time);
  CorpusEncoderJob job(options, std::move(corpora),
                       MakeCorpusModels(std::move(encoder), std::move(rerankers)),
                       loaded.manifest.embedding(), &decoders, Clock::Real(), &progress);
  return job.Run(call);
}

}  // namespace sightline
