// The items of one pass, padded to the longest: what RunGroups' groups become.
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_PADDING_H_
#define SIGHTLINE_COMMON_MODELS_PADDING_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace sightline {

// B texts of up to L tokens.
struct PaddedTexts {
  at::Tensor ids;   // B x L int64; 0 where there is no token
  at::Tensor mask;  // B x L, see transformer.h; undefined if nothing is padded
  int64_t width = 0;
};

// B images of up to R regions.
struct PaddedRegions {
  at::Tensor rows;  // B x R x columns float32; zeros where there is no region
  at::Tensor mask;  // B x R, likewise
  int64_t width = 0;
};

// `texts` is not empty.
PaddedTexts PadTexts(absl::Span<const absl::Span<const int32_t>> texts);

// `items` is not empty; each is rows x columns, of any floating type, and columns agree.
PaddedRegions PadRegions(absl::Span<const at::Tensor> items);

// B x `width` mask of the first lengths[i] rows; undefined if every length is `width`.
at::Tensor MaskOf(const std::vector<int64_t>& lengths, int64_t width);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_PADDING_H_
