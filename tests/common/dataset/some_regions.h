// Region items that are easy to tell apart.
#ifndef SIGHTLINE_TESTS_COMMON_DATASET_SOME_REGIONS_H_
#define SIGHTLINE_TESTS_COMMON_DATASET_SOME_REGIONS_H_

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/dataset/region_file.h"

namespace sightline {

// `item/<i>` has i + 1 regions with boxes, sizes, confidences and a caption; float16 holds all of
// it.
inline std::vector<RegionFileItem> SomeRegionItems(int count, int feature_size) {
  std::vector<RegionFileItem> items;
  for (int i = 0; i < count; ++i) {
    RegionFileItem item;
    item.line.id = absl::StrCat("item/", i);
    item.line.captions = {{"en", absl::StrCat("picture number ", i)}};
    item.regions.count = i + 1;
    item.regions.feature_size = feature_size;
    for (int row = 0; row <= i; ++row) {
      for (int k = 0; k < feature_size; ++k) {
        item.regions.features.push_back(0.5f * static_cast<float>(i - row) +
                                        0.25f * static_cast<float>(k));
      }
      item.regions.boxes.insert(item.regions.boxes.end(), {0, 0.25f, 0.5f, 0.75f});
      item.regions.box_sizes.insert(item.regions.box_sizes.end(), {0.5f, 0.5005f});
      item.regions.confidences.push_back(1.0f / static_cast<float>(1 << (row % 8)));
    }
    items.push_back(item);
  }
  return items;
}

// Of each region of `item` the probabilities of three classes, which float16 holds.
inline void AddSoftLabels(RegionFileItem& item) {
  for (int64_t row = 0; row < item.regions.count; ++row) {
    const float first = 0.125f * static_cast<float>(row % 5);
    item.soft_labels.insert(item.soft_labels.end(), {first, 0.25f, 0.75f - first});
  }
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_DATASET_SOME_REGIONS_H_
