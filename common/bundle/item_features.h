// What a cross-encoder needs of one item, prepared offline: a few named tensors.
//
// Rows of fractions may be kept in eight bits (Dtype::kInt8): then the tensor ScalesOf(name) beside
// them, float32 of one column, has a number for each row by which all of the row's are multiplied.
#ifndef SIGHTLINE_COMMON_BUNDLE_ITEM_FEATURES_H_
#define SIGHTLINE_COMMON_BUNDLE_ITEM_FEATURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/dtype.h"

namespace sightline {

// One tensor, rows x columns; the number of rows may differ from item to item.
struct FeatureTensor {
  std::string name;  // [a-z0-9_]+
  Dtype dtype = Dtype::kFloat32;
  int64_t rows = 0;
  int64_t columns = 0;
  std::string bytes;  // rows * columns * DtypeSize(dtype), row-major, little-endian
};

// A value.  Which tensors there are is the cross-encoder's affair.
struct ItemFeatures {
  std::vector<FeatureTensor> tensors;

  // The tensor of that name, or null.
  const FeatureTensor* Find(absl::string_view name) const {
    for (const FeatureTensor& tensor : tensors) {
      if (tensor.name == name) return &tensor;
    }
    return nullptr;
  }
};

// The name of the tensor that has the scales of the int8 tensor `name`.
inline std::string ScalesOf(absl::string_view name) {
  return absl::StrCat(name, "_scales");
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_ITEM_FEATURES_H_
