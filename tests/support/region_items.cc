#include "tests/support/region_items.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/dataset/region_file.h"
#include "nlohmann/json.hpp"
#include "tests/common/formats/npz_writer.h"

namespace sightline {
namespace {

void Require(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

// A multiple of 1/32 in [-2, 2].
float Feature(std::mt19937& random) {
  return (static_cast<float>(random() % 129) - 64) / 32;
}

void AddDetails(int number, std::mt19937& random, RegionItem* item) {
  RegionSet& regions = item->image.regions;
  for (int64_t r = 0; r < regions.count; ++r) {
    const float x = static_cast<float>(random() % 64) / 128;
    const float y = static_cast<float>(random() % 64) / 128;
    const float width = static_cast<float>(random() % 63 + 1) / 128;
    const float height = static_cast<float>(random() % 63 + 1) / 128;
    regions.boxes.insert(regions.boxes.end(), {x, y, x + width, y + height});
    // As a file of half precision may have them: off by a little.
    regions.box_sizes.insert(regions.box_sizes.end(), {width + 1.0f / 2048, height});
    // So that a floor cuts some pictures early, some late and some not.
    const float fallen = static_cast<float>(r * (1 + number % 4)) / 32;
    regions.confidences.push_back(std::max(0.0f, 1 - fallen));
  }
  for (int k = 0; k < number % 4; ++k) {
    item->image.tags.push_back(RegionItemWord(number * 3 + k));
    item->image.ocr_tokens.push_back(RegionItemWord(number * 7 + 5 * k + 2));
  }
}

std::vector<float> WithSizes(const RegionSet& regions) {
  std::vector<float> six;
  for (int64_t r = 0; r < regions.count; ++r) {
    const float *const box = &regions.boxes[r * 4], *const size = &regions.box_sizes[r * 2];
    six.insert(six.end(), {box[0], box[1], box[2], box[3], size[0], size[1]});
  }
  return six;
}

}  // namespace

std::string RegionItemWord(int i) {
  return absl::StrCat("word", 5 + i % 55);
}

std::vector<RegionItem> MakeRegionItems(const RegionItemsOptions& options) {
  std::vector<RegionItem> items;
  std::mt19937 random(17);
  for (int i = 0; i < options.count; ++i) {
    RegionItem item;
    item.id = absl::StrCat(options.id_prefix, i);
    item.caption = RegionItemWord(i * 11);
    for (int k = 1; k <= i * 5 % 7; ++k) {
      absl::StrAppend(&item.caption, " ", RegionItemWord(i * 2 + k * k * 3));
    }
    RegionSet& regions = item.image.regions;
    regions.count = options.min_regions + i * 5 % (options.max_regions - options.min_regions + 1);
    regions.feature_size = options.feature_size;
    regions.features.resize(static_cast<size_t>(regions.count * options.feature_size));
    for (float& number : regions.features) number = Feature(random);
    if (options.details) AddDetails(i, random, &item);
    items.push_back(std::move(item));
  }
  return items;
}

void WriteItemsAsRegionFile(const std::vector<RegionItem>& items, const std::string& path) {
  const auto source = [&items](int64_t i) -> absl::StatusOr<RegionFileItem> {
    const RegionItem& item = items[i];
    RegionFileItem out;
    out.line.id = item.id;
    out.line.captions = {{"en", item.caption}};
    out.line.tags = item.image.tags;
    out.line.ocr_tokens = item.image.ocr_tokens;
    out.regions = item.image.regions;
    return out;
  };
  Require(WriteRegionFile(path, static_cast<int64_t>(items.size()), Dtype::kFloat16, source));
}

std::string WriteItemsAsNpz(const std::vector<RegionItem>& items, const std::string& folder) {
  std::string lines;
  for (const RegionItem& item : items) {
    const RegionSet& regions = item.image.regions;
    ZipWriter zip;
    zip.Add("norm_bb.npy", Npy("<f2", {regions.count, 6}, WithSizes(regions)), true);
    zip.Add("features.npy", Npy("<f2", {regions.count, regions.feature_size}, regions.features),
            true);
    zip.Add("conf.npy", Npy("<f2", {regions.count}, regions.confidences), false);
    const std::string path = JoinPath(folder, absl::StrCat(item.id, ".npz"));
    Require(MakeDirectories(path.substr(0, path.rfind('/'))));
    Require(WriteFileAtomically(path, zip.Finish()));
    absl::StrAppend(&lines,
                    nlohmann::json({{"path", absl::StrCat(item.id, ".npz")},
                                    {"captions", {item.caption}},
                                    {"tags", item.image.tags},
                                    {"ocr_tokens", item.image.ocr_tokens}})
                        .dump(),
                    "\n");
  }
  const std::string captions = JoinPath(folder, "captions.jsonl");
  Require(WriteFileAtomically(captions, lines));
  return captions;
}

void WriteItemsAsPrecomp(const std::vector<RegionItem>& items, const std::string& folder) {
  const RegionSet& first = items.front().image.regions;
  std::vector<float> features;
  std::string captions;
  for (const RegionItem& item : items) {
    const std::vector<float>& own = item.image.regions.features;
    features.insert(features.end(), own.begin(), own.end());
    absl::StrAppend(&captions, item.caption, "\n");
  }
  const std::vector<int64_t> shape = {static_cast<int64_t>(items.size()), first.count,
                                      first.feature_size};
  Require(MakeDirectories(folder));
  Require(WriteFileAtomically(JoinPath(folder, "test_ims.npy"), Npy("<f4", shape, features)));
  Require(WriteFileAtomically(JoinPath(folder, "test_caps.txt"), captions));
}

}  // namespace sightline
