// From one item's parts to the packed rows of a pass.
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_PACKING_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_PACKING_H_

#include <ATen/core/Tensor.h>

#include <vector>

#include "common/models/network/transformer.h"

namespace sightline {

// Sequence i of a pass: its parts (rows x H each), one after another.
using SequenceParts = std::vector<at::Tensor>;

// Puts sequences one after another.  At least one, each of at least one row.
PackedRows Pack(const std::vector<SequenceParts>& sequences);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_PACKING_H_
