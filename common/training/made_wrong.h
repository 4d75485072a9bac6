// Captions and pictures of a batch that are made wrong ("VLDeformer", bimodal_negatives.h), as the
// network reads them.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_MADE_WRONG_H_
#define SIGHTLINE_COMMON_TRAINING_MADE_WRONG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/training/learnt_pairs.h"
#include "common/training/objectives/bimodal_negatives.h"
#include "common/training/pair_sampler.h"
#include "common/training/recipe.h"
#include "common/training/wordnet.h"
#include "common/training/world.h"

namespace sightline {

// What is made of some rows of a batch: nothing of a caption of which no word, or a picture of
// which no region can be replaced.
struct MadeWrongItems {
  std::vector<std::vector<int32_t>> texts;  // token ids, special tokens included
  std::vector<ImageNumbers> images;
};

// Thread-safe, as far as the network's ReadImage is.
class WrongMaker {
 public:
  // What a task makes wrong, its draws from `seed`.  All outlive the object; `wordnet` may be null
  // if no texts are made.
  WrongMaker(const LearntPairs* pairs, const WordNet* wordnet, const TaskRecipe* task,
             uint64_t seed)
      : pairs_(*pairs), wordnet_(wordnet), task_(*task), seed_(seed) {}

  // Whether there is what is replaced, and by what: InvalidArgument if texts are made and there is
  // no WordNet, or of nouns alone and there are no tags; or pictures, and one, which is named, has
  // not a tag for each of its regions.  REQUIRES: that the pairs' pictures have been read.
  absl::Status Check() const;

  // Of the rows `own` of the `step`-th batch; tags and regions come from all of the batch.  What is
  // made of a row depends on the batch, and on nothing else.  Errors as LearntPairs::ReadImage.
  absl::StatusOr<MadeWrongItems> Make(const DrawnBatch& batch, int64_t step,
                                      const WorldPart& own) const;

 private:
  // The caption's words; those that stay are of no kind.
  std::vector<CaptionWord> ReplacedIn(int64_t caption) const;
  absl::StatusOr<std::vector<int32_t>> TextOf(int64_t caption, const std::vector<std::string>& own,
                                              const std::vector<std::string>& tags,
                                              Random* random) const;

  const LearntPairs& pairs_;
  const WordNet* const wordnet_;
  const TaskRecipe& task_;
  const uint64_t seed_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_MADE_WRONG_H_
