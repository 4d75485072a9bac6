#include "common/models/inputs/feature_tensors.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sightline {
namespace {

std::string Names(std::initializer_list<Dtype> dtypes) {
  return absl::StrJoin(dtypes, " or ", [](std::string* out, Dtype dtype) {
    absl::StrAppend(out, DtypeName(dtype));
  });
}

// All exponent bits set is what NaN and infinity have in common.
template <typename Bits>
bool NoneHasAllOf(Bits exponent, const std::string& bytes) {
  const size_t count = bytes.size() / sizeof(Bits);
  bool found = false;
  for (size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + i * sizeof(Bits), sizeof(Bits));
    found |= (bits & exponent) == exponent;
  }
  return !found;
}

}  // namespace

absl::StatusOr<const FeatureTensor*> RequireTensor(const ItemFeatures& features,
                                                   absl::string_view name,
                                                   std::initializer_list<Dtype> dtypes,
                                                   int64_t max_rows, int64_t columns) {
  const FeatureTensor* tensor = features.Find(name);
  auto wrong = [&](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat("feature tensor '", name, "' ", parts...));
  };
  if (tensor == nullptr) {
    return wrong("is missing; were these features made by this cross-encoder?");
  }
  if (std::find(dtypes.begin(), dtypes.end(), tensor->dtype) == dtypes.end()) {
    return wrong("is of type ", DtypeName(tensor->dtype), ", not ", Names(dtypes));
  }
  if (tensor->rows < 1 || tensor->rows > max_rows) {
    return wrong("has ", tensor->rows, " rows, the model reads 1 to ", max_rows);
  }
  if (tensor->columns != columns) {
    return wrong("has ", tensor->columns, " columns, the model's have ", columns);
  }
  const uint64_t bytes = uint64_t(tensor->rows) * columns * DtypeSize(tensor->dtype);
  if (tensor->bytes.size() != bytes) {
    return wrong("holds ", tensor->bytes.size(), " bytes, its shape needs ", bytes);
  }
  return tensor;
}

bool AllFinite(const FeatureTensor& tensor) {
  switch (tensor.dtype) {
    case Dtype::kFloat16:
      return NoneHasAllOf<uint16_t>(0x7c00, tensor.bytes);
    case Dtype::kFloat32:
      return NoneHasAllOf<uint32_t>(0x7f800000, tensor.bytes);
    default:
      return true;
  }
}

}  // namespace sightline
