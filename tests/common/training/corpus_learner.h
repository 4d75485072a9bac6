// A tiny learner in training mode, with dropout, and a corpus that it reads, for tests.
#ifndef SIGHTLINE_TESTS_COMMON_TRAINING_CORPUS_LEARNER_H_
#define SIGHTLINE_TESTS_COMMON_TRAINING_CORPUS_LEARNER_H_

#include <memory>
#include <string>

#include "common/models/trainable.h"
#include "common/training/learnt_pairs.h"
#include "tests/common/models/tiny_families.h"
#include "tests/common/training/made_up_pairs.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {

struct CorpusLearner {
  CorpusLearner(const std::string& name, int pictures) {
    for (const TinyFamily& family : TinyFamilies()) {
      if (family.manifest.family() != name || learner != nullptr) continue;
      TrainableOptions options;
      options.dropout = 0.3;
      learner = *LoadTrainable(MakeTinyBundle(store.path(), family), options);
      corpus = MadeUpPairs(family, pictures);
    }
    learner->module->train();
    pairs = std::make_unique<LearntPairs>(corpus.get(), learner.get());
    REQUIRE(pairs->ReadCaptions().ok());
  }

  const TempDir store;
  std::unique_ptr<TrainableNetwork> learner;
  std::unique_ptr<PairCorpus> corpus;
  std::unique_ptr<LearntPairs> pairs;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_TRAINING_CORPUS_LEARNER_H_
