#include "common/models/network/packing.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sightline {

at::Tensor IdTensor(TokenSpan ids) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(ids.size())}, at::kLong);
  std::copy(ids.begin(), ids.end(), tensor.data_ptr<int64_t>());
  return tensor;
}

at::Tensor RowsOf(const std::vector<float>& values, int64_t columns) {
  const int64_t rows = static_cast<int64_t>(values.size()) / columns;
  return at::from_blob(const_cast<float*>(values.data()), {rows, columns});
}

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
