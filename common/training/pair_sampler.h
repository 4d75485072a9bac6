// Which captions and pictures a step of a recipe learns from.  What is drawn depends on the seed
// and the step's number alone, whoever asks and however often.
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_PAIR_SAMPLER_H_
#define SIGHTLINE_COMMON_TRAINING_PAIR_SAMPLER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "common/training/pair_corpus.h"
#include "common/training/random.h"

namespace sightline {

// Which side of a problem's right pair its wrong ones change: one of the two for all of them, or
// picture and caption in turn.
enum class WrongSides { kOne, kInTurn };

// What an epoch shows once: every caption with its picture, or every picture with one of its
// captions, drawn anew.
enum class EpochUnit { kCaptions, kPictures };

// B captions, each with its picture.
struct DrawnBatch {
  std::vector<int64_t> captions;
  std::vector<int64_t> pictures;
};

// Problems of some candidates each, one after another: pairs of places in `batch`, of which the
// first of each problem is right.  Each of the others shares its caption or
// its picture.
struct DrawnProblems {
  DrawnBatch batch;  // all captions and all pictures that are in a pair, each once
  std::vector<std::pair<int64_t, int64_t>> pairs;
};

// Not thread-safe: remembers the order of the last epoch that was asked for.
class PairSampler {
 public:
  // `corpus` outlives the object.
  PairSampler(const PairCorpus* corpus, EpochUnit unit, uint64_t seed);

  // Items of an epoch.
  int64_t epoch_size() const;

  // The `step`-th batch of `size` items, as if all epochs were one list: every item comes once
  // before one comes again.
  DrawnBatch Batch(int64_t step, int64_t size);

  // The `step`-th batch of so many problems, with `candidates` - 1 wrong pairs each.  Of one side a
  // problem is a picture with wrong captions with probability `text_negatives`, else a caption with
  // wrong pictures.  What may be right (MayBeRight) is no wrong one.
  // REQUIRES: the corpus passes CheckTellable.
  DrawnProblems Problems(int64_t step, int64_t problems, int64_t candidates, WrongSides sides,
                         double text_negatives);

  // B x B, by rows of captions: 1 where the caption may be right for another place's picture.
  std::vector<uint8_t> Related(const DrawnBatch& batch) const;

 private:
  int64_t ItemAt(int64_t place);
  std::pair<int64_t, int64_t> PairOf(int64_t item, Random* random) const;
  int64_t WrongPicture(int64_t caption, Random* random) const;
  int64_t WrongCaption(int64_t picture, Random* random) const;

  const PairCorpus& corpus_;
  const EpochUnit unit_;
  const uint64_t seed_;
  const std::vector<int64_t> all_pictures_, all_captions_;
  int64_t epoch_ = -1;
  std::vector<int64_t> order_;  // of epoch_
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_PAIR_SAMPLER_H_
