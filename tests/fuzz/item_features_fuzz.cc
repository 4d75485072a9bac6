// Any bytes as an item's features, as a cross-encoder checks what it is sent: tensors of rows and
// of scales that may contradict each other.  What is taken is finite, whatever it was stored as.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "common/base/float16.h"
#include "common/models/inputs/feature_tensors.h"
#include "common/models/inputs/stored_features.h"

namespace {

using sightline::Dtype;
using sightline::FeatureTensor;
using sightline::ItemFeatures;

constexpr int64_t kMaxRows = 5;
constexpr int64_t kColumns = 3;

void Require(bool condition) {
  if (!condition) std::abort();
}

// Four bytes, then the tensor's own: what it is called, its type, rows and columns.
FeatureTensor TensorOf(const uint8_t* data, size_t size) {
  static const char* const kNames[] = {"regions", "regions_scales", "tags"};
  FeatureTensor tensor;
  tensor.name = kNames[data[0] % 3];
  tensor.dtype = static_cast<Dtype>(data[1] % 8);
  tensor.rows = static_cast<int8_t>(data[2]);
  tensor.columns = static_cast<int8_t>(data[3]);
  tensor.bytes.assign(reinterpret_cast<const char*>(data) + 4, size - 4);
  return tensor;
}

float NumberOf(const sightline::StoredRows& stored, int64_t i) {
  const char* const bytes = stored.rows->bytes.data();
  float number = 0, scale = 1;
  switch (stored.rows->dtype) {
    case Dtype::kFloat16:
      sightline::Float16ToFloat32(bytes + 2 * i, 1, &number);
      return number;
    case Dtype::kFloat32:
      std::memcpy(&number, bytes + 4 * i, sizeof(number));
      return number;
    default:
      std::memcpy(&scale, stored.scales->bytes.data() + 4 * (i / kColumns), sizeof(scale));
      return scale * static_cast<float>(static_cast<int8_t>(bytes[i]));
  }
}

void CheckRows(const ItemFeatures& features) {
  const auto stored = sightline::RequireRows(features, "regions", kMaxRows, kColumns);
  if (!stored.ok()) return Require(absl::IsInvalidArgument(stored.status()));
  Require(stored->rows->rows >= 1 && stored->rows->rows <= kMaxRows);
  for (int64_t i = 0; i < stored->rows->rows * kColumns; ++i) {
    Require(std::isfinite(NumberOf(*stored, i)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ItemFeatures features;
  // A tensor is as long as its first byte says.
  while (size > 4 && features.tensors.size() < 4) {
    const size_t length = data[0];
    if (length < 4 || length > size - 1) break;
    features.tensors.push_back(TensorOf(data + 1, length));
    data += 1 + length;
    size -= 1 + length;
  }
  CheckRows(features);
  for (const FeatureTensor& tensor : features.tensors) {
    const bool sound = tensor.rows >= 0 && tensor.columns >= 1 &&
                       tensor.bytes.size() == static_cast<size_t>(tensor.rows * tensor.columns) *
                                                  sightline::DtypeSize(tensor.dtype);
    if (!sound || tensor.name != "regions" || tensor.rows < 1) continue;
    // What a model gives may be any numbers; what is made of them is taken, or nothing is.
    for (const Dtype dtype : {Dtype::kFloat16, Dtype::kFloat32, Dtype::kInt8}) {
      const auto stored = sightline::StoredAs(dtype, {{tensor}});
      if (!stored.ok() || tensor.dtype != Dtype::kFloat32) continue;
      Require(sightline::RequireRows(*stored, "regions", tensor.rows, tensor.columns).ok());
    }
  }
  return 0;
}
