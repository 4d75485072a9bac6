#include "common/models/network/packing.h"

#include <ATen/ATen.h>

namespace sightline {

PackedParts Pack(const std::vector<SequenceParts>& sequences) {
  PackedParts packed;
  for (const SequenceParts& sequence : sequences) {
    int64_t length = 0;
    for (const ItemRows& part : sequence) length += part.count();
    packed.lengths.push_back(length);
    packed.parts.insert(packed.parts.end(), sequence.begin(), sequence.end());
  }
  return packed;
}

PackedRows Joined(const PackedParts& packed, const TensorGate& gate) {
  std::vector<at::Tensor> parts;
  for (const ItemRows& part : packed.parts) parts.push_back(gate.Tensor(part));
  return {at::cat(parts), packed.lengths, packed.key_bias};
}

}  // namespace sightline
