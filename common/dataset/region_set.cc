#include "common/dataset/region_set.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr float kSlack = 0.01f;
// No coordinate that was divided by the picture's size gets here.
constexpr float kLooksLikePixels = 1.5f;

bool Finite(absl::Span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

// Numbers of not finite ones are never inside.
bool Inside(float x) {
  return x >= -kSlack && x <= 1 + kSlack;
}

absl::Status CheckCount(absl::string_view what, size_t values, int64_t count, int each) {
  if (values == static_cast<size_t>(count) * each) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("has ", values, " ", what, " for ", count, " regions, ", each, " each"));
}

}  // namespace

absl::Status CheckRegionSizes(int64_t count, int64_t feature_size, int64_t max_bytes) {
  if (count < 1) return absl::InvalidArgumentError("has no regions");
  if (feature_size < 1 || feature_size > kMaxRegionFeatureSize) {
    return absl::InvalidArgumentError(absl::StrCat("has region features of ", feature_size,
                                                   " numbers; 1 to ", kMaxRegionFeatureSize,
                                                   " are read"));
  }
  const int64_t most = max_bytes / (feature_size * static_cast<int64_t>(sizeof(float)));
  if (count <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("has ", count, " regions of ", feature_size,
                                                 " numbers, more than the limit of ", max_bytes,
                                                 " bytes holds"));
}

absl::Status CheckRegionSet(const RegionSet& regions) {
  RETURN_IF_ERROR(CheckRegionSizes(regions.count, regions.feature_size, INT64_MAX));
  RETURN_IF_ERROR(
      CheckCount("feature values", regions.features.size(), regions.count, regions.feature_size));
  if (!regions.boxes.empty()) {
    RETURN_IF_ERROR(CheckCount("box coordinates", regions.boxes.size(), regions.count, 4));
  }
  if (!regions.confidences.empty()) {
    RETURN_IF_ERROR(CheckCount("confidences", regions.confidences.size(), regions.count, 1));
  }
  if (!Finite(regions.features)) {
    return absl::InvalidArgumentError("has a region feature that is not a finite number");
  }
  for (size_t i = 0; i < regions.boxes.size(); ++i) {
    const float x = regions.boxes[i];
    if (Inside(x)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("has the box coordinate ", x, " at region ", i / 4,
                     x > kLooksLikePixels ? ", which looks like pixels" : "",
                     "; wanted x1/W, y1/H, x2/W, y2/H, each within [0, 1]"));
  }
  for (const float x : regions.confidences) {
    if (Inside(x)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("has the confidence ", x, "; wanted numbers within [0, 1]"));
  }
  return absl::OkStatus();
}

}  // namespace sightline
