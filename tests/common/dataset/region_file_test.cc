#include "common/dataset/region_file.h"

#include <cmath>

#include "common/base/files.h"
#include "common/dataset/region_file_reader.h"
#include "tests/common/dataset/some_regions.h"
#include "tests/common/dataset/tree.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int64_t kMost = 1 << 20;

absl::Status Write(const std::string& path, const std::vector<RegionFileItem>& items,
                   Dtype dtype = Dtype::kFloat32) {
  return WriteRegionFile(path, static_cast<int64_t>(items.size()), dtype,
                         [&](int64_t i) { return items[i]; });
}

std::unique_ptr<CorpusReader> Reader(const std::string& root) {
  RegionFileOptions options;
  options.root = root;
  auto reader = NewRegionFileReader(options);
  if (!reader.ok()) throw std::runtime_error(std::string(reader.status().message()));
  return *std::move(reader);
}

TEST_CASE("what is written is read, with everything and with the least") {
  for (const bool rich : {true, false}) {
    std::vector<RegionFileItem> items = SomeRegionItems(3, 5);
    if (rich) items[1].line.published_place = kMaxPublishedPlace;
    if (!rich) {
      for (RegionFileItem& item : items) {
        item.regions.boxes.clear();
        item.regions.box_sizes.clear();
        item.regions.confidences.clear();
      }
    }
    Tree tree;
    const std::string path = tree.Path("x.regions");
    REQUIRE(Write(path, items).ok());
    const auto file = RegionFile::Open(path);
    REQUIRE(file.ok());
    REQUIRE((*file)->item_count() == 3);
    REQUIRE((*file)->region_count() == 1 + 2 + 3);
    REQUIRE((*file)->feature_size() == 5);
    REQUIRE((*file)->has_boxes() == rich);
    REQUIRE((*file)->has_box_sizes() == rich);
    REQUIRE((*file)->has_confidences() == rich);
    REQUIRE((*file)->VerifyItems().ok());
    for (int64_t i = 0; i < 3; ++i) {
      const auto regions = (*file)->Regions(i, kMost);
      REQUIRE(regions.ok());
      REQUIRE(regions->count == i + 1);
      REQUIRE(regions->features == items[i].regions.features);
      REQUIRE(regions->boxes == items[i].regions.boxes);
      REQUIRE(regions->box_sizes == items[i].regions.box_sizes);
      REQUIRE(regions->confidences == items[i].regions.confidences);
      REQUIRE((*file)->Item(i)->id == items[i].line.id);
      REQUIRE((*file)->Item(i)->published_place == items[i].line.published_place);
    }
    REQUIRE(absl::IsInvalidArgument((*file)->Regions(2, 59).status()));
  }
}

TEST_CASE("soft labels are read beside the regions, and a file without them has none") {
  Tree tree;
  std::vector<RegionFileItem> items = SomeRegionItems(3, 5);
  const std::string path = tree.Path("x.regions");
  REQUIRE(Write(path, items).ok());
  REQUIRE(Reader(path)->soft_label_count() == 0);
  REQUIRE((*RegionFile::Open(path))->SoftLabels(0, kMost)->empty());

  for (RegionFileItem& item : items) AddSoftLabels(item);
  REQUIRE(Write(path, items).ok());
  const auto file = *RegionFile::Open(path);
  REQUIRE(file->soft_label_count() == 3);
  const auto reader = Reader(path);
  REQUIRE(reader->soft_label_count() == 3);
  const auto listing = reader->List();
  REQUIRE(listing.ok());
  for (int64_t i = 0; i < 3; ++i) {
    REQUIRE(*file->SoftLabels(i, kMost) == items[i].soft_labels);
    REQUIRE(*reader->ReadSoftLabels(listing->items[i], kMost) == items[i].soft_labels);
    REQUIRE(file->Regions(i, kMost)->confidences == items[i].regions.confidences);
  }
  REQUIRE(absl::IsInvalidArgument(file->SoftLabels(2, 35).status()));
}

