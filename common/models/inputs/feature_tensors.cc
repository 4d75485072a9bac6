#include "common/models/inputs/feature_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"

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

bool IsSymmetric(const FeatureTensor& tensor) {
  bool found = false;
  for (const char byte : tensor.bytes) found |= byte == '\x80';
  return !found;
}

absl::Status Bad(absl::string_view name, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("feature tensor '", name, "' ", why));
}

}  // namespace

absl::StatusOr<const FeatureTensor*> RequireTensor(const ItemFeatures& features,
                                                   absl::string_view name,
                                                   std::initializer_list<Dtype> dtypes,
                                                   int64_t max_rows, int64_t columns) {
  const FeatureTensor* tensor = features.Find(name);
  const auto wrong = [&](const auto&... parts) { return Bad(name, absl::StrCat(parts...)); };
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

bool AreScales(const FeatureTensor& tensor) {
  bool good = true;
  for (int64_t i = 0; i < tensor.rows; ++i) {
    float scale;
    std::memcpy(&scale, tensor.bytes.data() + i * sizeof(scale), sizeof(scale));
    good &= scale >= 0 && std::isfinite(127 * scale);
  }
  return good;
}

absl::StatusOr<StoredRows> RequireRows(const ItemFeatures& features, absl::string_view name,
                                       int64_t max_rows, int64_t columns) {
  StoredRows stored;
  ASSIGN_OR_RETURN(stored.rows,
                   RequireTensor(features, name, {Dtype::kFloat16, Dtype::kFloat32, Dtype::kInt8},
                                 max_rows, columns));
  if (!AllFinite(*stored.rows)) return Bad(name, "has a number that is not finite");
  if (stored.rows->dtype != Dtype::kInt8) return stored;
  if (!IsSymmetric(*stored.rows)) return Bad(name, "has a -128; rows in int8 have -127 to 127");
  const std::string scales = ScalesOf(name);
  ASSIGN_OR_RETURN(stored.scales,
                   RequireTensor(features, scales, {Dtype::kFloat32}, max_rows, /*columns=*/1));
  if (stored.scales->rows != stored.rows->rows) {
    return Bad(scales, absl::StrCat("has ", stored.scales->rows, " rows for ", stored.rows->rows,
                                    " of '", name, "'"));
  }
  if (AreScales(*stored.scales)) return stored;
  return Bad(scales, "has a number that is negative, not finite, or too large for a scale");
}

}  // namespace sightline
