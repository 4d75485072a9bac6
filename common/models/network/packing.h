// From items' parts to the rows of a pass.
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_PACKING_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_PACKING_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "common/models/network/tensor_gate.h"
#include "common/models/network/transformer.h"

namespace sightline {

// Sequence i of a pass: its parts (rows x H each), one after another.
//
// A part is what its item has, not a copy: an executor reads it where it lies, whatever it is
// stored as, straight to where it computes.  New are only rows that depend on the pair: an M3P's
// words, whose positions begin behind the image's, and an OSCAR's tags, behind the text's.
using SequenceParts = std::vector<ItemRows>;

// Sequences of one pass, one after another, as an executor takes them.
struct PackedParts {
  std::vector<ItemRows> parts;
  std::vector<int64_t> lengths;  // of each sequence, at least 1; their sum is T
  at::Tensor key_bias;           // see PackedRows
};

// Each of at least one row.
PackedParts Pack(const std::vector<SequenceParts>& sequences);

// The same as one tensor, copied: for BertEncoderImpl::ForwardPacked.
PackedRows Joined(const PackedParts& packed, const TensorGate& gate);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_PACKING_H_