TEST_CASE("soft labels that are damaged, or none, are the fault of their item alone") {
  Tree tree;
  const std::string path = tree.Path("x.regions");
  std::vector<RegionFileItem> items = SomeRegionItems(2, 5);
  for (RegionFileItem& item : items) AddSoftLabels(item);
  REQUIRE(Write(path, items).ok());
  std::string bytes = *ReadFile(path);
  bytes.back() ^= 1;  // soft labels are the last section
  const auto file = RegionFile::FromBytes(bytes);
  REQUIRE(file.ok());
  REQUIRE((*file)->Regions(1, kMost).ok());
  const absl::Status damaged = (*file)->SoftLabels(1, kMost).status();
  REQUIRE(absl::IsInvalidArgument(damaged));
  REQUIRE_THAT(std::string(damaged.message()), Catch::Contains("checksum mismatch"));
}

TEST_CASE("a digest is of all that a file holds, and of nothing else") {
  Tree tree;
  const auto digest = [&](const std::vector<RegionFileItem>& items) {
    const absl::Status written = Write(tree.Path("x.regions"), items);
    INFO(written.ToString());
    REQUIRE(written.ok());
    return (*RegionFile::Open(tree.Path("x.regions")))->Digest();
  };
  const std::vector<RegionFileItem> items = SomeRegionItems(3, 5);
  const std::string one = digest(items);
  REQUIRE(digest(items) == one);
  REQUIRE(Reader(tree.root())->RegionsDigest() == one + " ");
  std::vector<std::vector<RegionFileItem>> others(4, items);
  others[0][2].regions.features[14] += 0.5f;
  others[1][1].regions.boxes[7] -= 0.001f;
  others[2][2].line.id += "x";
  for (RegionFileItem& item : others[3]) AddSoftLabels(item);
  for (const std::vector<RegionFileItem>& other : others) REQUIRE(digest(other) != one);
}

TEST_CASE("a folder of region files is a corpus") {
  Tree tree;
  std::vector<RegionFileItem> items = SomeRegionItems(2, 5);
  items[1].line.captions = {{"en", "a \"sign\""}, {"de", "ein Schild"}};
  items[1].line.tags = {"sign"};
  items[1].line.ocr_tokens = {"STOP"};
  REQUIRE(Write(tree.Path("a.regions"), items).ok());
  items[0].line.id = "z";
  items[1].line.id = "0";
  REQUIRE(Write(tree.Path("b.regions"), items, Dtype::kFloat16).ok());
  tree.Put("c.txt", "something else");

  const auto reader = Reader(tree.root());
  REQUIRE(reader->region_feature_size() == 5);
  const auto listing = reader->List();
  REQUIRE(listing.ok());
  REQUIRE(IdsOf(*listing) == std::vector<std::string>{"0", "item/0", "item/1", "z"});
  const CorpusItem& item = listing->items[2];
  REQUIRE(item.path == tree.Path("a.regions") + "#1");
  REQUIRE(CaptionsOf(item) == "en:a \"sign\"");
  REQUIRE(item.tags == std::vector<std::string>{"sign"});
  REQUIRE(item.ocr_tokens == std::vector<std::string>{"STOP"});
  REQUIRE(reader->ReadRegions(item, kMost)->features == items[1].regions.features);
  REQUIRE(reader->ReadRegions(listing->items[0], kMost)->count == 2);
  REQUIRE_FALSE(reader->PictureVersion(item).empty());
  CorpusItem stranger = item;
  stranger.path = tree.Path("a.regions") + "#2";
  REQUIRE(absl::IsNotFound(reader->ReadRegions(stranger, kMost).status()));
}

