// Who goes into the batch of a step.  A batch depends on the seed, its number and (for
// cross steps) the mined negatives, on nothing else.
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_BATCHES_H_
#define SIGHTLINE_COMMON_TRAINING_BATCHES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/training/random.h"
#include "common/training/training_options.h"
#include "common/training/training_rows.h"
#include "common/training/training_set.h"

namespace sightline {

// For each captioned row the rows that are wrong and most alike, most alike first.
struct MinedNegatives {
  int64_t width = 0;
  std::vector<int64_t> rows;  // captioned rows x width; -1 where there are no more

  absl::Span<const int64_t> of(int64_t captioned_index) const {
    return absl::MakeConstSpan(rows).subspan(captioned_index * width, width);
  }
};

// B captions and B + D pictures.
struct BiBatch {
  std::vector<int64_t> captions;  // one of each of the first B rows
  std::vector<int64_t> rows;      // the captions' rows, then rows that are only pictures
  // B x (B + D): 1 where picture j must not count as wrong for caption i.  The right
  // pairs themselves, on the diagonal, are 0.
  std::vector<uint8_t> related;
};

// Two texts of each of some concepts.
struct ConceptBatch {
  std::vector<int64_t> texts;        // one of each concept
  std::vector<int64_t> other_texts;  // another one of each
  // As of a BiBatch, B x B: concepts that share a text are not told apart.
  std::vector<uint8_t> related;
};

// Problems of `candidates` pairs each; the first pair of a problem is right.
struct CrossBatch {
  int64_t problems = 0;
  int64_t candidates = 0;
  // problems x candidates.  A problem's pairs share the caption or the picture.
  std::vector<int64_t> captions;
  std::vector<int64_t> rows;
};

// `tokens` ([CLS] ... [SEP]) with each token between the two left out with probability
// `dropout`; one of them, drawn evenly, stays if all would go.
std::vector<int32_t> DropTokens(absl::Span<const int32_t> tokens, double dropout, Random* random);

// Immutable, thread-safe.  What it is made of must outlive it.
class BatchSampler {
 public:
  // `rows` has at least one captioned row.
  BatchSampler(const TrainingSet* set, const TrainingRows* rows, const TrainingOptions* options);

  // An epoch is cut into as many batches as the batch size asks for, all of one size give
  // or take one row.
  int64_t bi_steps_per_epoch() const { return bi_steps_per_epoch_; }
  int64_t cross_steps_per_epoch() const { return cross_steps_per_epoch_; }

  // Batch number `step`, counted through all epochs.  Over an epoch each captioned row
  // comes once.
  BiBatch Bi(int64_t step) const;
  CrossBatch Cross(int64_t step, const MinedNegatives& mined) const;
  // Beside bi batch number `step`; drawn anew each time, from all concepts.
  ConceptBatch Concepts(int64_t step) const;
  // Of the text stage: over an epoch each concept comes once.
  ConceptBatch Texts(int64_t step) const;
  int64_t text_steps_per_epoch() const { return text_steps_per_epoch_; }

  // Negatives of one problem under the options' loss.
  int64_t negatives() const;

 private:
  enum class Among { kPictures, kCaptions };

  std::vector<int64_t> Slice(std::vector<int64_t> all, int64_t step, int64_t steps_per_epoch,
                             RandomStream order) const;
  std::vector<int64_t> AllConcepts() const;
  ConceptBatch PairTexts(const std::vector<int64_t>& concepts, Random* random) const;
  bool ShareText(int64_t concept_number, int64_t other) const;
  int64_t PickCaption(int64_t row, Random* random) const;
  std::vector<int64_t> DrawNegatives(int64_t row, Among among, const MinedNegatives& mined,
                                     Random* random) const;
  int64_t DrawAny(int64_t row, const std::vector<int64_t>& pool, const std::vector<int64_t>& drawn,
                  Random* random) const;
  void AddProblem(int64_t row, const MinedNegatives& mined, Random* random,
                  CrossBatch* batch) const;

  const TrainingSet& set_;
  const TrainingRows& rows_;
  const TrainingOptions& options_;
  int64_t text_steps_per_epoch_ = 0;
  int64_t bi_steps_per_epoch_ = 0;
  int64_t cross_steps_per_epoch_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_BATCHES_H_
