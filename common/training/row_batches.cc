#include "common/training/row_batches.h"

#include <functional>
#include <map>
#include <numeric>

#include "common/training/random.h"

namespace sightline {
namespace {

constexpr int64_t kLengthUnit = 8;

}  // namespace

RowBatches::RowBatches(const std::vector<int64_t>& lengths, int64_t rows, uint64_t seed)
    : seed_(seed) {
  std::map<int64_t, std::vector<int64_t>, std::greater<>> of_length;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const int64_t rounded = (lengths[i] + kLengthUnit - 1) / kLengthUnit * kLengthUnit;
    of_length[rounded].push_back(static_cast<int64_t>(i));
  }
  int64_t place = 0, longest = 0;
  for (const auto& [length, items] : of_length) {
    for (size_t i = 0; i < items.size(); ++i, ++place) {
      const bool fits = place > 0 && longest * (place + 1 - begins_.back()) <= rows;
      if (fits) continue;
      begins_.push_back(place);
      longest = length;
    }
    of_length_.push_back(items);
  }
  begins_.push_back(place);
}

std::vector<int64_t> RowBatches::Batch(int64_t number) {
  Order(number / epoch_size());
  const int64_t batch = batches_[number % epoch_size()];
  return {order_.begin() + begins_[batch], order_.begin() + begins_[batch + 1]};
}

void RowBatches::Order(int64_t epoch) {
  if (epoch == epoch_) return;
  Random random(SeedOf(seed_, RandomStream::kBiOrder, epoch));
  order_.clear();
  for (std::vector<int64_t> items : of_length_) {
    random.ShuffleFirst(static_cast<int64_t>(items.size()), &items);
    order_.insert(order_.end(), items.begin(), items.end());
  }
  batches_.resize(epoch_size());
  std::iota(batches_.begin(), batches_.end(), int64_t{0});
  random.ShuffleFirst(epoch_size(), &batches_);
  epoch_ = epoch;
}

}  // namespace sightline