TEST_CASE("files of two widths, and a folder without one, are refused") {
  Tree tree;
  RegionFileOptions options;
  options.root = tree.root();
  REQUIRE_THAT(std::string(NewRegionFileReader(options).status().message()),
               Catch::Contains("no file that ends in .regions"));
  REQUIRE(Write(tree.Path("a.regions"), SomeRegionItems(1, 5)).ok());
  REQUIRE(Write(tree.Path("b.regions"), SomeRegionItems(1, 6)).ok());
  REQUIRE_THAT(
      std::string(NewRegionFileReader(options).status().message()),
      Catch::Contains("b.regions has 6 numbers a region") && Catch::Contains("two corpora"));
  std::vector<RegionFileItem> labelled = SomeRegionItems(1, 5);
  AddSoftLabels(labelled[0]);
  REQUIRE(Write(tree.Path("b.regions"), labelled).ok());
  REQUIRE_THAT(
      std::string(NewRegionFileReader(options).status().message()),
      Catch::Contains("b.regions has 3 soft labels a region") && Catch::Contains("two corpora"));
}

TEST_CASE("items that cannot be written are refused by name") {
  Tree tree;
  const auto problem = [&](void (*spoil)(RegionFileItem&)) {
    std::vector<RegionFileItem> items = SomeRegionItems(2, 5);
    spoil(items[1]);
    const absl::Status status = Write(tree.Path("x.regions"), items, Dtype::kFloat16);
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE_FALSE(FileExists(tree.Path("x.regions")));
    return std::string(status.message());
  };
  REQUIRE_THAT(problem([](auto& item) { item.line.id = ""; }), Catch::Contains("item 1"));
  REQUIRE_THAT(problem([](auto& item) { item.regions.box_sizes.clear(); }),
               Catch::Contains("item 1 (item/1) has no box sizes, unlike the first item"));
  REQUIRE_THAT(problem([](auto& item) { item.regions.confidences.clear(); }),
               Catch::Contains("item 1 (item/1) has no confidences, unlike the first item"));
  REQUIRE_THAT(problem([](auto& item) { item.regions.features[3] = 1e6f; }),
               Catch::Contains("too large for float16"));
  REQUIRE_THAT(problem([](auto& item) { item.regions.features[3] = NAN; }),
               Catch::Contains("not a finite"));
  REQUIRE_THAT(problem([](auto& item) { item.regions = SomeRegionItems(1, 6)[0].regions; }),
               Catch::Contains("6 numbers, the first item's have 5"));
  REQUIRE_THAT(problem([](auto& item) {
                 item.soft_labels = {1, 0};
               }),
               Catch::Contains("has 2 soft labels for 2 regions, the first item's have 0 each"));
  REQUIRE(absl::IsInvalidArgument(Write(tree.Path("x.regions"), {})));
}

TEST_CASE("soft labels that cannot be written are refused by name") {
  Tree tree;
  const auto problem = [&](const std::vector<float>& labels) {
    std::vector<RegionFileItem> items = SomeRegionItems(2, 5);
    for (RegionFileItem& item : items) AddSoftLabels(item);
    items[1].soft_labels = labels;
    const absl::Status status = Write(tree.Path("x.regions"), items);
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE_FALSE(FileExists(tree.Path("x.regions")));
    return std::string(status.message());
  };
  REQUIRE_THAT(problem({}),
               Catch::Contains("0 soft labels for 2 regions, the first item's have 3"));
  REQUIRE_THAT(problem({1, 0, 0, 0.5f, 0.25f, 0.125f}),
               Catch::Contains("add up to 0.875 at region 1"));
  REQUIRE_THAT(problem({1, 0, 0, 1.5f, 0, -0.5f}), Catch::Contains("soft label 1.5 at region 1"));
  REQUIRE_THAT(problem({1, 0, 0, NAN, 0, 0}), Catch::Contains("soft label nan"));
}

TEST_CASE("a region file cut anywhere is refused") {
  Tree tree;
  REQUIRE(Write(tree.Path("x.regions"), SomeRegionItems(2, 3)).ok());
  const std::string whole = *ReadFile(tree.Path("x.regions"));
  for (size_t length = 0; length < whole.size(); ++length) {
    REQUIRE(absl::IsDataLoss(RegionFile::FromBytes(whole.substr(0, length)).status()));
  }
}

