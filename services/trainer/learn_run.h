// A run by a recipe with everything it needs.
#ifndef SIGHTLINE_SERVICES_TRAINER_LEARN_RUN_H_
#define SIGHTLINE_SERVICES_TRAINER_LEARN_RUN_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/bundle/model_bundle.h"
#include "common/training/pair_corpus.h"
#include "common/training/recipe_trainer.h"
#include "common/training/wordnet.h"
#include "services/trainer/learn_config.h"

namespace sightline {

// What a run reads, checked and ready.
struct LearnInput {
  std::unique_ptr<ModelBundle> start;
  std::map<std::string, std::unique_ptr<ModelBundle>> others;  // by the recipe's names
  std::unique_ptr<PairCorpus> learnt, development;
  std::unique_ptr<WordNet> wordnet;  // null if the recipe names none
  RecipeJob job;                     // points to all of them
};

// Opens what `config` names and makes its folders, if this is the first process of `world`.  Learnt
// from are pictures of the training split, chosen by those of the validation split, which their
// source says or their ids.  InvalidArgument for a picture that is in both, and for regions of
// two widths; else as OpenModelBundle, PairCorpus::Open and the corpora's readers.
absl::StatusOr<LearnInput> OpenLearnInput(const LearnConfig& config,
                                          const TrainingWorldOptions& world = {});

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_LEARN_RUN_H_
