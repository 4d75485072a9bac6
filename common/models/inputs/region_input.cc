#include "common/models/inputs/region_input.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/image/region_set.h"

namespace sightline {
namespace {

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

absl::Status CheckRegions(const RegionSet& regions, const RegionReading& reading) {
  if (regions.count < 1) {
    return absl::InvalidArgumentError(
        "has no regions; pixels must pass the model's region extractor first");
  }
  RETURN_IF_ERROR(CheckRegionSet(regions));
  if (reading.required_count > 0 && regions.count != reading.required_count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has ", regions.count, " regions, the model reads exactly ", reading.required_count));
  }
  if (regions.boxes.empty() && NeedsBoxes(regions, reading)) {
    return absl::InvalidArgumentError(
        "has regions without boxes, which the model reads; give a corpus that has them");
  }
  return CheckWidth(regions, reading);
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

// Region `i`'s.
void AppendBox(const RegionSet& regions, int64_t i, BoxForm form, std::vector<float>* out) {
  const float* const box = &regions.boxes[i * 4];
  float width = box[2] - box[0], height = box[3] - box[1];
  out->insert(out->end(), box, box + 4);
  if (form == BoxForm::kCorners) return;
  if (form == BoxForm::kM3p) {
    out->push_back(width * height);
    return;
  }
  if (!regions.box_sizes.empty()) {
    width = regions.box_sizes[i * 2];
    height = regions.box_sizes[i * 2 + 1];
  }
  out->insert(out->end(), {width, height});
  if (form == BoxForm::kUniter) out->push_back(width * height);
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
  RETURN_IF_ERROR(CheckRegions(regions, reading));
  RegionNumbers numbers;
  numbers.count = CountToRead(regions, reading);
  const auto feature = regions.features.begin();
  if (!NeedsBoxes(regions, reading)) {
    numbers.features.assign(feature, feature + numbers.count * regions.feature_size);
    return numbers;
  }
  const bool appended = reading.box_form == BoxForm::kAppended;
  numbers.features.reserve(numbers.count * reading.feature_size);
  for (int64_t i = 0; i < numbers.count; ++i) {
    numbers.features.insert(numbers.features.end(), feature + i * regions.feature_size,
                            feature + (i + 1) * regions.feature_size);
    AppendBox(regions, i, reading.box_form, appended ? &numbers.features : &numbers.boxes);
  }
  return numbers;
}

}  // namespace sightline
