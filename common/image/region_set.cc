#include "common/image/region_set.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/embedding/embedding_matrix.h"

namespace sightline {
namespace {

constexpr float kSlack = 0.01f;
// No coordinate that was divided by the picture's size gets here.
constexpr float kLooksLikePixels = 1.5f;

// Numbers that are not finite are never inside.
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

absl::Status CheckBoxes(absl::Span<const float> boxes) {
  for (size_t i = 0; i < boxes.size(); ++i) {
    const float x = boxes[i];
    if (!Inside(x)) {
      return absl::InvalidArgumentError(
          absl::StrCat("has the box coordinate ", x, " at region ", i / 4,
                       x > kLooksLikePixels ? ", which looks like pixels" : "",
                       "; wanted x1/W, y1/H, x2/W, y2/H, each within [0, 1]"));
    }
    if (i % 4 >= 2 && x < boxes[i - 2]) {
      return absl::InvalidArgumentError(
          absl::StrCat("has a box from ", boxes[i - 2], " to ", x, " at region ", i / 4,
                       "; wanted x1/W, y1/H, x2/W, y2/H, x1 <= x2 and y1 <= y2"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckBoxSizes(absl::Span<const float> boxes, absl::Span<const float> box_sizes) {
  for (size_t i = 0; i < box_sizes.size(); ++i) {
    const size_t corner = i / 2 * 4 + i % 2;
    const float size = boxes[corner + 2] - boxes[corner];
    // Written so that NaN is refused.
    if (std::abs(box_sizes[i] - size) <= kSlack) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("has the box ", i % 2 == 0 ? "width " : "height ", box_sizes[i], " at region ",
                     i / 2, ", whose corners are ", size, " apart; wanted w/W and h/H"));
  }
  return absl::OkStatus();
}

absl::Status CheckConfidences(absl::Span<const float> confidences) {
  for (const float x : confidences) {
    if (Inside(x)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("has the confidence ", x, "; wanted numbers within [0, 1]"));
  }
  return absl::OkStatus();
}

absl::Status CheckSoftLabels(absl::Span<const float> labels, int64_t classes) {
  const auto count = static_cast<int64_t>(labels.size());
  if (classes < 1 || count % classes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", count, " soft labels, no whole rows of ", classes, " classes"));
  }
  for (int64_t first = 0; first < count; first += classes) {
    float sum = 0;
    for (const float x : labels.subspan(first, classes)) {
      // Not even by rounding: its logarithm is taken.
      if (!Inside(x) || x < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("has the soft label ", x, " at region ", first / classes,
                         "; wanted probabilities, each within [0, 1]"));
      }
      sum += x;
    }
    if (std::abs(sum - 1) <= kSlack) continue;
    return absl::InvalidArgumentError(absl::StrCat("has soft labels that add up to ", sum,
                                                   " at region ", first / classes,
                                                   "; wanted probabilities that add up to 1"));
  }
  return absl::OkStatus();
}

absl::Status CheckRegionSet(const RegionSet& regions) {
  // Of counts that pass, the products below do not overflow.
  RETURN_IF_ERROR(CheckRegionSizes(regions.count, regions.feature_size, INT64_MAX));
  RETURN_IF_ERROR(
      CheckCount("feature values", regions.features.size(), regions.count, regions.feature_size));
  if (!regions.boxes.empty()) {
    RETURN_IF_ERROR(CheckCount("box coordinates", regions.boxes.size(), regions.count, 4));
  }
  if (!regions.box_sizes.empty()) {
    RETURN_IF_ERROR(CheckCount("box sizes", regions.box_sizes.size(), regions.count, 2));
    if (regions.boxes.empty()) {
      return absl::InvalidArgumentError("has sizes of boxes, but not the boxes");
    }
  }
  if (!regions.confidences.empty()) {
    RETURN_IF_ERROR(CheckCount("confidences", regions.confidences.size(), regions.count, 1));
  }
  if (!AllFinite(regions.features)) {
    return absl::InvalidArgumentError("has a region feature that is not a finite number");
  }
  RETURN_IF_ERROR(CheckBoxes(regions.boxes));
  RETURN_IF_ERROR(CheckBoxSizes(regions.boxes, regions.box_sizes));
  return CheckConfidences(regions.confidences);
}

}  // namespace sightline
