// Which captions and pictures a step of a recipe learns from.  What is drawn depends on the seed
// and the step's number alone, whoever asks and however often.
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_PAIR_SAMPLER_H_
#define SIGHTLINE_COMMON_TRAINING_PAIR_SAMPLER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "common/training/nearest_wrong.h"
#include "common/training/pair_corpus.h"
#include "common/training/random.h"
#include "common/training/row_batches.h"

namespace sightline {

// Which side of a problem's right pair its wrong ones change: one of the two for all of them,
// drawn; picture and caption in turn; or one for all of them, the caption in every other problem.
enum class WrongSides { kOne, kInTurn, kByProblem };

// What an epoch shows once: every caption with its picture, or every picture with one of its
// captions, drawn anew.
enum class EpochUnit { kCaptions, kPictures };

// B captions, each with its picture.
struct DrawnBatch {
  std::vector<int64_t> captions;
  std::vector<int64_t> pictures;
};

// A caption and a picture.
using CaptionedPicture = std::pair<int64_t, int64_t>;

// Problems of some candidates each, one after another: pairs of places in `batch`, of which the
// first of each problem is right.  Each of the others shares its caption or
// its picture.
struct DrawnProblems {
  DrawnBatch batch;  // all captions and all pictures that are in a pair, each once
  std::vector<std::pair<int64_t, int64_t>> pairs;

  // All pairs, by the numbers of the corpus.
  std::vector<CaptionedPicture> Captioned() const;
};

// The problems of pairs that are so numbered.
DrawnProblems ProblemsOf(const std::vector<CaptionedPicture>& pairs);

// What problems are like.
struct ProblemDraws {
  int64_t candidates = 2;  // pairs of each
  WrongSides sides = WrongSides::kOne;
  // Of one side, drawn: the probability that it is the caption.
  double text_negatives = 0.5;
  // How many of the wrong ones are drawn from the nearest of `mined`, as far as there are so many.
  int64_t nearest = 0;
  const NearestWrong* mined = nullptr;  // null only if `nearest` is 0
};

// Which pairs are drawn, and how many at once.
struct PairDraws {
  EpochUnit unit = EpochUnit::kCaptions;
  // Pictures that are drawn, of which there is one at least; null: all.
  std::function<bool(int64_t picture)> wanted;
  // Most rows of a batch, RowBatches'; 0: batches are of a size.
  int64_t batch_rows = 0;
  // Rows of a caption with its picture, where there is such a limit.
  std::function<int64_t(int64_t caption)> rows;
};

// Not thread-safe: remembers the order of the last epoch that was asked for.
class PairSampler {
 public:
  // `corpus` outlives the object.
  PairSampler(const PairCorpus* corpus, const PairDraws& draws, uint64_t seed);
  PairSampler(const PairCorpus* corpus, EpochUnit unit, uint64_t seed)
      : PairSampler(corpus, PairDraws{unit, nullptr, 0, nullptr}, seed) {}

  // Items of an epoch.
  int64_t epoch_size() const;

  // The `step`-th batch of `size` items, as if all epochs were one list: every item comes once
  // before one comes again.
  DrawnBatch Batch(int64_t step, int64_t size);

  // Adds to the `step`-th batch's pictures those that are wrong for a caption of it, `count` drawn
  // from the nearest of each, as far as there are so many; each picture once.
  void AddNearest(int64_t step, int64_t count, const NearestWrong& mined, DrawnBatch* batch) const;

  // The other way: captions, none of the batch's, that are wrong for all of its own pictures, one
  // of each caption, `count` drawn from the nearest of each picture, as far as there are so many;
  // each caption once.
  std::vector<int64_t> NearestCaptions(int64_t step, int64_t count, const NearestWrong& mined,
                                       const DrawnBatch& batch) const;

  // Likewise, as many as fit into the draws' batch_rows, of like lengths.
  // REQUIRES: that there is such a limit.
  DrawnBatch BatchOfRows(int64_t step);

  // The `step`-th batch of so many problems.  What may be right (MayBeRight) is no wrong one.
  // REQUIRES: the corpus passes CheckTellable.
  DrawnProblems Problems(int64_t step, int64_t problems, const ProblemDraws& draws);

  // For each of B captions and at least as many pictures, by rows of captions: 1 where the caption
  // may be right for another place's picture.
  std::vector<uint8_t> Related(const DrawnBatch& batch) const;

  // One that is wrong, drawn evenly.  REQUIRES: the corpus passes CheckTellable.
  int64_t WrongPicture(int64_t caption, Random* random) const;
  int64_t WrongCaption(int64_t picture, Random* random) const;

 private:
  void MakeRowBatches(const PairDraws& draws);
  int64_t ItemAt(int64_t place);
  std::pair<int64_t, int64_t> PairOf(int64_t item, Random* random) const;
  void AddProblem(CaptionedPicture right, bool wrong_captions, const ProblemDraws& draws,
                  Random* random, std::vector<CaptionedPicture>* pairs) const;

  const PairCorpus& corpus_;
  const EpochUnit unit_;
  const uint64_t seed_;
  const std::vector<int64_t> all_pictures_, all_captions_;
  const std::vector<int64_t> items_;  // captions or pictures that are drawn
  std::unique_ptr<RowBatches> row_batches_;
  int64_t epoch_ = -1;
  std::vector<int64_t> order_;  // of epoch_
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_PAIR_SAMPLER_H_
