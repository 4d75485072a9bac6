#include "common/training/padding.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sightline {
namespace {

// B x `width` mask of the first lengths[i] rows; undefined if every length is `width`.
at::Tensor MaskOf(const std::vector<int64_t>& lengths, int64_t width) {
  if (std::all_of(lengths.begin(), lengths.end(), [&](int64_t n) { return n == width; })) return {};
  at::Tensor mask = at::zeros({static_cast<int64_t>(lengths.size()), width});
  float* row = mask.data_ptr<float>();
  for (const int64_t length : lengths) {
    std::fill(row, row + length, 1.0f);
    row += width;
  }
  return mask;
}

}  // namespace

PaddedTexts PadTexts(absl::Span<const absl::Span<const int32_t>> texts) {
  std::vector<int64_t> lengths;
  lengths.reserve(texts.size());
  for (const absl::Span<const int32_t> text : texts) lengths.push_back(text.size());
  PaddedTexts padded;
  padded.width = *std::max_element(lengths.begin(), lengths.end());
  padded.ids = at::zeros({static_cast<int64_t>(texts.size()), padded.width}, at::kLong);
  int64_t* row = padded.ids.data_ptr<int64_t>();
  for (const absl::Span<const int32_t> text : texts) {
    std::copy(text.begin(), text.end(), row);
    row += padded.width;
  }
  padded.mask = MaskOf(lengths, padded.width);
  return padded;
}

}  // namespace sightline
