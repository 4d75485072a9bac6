#include "common/models/inputs/stored_features.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/float16.h"
#include "common/models/inputs/feature_tensors.h"

namespace sightline {
namespace {

// The bytes of a string lie where they lie, and floats want to be aligned.
std::vector<float> NumbersOf(const FeatureTensor& tensor) {
  std::vector<float> numbers(tensor.bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), tensor.bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

FeatureTensor Described(std::string name, Dtype dtype, int64_t rows, int64_t columns) {
  FeatureTensor tensor{std::move(name), dtype, rows, columns, ""};
  tensor.bytes.resize(static_cast<size_t>(rows * columns) * DtypeSize(dtype));
  return tensor;
}

FeatureTensor ToFloat16(const FeatureTensor& exact) {
  FeatureTensor rounded = Described(exact.name, Dtype::kFloat16, exact.rows, exact.columns);
  const std::vector<float> numbers = NumbersOf(exact);
  Float32ToFloat16(numbers.data(), numbers.size(), &rounded.bytes[0]);
  return rounded;
}

float LargestMagnitude(absl::Span<const float> row) {
  float largest = 0;
  for (const float number : row) largest = std::max(largest, std::abs(number));
  return largest;
}

// Of numbers that are finite.  A scale that is not a normal number would have lost bits of its own.
float RoundRow(absl::Span<const float> row, char* to) {
  const float scale = std::max(LargestMagnitude(row) / 127, FLT_MIN);
  for (size_t i = 0; i < row.size(); ++i) {
    to[i] = static_cast<char>(static_cast<int8_t>(std::nearbyint(row[i] / scale)));
  }
  return scale;
}

void ToInt8(const FeatureTensor& exact, std::vector<FeatureTensor>* out) {
  FeatureTensor rounded = Described(exact.name, Dtype::kInt8, exact.rows, exact.columns);
  FeatureTensor scales = Described(ScalesOf(exact.name), Dtype::kFloat32, exact.rows, 1);
  const std::vector<float> numbers = NumbersOf(exact);
  for (int64_t i = 0; i < exact.rows; ++i) {
    const auto row = absl::MakeConstSpan(numbers).subspan(i * exact.columns, exact.columns);
    const float scale = RoundRow(row, &rounded.bytes[i * exact.columns]);
    std::memcpy(&scales.bytes[i * sizeof(scale)], &scale, sizeof(scale));
  }
  out->push_back(std::move(rounded));
  out->push_back(std::move(scales));
}

// False if numbers are too large for that.  They are finite.
bool Append(Dtype dtype, FeatureTensor exact, std::vector<FeatureTensor>* out) {
  if (dtype == Dtype::kInt8) {
    ToInt8(exact, out);
    return AreScales(out->back());
  }
  out->push_back(dtype == Dtype::kFloat16 ? ToFloat16(exact) : std::move(exact));
  return AllFinite(out->back());
}

}  // namespace

absl::StatusOr<ItemFeatures> StoredAs(Dtype dtype, ItemFeatures exact) {
  if (dtype != Dtype::kFloat16 && dtype != Dtype::kFloat32 && dtype != Dtype::kInt8) {
    return absl::InvalidArgumentError(
        absl::StrCat("item features cannot be stored as ", DtypeName(dtype)));
  }
  ItemFeatures stored;
  for (FeatureTensor& tensor : exact.tensors) {
    if (tensor.dtype != Dtype::kFloat32) {
      stored.tensors.push_back(std::move(tensor));
      continue;
    }
    const std::string name = tensor.name;
    if (AllFinite(tensor) && Append(dtype, std::move(tensor), &stored.tensors)) continue;
    return absl::InvalidArgumentError(absl::StrCat("feature tensor '", name,
                                                   "' has a number that is not finite, or too "
                                                   "large for ",
                                                   DtypeName(dtype), " rows"));
  }
  return stored;
}

}  // namespace sightline
