#include "common/models/network/packing.h"

#include <ATen/ATen.h>

namespace sightline {

PackedRows Pack(const std::vector<SequenceParts>& sequences) {
  PackedRows packed;
  std::vector<at::Tensor> parts;
  for (const SequenceParts& sequence : sequences) {
    int64_t length = 0;
    for (const at::Tensor& part : sequence) {
      length += part.size(0);
      parts.push_back(part);
    }
    packed.lengths.push_back(length);
  }
  packed.rows = at::cat(parts);
  return packed;
}

}  // namespace sightline
