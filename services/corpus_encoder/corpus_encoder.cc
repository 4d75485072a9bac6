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

namespace sightline {

absl::StatusOr<EncodeSummary> RunCorpusEncoder(const CorpusEncoderConfig& config,
                                               DecoderStarter* starter, bool terminal,
                                               const CallContext& call) {
  ComputePool::SingleThreadedLibraries();
  UseSingleThreadedTorch();
  ComputePool pool(config.compute.threads);

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
