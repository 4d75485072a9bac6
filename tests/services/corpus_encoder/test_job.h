// The job over fakes: what its tests share.
#ifndef SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_TEST_JOB_H_
#define SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_TEST_JOB_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/corpus_encoder/corpus_encoder_job.h"
#include "tests/services/corpus_encoder/fake_corpus.h"
#include "tests/services/corpus_encoder/fake_model.h"
#include "tests/services/corpus_encoder/published_files.h"

namespace sightline {

// Two shards and units of eight pictures.
inline CorpusEncoderOptions TestJobOptions(const std::string& store) {
  CorpusEncoderOptions options;
  options.store = store;
  options.shard_count = 2;
  options.unit_size = 8;
  options.decode_threads = 2;
  options.read_threads = 2;
  options.await.poll_period = absl::Milliseconds(1);
  return options;
}

inline absl::StatusOr<EncodeSummary> RunTestJob(
    const CorpusEncoderOptions& options, const FakeCorpus& corpus, DecoderPool* decoders,
    const FakeModelBehavior& behavior = {}, const CallContext& call = CallContext::Unbounded(),
    const Progress::Options& progress_options = {},
    std::vector<CorpusModels::Reranker> rerankers = {}) {
  Progress progress(progress_options, call.clock());
  CorpusEncoderJob job(
      options, Corpora(corpus),
      MakeCorpusModels(std::make_shared<FakeModel>(behavior), std::move(rerankers)),
      FakeModel::Embedding(), decoders, call.clock(), &progress);
  return job.Run(call);
}

// Rerankers of models that a test has no other use for: "<name>" of the letter's id.
inline CorpusModels::Reranker TestReranker(const std::string& name, char letter) {
  FakeModelBehavior behavior;
  behavior.id = std::string(64, letter);
  return {name, std::make_shared<FakeModel>(behavior)};
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_TEST_JOB_H_
