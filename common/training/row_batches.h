// Batches of like lengths: as many items as fit into so many rows (tokens and regions).  Which they
// are depends on the seed and the batch's number alone, whoever asks and however often.
//
// UNITER's code shuffles an epoch, cuts it into buckets of 8 192 items and sorts within each; how
// many batches come of it depends on the shuffle.  Here lengths are rounded up to multiples of 8,
// all items are sorted by them, the longest first, those of one length in random order, and cut;
// then the batches are shuffled.  So every epoch has as many batches, and one is found without
// those before it.
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_ROW_BATCHES_H_
#define SIGHTLINE_COMMON_TRAINING_ROW_BATCHES_H_

#include <cstdint>
#include <vector>

namespace sightline {

// Not thread-safe: remembers the order of the last epoch that was asked for.
class RowBatches {
 public:
  // `lengths`: rows of each item, of which there is one at least.  A batch's longest item times its
  // number of items, padding as it were, is at most `rows`, unless one item alone has more.
  RowBatches(const std::vector<int64_t>& lengths, int64_t rows, uint64_t seed);

  // Batches of an epoch.
  int64_t epoch_size() const { return static_cast<int64_t>(begins_.size()) - 1; }

  // The items of the `number`-th batch, as if all epochs were one list: every item comes once
  // before one comes again.
  std::vector<int64_t> Batch(int64_t number);

 private:
  void Order(int64_t epoch);

  const uint64_t seed_;
  std::vector<std::vector<int64_t>> of_length_;  // items of one rounded length, the longest first
  std::vector<int64_t> begins_;                  // places in the order at which a batch begins; end
  int64_t epoch_ = -1;
  std::vector<int64_t> order_;    // of the items in epoch_
  std::vector<int64_t> batches_;  // in the order in which they come
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_ROW_BATCHES_H_
