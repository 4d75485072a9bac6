#include "common/models/region_input.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/embedding/embedding_matrix.h"

namespace sightline {
namespace {

// Half-precision files carry 1.0005 for a box at the edge.
constexpr float kBoxSlack = 0.01f;

bool CarriesBoxes(const RegionSet& regions, const RegionReading& reading) {
  return reading.box_form == BoxForm::kAppended && regions.feature_size == reading.feature_size;
}

bool NeedsBoxes(const RegionSet& regions, const RegionReading& reading) {
  return reading.box_form != BoxForm::kNone && !CarriesBoxes(regions, reading);
}

absl::Status CheckWidth(const RegionSet& regions, const RegionReading& reading) {
  if (CarriesBoxes(regions, reading)) return absl::OkStatus();
  const int appended =
      reading.box_form == BoxForm::kAppended ? BoxNumberCount(reading.box_form) : 0;
  const int wanted = reading.feature_size - appended;
  if (regions.feature_size == wanted) return absl::OkStatus();
  std::string sizes = absl::StrCat(wanted);
  if (appended > 0) {
    sizes = absl::StrCat(reading.feature_size, " with the box's ", appended, " or ", wanted,
                         " without");
  }
  return absl::InvalidArgumentError(absl::StrCat("has region features of ", regions.feature_size,
                                                 " numbers, the model's have ", sizes));
}

absl::Status CheckSizes(const RegionSet& regions, const RegionReading& reading) {
  if (regions.count < 1) {
    return absl::InvalidArgumentError(
        "has no regions; pixels must pass the model's region extractor first");
  }
  if (reading.required_count > 0 && regions.count != reading.required_count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has ", regions.count, " regions, the model reads exactly ", reading.required_count));
  }
  RETURN_IF_ERROR(CheckWidth(regions, reading));
  // Divided, not multiplied: the count is a stranger's.
  const auto holds = [&](size_t values, size_t each) {
    return values % each == 0 && values / each == static_cast<size_t>(regions.count);
  };
  if (!holds(regions.features.size(), regions.feature_size)) {
    return absl::InvalidArgumentError(absl::StrCat("has ", regions.features.size(),
                                                   " feature values for ", regions.count,
                                                   " regions of ", regions.feature_size));
  }
  if (regions.boxes.empty() && NeedsBoxes(regions, reading)) {
    return absl::InvalidArgumentError("has regions without boxes, which the model reads");
  }
  if (!regions.boxes.empty() && !holds(regions.boxes.size(), 4)) {
    return absl::InvalidArgumentError(absl::StrCat("has ", regions.boxes.size(), " box values for ",
                                                   regions.count,
                                                   " regions, four each are needed"));
  }
  if (!regions.confidences.empty() && !holds(regions.confidences.size(), 1)) {
    return absl::InvalidArgumentError(absl::StrCat("has ", regions.confidences.size(),
                                                   " confidences for ", regions.count, " regions"));
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

// A prefix: detectors list what they are surest of first.
int64_t CountToRead(const RegionSet& regions, const RegionReading& reading) {
  int64_t count = regions.count;
  if (!regions.confidences.empty() && reading.confidence_floor > 0) {
    count = std::count_if(regions.confidences.begin(), regions.confidences.end(),
                          [&](float x) { return x > reading.confidence_floor; });
    count = std::max(count, std::min(reading.min_count, regions.count));
  }
  return std::min(count, reading.max_count);
}

void AppendBox(absl::Span<const float> box, BoxForm form, std::vector<float>* out) {
  const float width = box[2] - box[0], height = box[3] - box[1];
  out->insert(out->end(), box.begin(), box.end());
  if (form == BoxForm::kCorners) return;
  if (form != BoxForm::kM3p) out->insert(out->end(), {width, height});
  if (form != BoxForm::kAppended) out->push_back(width * height);
}

}  // namespace

int BoxNumberCount(BoxForm form) {
  switch (form) {
    case BoxForm::kNone:
      return 0;
    case BoxForm::kAppended:
      return 6;
    case BoxForm::kUniter:
      return 7;
    case BoxForm::kM3p:
      return 5;
    case BoxForm::kCorners:
      return 4;
  }
  return 0;
}

RegionReading RegionReadingOf(const bundle::v1::ModelBundleManifest& manifest, BoxForm box_form) {
  RegionReading reading;
  reading.feature_size = manifest.transformer().region_feature_size();
  reading.box_form = box_form;
  reading.max_count = manifest.transformer().max_region_count();
  if (manifest.has_region_rule()) {
    reading.confidence_floor = manifest.region_rule().confidence_floor();
    reading.min_count = std::max(manifest.region_rule().min_count(), 1);
  }
  return reading;
}

std::vector<int> FeatureSizesOf(const RegionReading& reading) {
  if (reading.box_form != BoxForm::kAppended) return {reading.feature_size};
  return {reading.feature_size - BoxNumberCount(reading.box_form), reading.feature_size};
}

absl::StatusOr<RegionNumbers> ReadRegions(const RegionSet& regions, const RegionReading& reading) {
  RETURN_IF_ERROR(CheckSizes(regions, reading));
  RegionNumbers numbers;
  numbers.count = CountToRead(regions, reading);
  const absl::Span<const float> features =
      absl::MakeConstSpan(regions.features).subspan(0, numbers.count * regions.feature_size);
  if (!AllFinite(features)) {
    return absl::InvalidArgumentError("has a region feature that is not a finite number");
  }
  if (!NeedsBoxes(regions, reading)) {
    numbers.features.assign(features.begin(), features.end());
    return numbers;
  }
  const bool appended = reading.box_form == BoxForm::kAppended;
  numbers.features.reserve(numbers.count * reading.feature_size);
  for (int64_t i = 0; i < numbers.count; ++i) {
    const absl::Span<const float> feature =
        features.subspan(i * regions.feature_size, regions.feature_size);
    const absl::Span<const float> box = absl::MakeConstSpan(regions.boxes).subspan(i * 4, 4);
    RETURN_IF_ERROR(CheckBox(box, i));
    numbers.features.insert(numbers.features.end(), feature.begin(), feature.end());
    AppendBox(box, reading.box_form, appended ? &numbers.features : &numbers.boxes);
  }
  return numbers;
}

}  // namespace sightline
