#include "services/corpus_encoder/corpus_encoder.h"

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/compute_pool.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/bundle/model_bundle.h"
#include "common/log/log.h"
#include "common/models/inference.h"
#include "common/models/model.h"
#include "common/object_store/conditional_writes.h"
#include "services/corpus_encoder/remote_store.h"

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

}  // namespace

absl::StatusOr<EncodeSummary> RunCorpusEncoder(const CorpusEncoderConfig& config,
                                               DecoderStarter* starter, bool terminal,
                                               const CallContext& call) {
  ComputePool::SingleThreadedLibraries();
  UseSingleThreadedTorch();
  ComputePool pool(config.compute.threads);

  if (config.job.object_store != nullptr) RETURN_IF_ERROR(Prepare(config, call));

  ModelOptions model_options;
  model_options.pool = &pool;
  model_options.deterministic = config.compute.deterministic;
  bundle::v1::EmbeddingSpec embedding;
  const auto load = [&](const std::string& id) -> absl::StatusOr<std::shared_ptr<const Model>> {
    ASSIGN_OR_RETURN(const ModelBundle bundle,
                     OpenModelBundle(ModelDirectory(config.job.store, id), config.verify_model));
    if (id == config.model) embedding = bundle.manifest.embedding();
    return LoadModel(bundle, model_options);
  };
  ASSIGN_OR_RETURN(std::shared_ptr<const Model> encoder, load(config.model));
  std::vector<CorpusModels::Reranker> rerankers;
  for (const NamedReranker& named : config.rerankers) {
    std::shared_ptr<const Model> reranker = encoder;
    if (named.model != config.model) {
      ASSIGN_OR_RETURN(reranker, load(named.model));
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
  CorpusEncoderJob job(config.job, std::move(corpora),
                       MakeCorpusModels(std::move(encoder), std::move(rerankers)), embedding,
                       &decoders, Clock::Real(), &progress);
  return job.Run(call);
}

}  // namespace sightline
