#include "common/models/region_input.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/embedding/embedding_matrix.h"

namespace sightline {
namespace {

// Half-precision files carry 1.0005 for a box at the edge.
constexpr float kBoxSlack = 0.01f;

absl::Status CheckSizes(const RegionSet& regions, int row_size) {
  if (regions.count < 1) {
    return absl::InvalidArgumentError(
        "has no regions; pixels must pass the model's region extractor first");
  }
  const bool carries_boxes = regions.feature_size == row_size;
  if (!carries_boxes && regions.feature_size != row_size - kOscarBoxNumbers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has region features of ", regions.feature_size, " numbers, the model's have ", row_size,
        " with the box's ", kOscarBoxNumbers, " or ", row_size - kOscarBoxNumbers, " without"));
  }
  // Divided, not multiplied: the count is a stranger's.
  const size_t values = regions.features.size();
  if (values % regions.feature_size != 0 ||
      values / regions.feature_size != static_cast<size_t>(regions.count)) {
    return absl::InvalidArgumentError(absl::StrCat("has ", values, " feature values for ",
                                                   regions.count, " regions of ",
                                                   regions.feature_size));
  }
  const size_t boxes = regions.boxes.size();
  const bool box_each = boxes % 4 == 0 && boxes / 4 == static_cast<size_t>(regions.count);
  if (!box_each && !(carries_boxes && boxes == 0)) {
    return absl::InvalidArgumentError(absl::StrCat("has ", boxes, " box values for ", regions.count,
                                                   " regions, four each are needed"));
  }
  return absl::OkStatus();
}

absl::Status CheckBox(absl::Span<const float> box, int64_t region) {
  const auto inside = [](float x) { return x >= -kBoxSlack && x <= 1 + kBoxSlack; };
  if (std::all_of(box.begin(), box.end(), inside) && box[0] <= box[2] && box[1] <= box[3]) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("has box (", box[0], ", ", box[1], ", ", box[2], ", ", box[3], ") at region ",
                   region, "; wanted x1/W, y1/H, x2/W, y2/H within [0, 1], not pixels"));
}

}  // namespace

absl::StatusOr<std::vector<float>> OscarRegionRows(const RegionSet& regions, int row_size,
                                                   int64_t max_count) {
  RETURN_IF_ERROR(CheckSizes(regions, row_size));
  const int64_t count = std::min(regions.count, max_count);
  const absl::Span<const float> features =
      absl::MakeConstSpan(regions.features).subspan(0, count * regions.feature_size);
  if (!AllFinite(features)) {
    return absl::InvalidArgumentError("has a region feature that is not a finite number");
  }
  if (regions.feature_size == row_size) {
    return std::vector<float>(features.begin(), features.end());
  }
  std::vector<float> rows;
  rows.reserve(count * row_size);
  for (int64_t i = 0; i < count; ++i) {
    const absl::Span<const float> feature =
        features.subspan(i * regions.feature_size, regions.feature_size);
    const absl::Span<const float> box = absl::MakeConstSpan(regions.boxes).subspan(i * 4, 4);
    RETURN_IF_ERROR(CheckBox(box, i));
    rows.insert(rows.end(), feature.begin(), feature.end());
    rows.insert(rows.end(), box.begin(), box.end());
    rows.push_back(box[2] - box[0]);
    rows.push_back(box[3] - box[1]);
  }
  return rows;
}

}  // namespace sightline
