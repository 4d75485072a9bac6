// The models of a run that do not learn: teachers, and what retrieves.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_FROZEN_MODELS_H_
#define SIGHTLINE_COMMON_TRAINING_FROZEN_MODELS_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/bundle/model_bundle.h"
#include "common/training/learnt_pairs.h"
#include "common/training/pair_corpus.h"
#include "common/training/recipe.h"

namespace sightline {

// Bundles by the names that a recipe has them under.
using NamedBundles = std::map<std::string, const ModelBundle*>;

// Each is loaded once, in evaluation mode, and reads the corpus in its own way: by its tokenizer
// and vocabulary, and what it takes of a picture.  Immutable.
class FrozenModels {
 public:
  // Those that `recipe` names.  `corpus` outlives the object.  InvalidArgument, naming the bundle,
  // for one that is not among `bundles`, is of a family that is not learnt, scores no pairs though
  // it teaches, embeds nothing though it retrieves, or cannot read the corpus; else as
  // LoadTrainable and the call's.
  static absl::StatusOr<FrozenModels> Load(const Recipe& recipe, const NamedBundles& bundles,
                                           const PairCorpus& corpus, c10::Device device,
                                           const CallContext& call);

  // The corpus as the model of this name reads it; null for none.
  const LearntPairs* Find(const std::string& name) const;

 private:
  struct Model {
    std::unique_ptr<TrainableNetwork> network;
    std::unique_ptr<LearntPairs> pairs;
  };

  absl::Status Add(const std::string& name, const NamedBundles& bundles, const PairCorpus& corpus,
                   const TrainableOptions& options, const CallContext& call);

  std::map<std::string, Model> models_;
};

// What a teacher scores captions with pictures, by their numbers, N: as the raw numbers whose
// softmax over candidates is learnt.  Errors as ScoreCaptioned.
absl::StatusOr<at::Tensor> ScoresOfTeacher(const LearntPairs& teacher,
                                           absl::Span<const std::pair<int64_t, int64_t>> captioned,
                                           const CallContext& call);

// Which bundles a recipe's names stand for, as lines "tasks.0.teacher=<id>".  REQUIRES: it names
// no other.
std::string DescribeBundles(const Recipe& recipe, const NamedBundles& bundles);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_FROZEN_MODELS_H_