TEST_CASE("a flipped bit is an error of the file or of an item, never another number") {
  Tree tree;
  const std::vector<RegionFileItem> items = SomeRegionItems(2, 3);
  REQUIRE(Write(tree.Path("x.regions"), items).ok());
  const std::string whole = *ReadFile(tree.Path("x.regions"));
  int64_t refused = 0;
  for (size_t byte = 0; byte < whole.size(); ++byte) {
    std::string flipped = whole;
    flipped[byte] ^= static_cast<char>(1 << byte % 8);
    const auto file = RegionFile::FromBytes(flipped);
    if (!file.ok()) {
      ++refused;
      continue;
    }
    const bool listed = (*file)->VerifyItems().ok();
    for (int64_t i = 0; listed && i < (*file)->item_count(); ++i) {
      const auto regions = (*file)->Regions(i, kMost);
      INFO(byte);
      REQUIRE((regions.ok() || absl::IsInvalidArgument(regions.status())));
      if (regions.ok()) REQUIRE(regions->features == items[i].regions.features);
    }
  }
  REQUIRE(refused > 300);  // header and table
}

TEST_CASE("an item that is damaged leaves the others alone") {
  Tree tree;
  const std::string path = tree.Path("x.regions");
  // Each item's features fill more than a MiB, which is what a checksum is for.
  std::vector<RegionFileItem> items = SomeRegionItems(2, 3);
  for (RegionFileItem& item : items) {
    item.regions = RegionSet();
    item.regions.count = 2 << 10;
    item.regions.feature_size = 256;
    item.regions.features.resize(size_t{2} << 18);
  }
  REQUIRE(Write(path, items).ok());
  std::string bytes = *ReadFile(path);
  bytes[bytes.size() - 10] ^= 1;
  tree.Put("x.regions", bytes);
  const auto reader = Reader(path);
  const auto listing = reader->List();
  REQUIRE(listing.ok());
  REQUIRE(reader->ReadRegions(listing->items[0], int64_t{8} << 20).ok());
  const absl::Status damaged = reader->ReadRegions(listing->items[1], int64_t{8} << 20).status();
  REQUIRE(absl::IsInvalidArgument(damaged));
  REQUIRE_THAT(std::string(damaged.message()), Catch::Contains("checksum mismatch"));
}

TEST_CASE("an item whose line is malformed is rejected alone") {
  Tree tree;
  ItemLine good;
  good.id = "good";
  const std::string lines = ItemLineJson(good) + R"({"captions": []})" + R"({"id": 7})";
  const auto first = static_cast<int64_t>(ItemLineJson(good).size());
  const int64_t offsets[] = {0, first, first + 16, static_cast<int64_t>(lines.size())};
  const int64_t rows[] = {0, 1, 2, 3};
  const float features[] = {1, 2, 3};
  const auto writer = *ContainerWriter::Create(tree.Path("x.regions"));
  const auto bytes = [](const auto& array) {
    return absl::string_view(reinterpret_cast<const char*>(array), sizeof(array));
  };
  REQUIRE(writer->Declare("regions/items", Dtype::kBytes, {offsets[3]}).ok());
  REQUIRE(writer->Declare("regions/item_offsets", Dtype::kInt64, {4}).ok());
  REQUIRE(writer->Declare("regions/row_offsets", Dtype::kInt64, {4}).ok());
  REQUIRE(writer->Declare("regions/features", Dtype::kFloat32, {3, 1}).ok());
  REQUIRE(writer->Append(lines).ok());
  REQUIRE(writer->Append(bytes(offsets)).ok());
  REQUIRE(writer->Append(bytes(rows)).ok());
  REQUIRE(writer->Append(bytes(features)).ok());
  REQUIRE(writer->Finish().ok());
  const auto listing = Reader(tree.root())->List();
  REQUIRE(listing.ok());
  REQUIRE(IdsOf(*listing) == std::vector<std::string>{"good"});
  REQUIRE(listing->rejected.size() == 2);
  REQUIRE_THAT(listing->rejected[0].reason, Catch::Contains("\"id\" is missing"));
  REQUIRE_THAT(listing->rejected[1].reason, Catch::Contains("must be a string"));
}

}  // namespace
}  // namespace sightline
