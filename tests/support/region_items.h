// Pictures as a detector leaves them, with captions, and the files that such a corpus comes in.
#ifndef SIGHTLINE_TESTS_SUPPORT_REGION_ITEMS_H_
#define SIGHTLINE_TESTS_SUPPORT_REGION_ITEMS_H_

#include <string>
#include <vector>

#include "common/image/image_input.h"

namespace sightline {

struct RegionItem {
  std::string id;
  std::string caption;
  ImageInput image;
};

struct RegionItemsOptions {
  int count = 30;
  int feature_size = 0;
  int min_regions = 1;
  int max_regions = 1;
  // Boxes, confidences that fall at different speed, tags and OCR tokens; else features alone.
  bool details = true;
  // What stands before the number in an id.
  std::string id_prefix = "item/";
};

// No two alike; the same for the same options.  All numbers are float16's.  Captions, tags and
// OCR tokens are made of RegionItemWord.
std::vector<RegionItem> MakeRegionItems(const RegionItemsOptions& options);

// "word5" to "word59".
std::string RegionItemWord(int i);

// These throw, which fails the test, when they cannot write.
// One file, as common/dataset/region_file.h has it.
void WriteItemsAsRegionFile(const std::vector<RegionItem>& items, const std::string& path);
// A folder of UNITER's archives with captions.jsonl; returns the path of that.
std::string WriteItemsAsNpz(const std::vector<RegionItem>& items, const std::string& folder);
// SCAN's test split, of items that have equally many regions and nothing but features.
void WriteItemsAsPrecomp(const std::vector<RegionItem>& items, const std::string& folder);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_REGION_ITEMS_H_
