#include "common/training/grid_source.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numeric>

namespace sightline {
namespace {

constexpr int64_t kPicturesPerPass = 128;

at::Tensor TakeFloats(const at::Tensor& features, const std::vector<int64_t>& places) {
  return features.index_select(0, at::tensor(places, at::kLong).to(features.device()))
      .to(at::kFloat);
}

}  // namespace

at::Tensor GridSource::Shown(const std::vector<int64_t>& rows, Random* random) {
  if (!frozen()) {
    return net_.WithBoxes(
        net_.GridFeatures(AugmentPictures(pictures_.Take(rows), options_.augment, random)));
  }
  std::vector<int64_t> places;
  for (const int64_t row : rows) {
    places.push_back(random->Below(options_.joint.variants) * changed_rows_ + place_of_row_[row]);
  }
  return net_.WithBoxes(TakeFloats(changed_, places));
}

at::Tensor GridSource::Plain(const std::vector<int64_t>& rows) {
  at::NoGradGuard no_grad;
  if (frozen()) return net_.WithBoxes(TakeFloats(plain_, rows));
  return net_.WithBoxes(net_.GridFeatures(PlainPictures(pictures_.Take(rows))));
}

void GridSource::Freeze() {
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  for (int64_t begin = 0; begin < pictures_.count(); begin += kPicturesPerPass) {
    std::vector<int64_t> rows(std::min(kPicturesPerPass, pictures_.count() - begin));
    std::iota(rows.begin(), rows.end(), begin);
    parts.push_back(net_.GridFeatures(PlainPictures(pictures_.Take(rows))).to(at::kHalf));
  }
  plain_ = at::cat(parts);
}

void GridSource::Refresh(int64_t number, const std::vector<int64_t>& rows) {
  if (number == number_) return;
  at::NoGradGuard no_grad;
  changed_rows_ = static_cast<int64_t>(rows.size());
  place_of_row_.assign(pictures_.count(), 0);
  for (int64_t i = 0; i < changed_rows_; ++i) place_of_row_[rows[i]] = i;
  // The last copies' memory first: two of them at once are not needed.
  changed_ = at::Tensor();
  std::vector<int64_t> shape = plain_.sizes().vec();
  shape[0] = options_.joint.variants * changed_rows_;
  changed_ = at::empty(shape, plain_.options());
  for (int64_t variant = 0; variant < options_.joint.variants; ++variant) {
    Random random(
        SeedOf(options_.seed, RandomStream::kVariants, number * options_.joint.variants + variant));
    for (int64_t begin = 0; begin < changed_rows_; begin += kPicturesPerPass) {
      const int64_t count = std::min(kPicturesPerPass, changed_rows_ - begin);
      const std::vector<int64_t> part(rows.begin() + begin, rows.begin() + begin + count);
      const at::Tensor shown = AugmentPictures(pictures_.Take(part), options_.augment, &random);
      changed_.narrow(0, variant * changed_rows_ + begin, count).copy_(net_.GridFeatures(shown));
    }
  }
  number_ = number;
}

}  // namespace sightline
