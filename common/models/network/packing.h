// From one item's parts to the packed rows of a pass.
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_PACKING_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_PACKING_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/models/network/transformer.h"

namespace sightline {

// Token ids of one text.
using TokenSpan = absl::Span<const int32_t>;

// The ids as int64, L.
at::Tensor IdTensor(TokenSpan ids);

// `values` as rows of `columns` numbers, without copying: it must outlive the result, which
// is only to be read.
at::Tensor RowsOf(const std::vector<float>& values, int64_t columns);

// Sequence i of a pass: its parts (rows x H each), one after another.
using SequenceParts = std::vector<at::Tensor>;

// Puts sequences one after another.  At least one, each of at least one row.
PackedRows Pack(const std::vector<SequenceParts>& sequences);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_PACKING_H_
