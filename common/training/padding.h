// Texts of one training step, padded to the longest.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_PADDING_H_
#define SIGHTLINE_COMMON_TRAINING_PADDING_H_

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

// `texts` is not empty.
PaddedTexts PadTexts(absl::Span<const absl::Span<const int32_t>> texts);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_PADDING_H_
