#include "services/sightlinectl/query_regions.h"

#include "common/base/files.h"
#include "common/dataset/region_file.h"
#include "tests/common/dataset/some_regions.h"
#include "tests/common/formats/npz_writer.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

std::string Refusal(const std::string& place) {
  const absl::Status status = ReadQueryRegions(place).status();
  INFO(status);
  REQUIRE(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

std::vector<RegionFileItem> ItemsWithWords(int count) {
  std::vector<RegionFileItem> items = SomeRegionItems(count, 5);
  for (RegionFileItem& item : items) {
    item.line.tags = {"sign", "tag of " + item.line.id};
    item.line.ocr_tokens = {"STOP"};
  }
  return items;
}

std::string RegionFileWith(const TempDir& dir, int count) {
  const std::string path = dir.File(std::to_string(count) + ".regions");
  const auto items = ItemsWithWords(count);
  REQUIRE(WriteRegionFile(path, count, Dtype::kFloat16, [&](int64_t i) { return items[i]; }).ok());
  return path;
}

TEST_CASE("a query's regions come from UNITER's archive") {
  const TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("a.npz"), SomeNpz(3, 5)).ok());
  const auto image = ReadQueryRegions(dir.File("a.npz"));
  REQUIRE(image.ok());
  REQUIRE(image->regions.count == 3);
  REQUIRE(image->regions.feature_size == 5);
  REQUIRE(image->regions.boxes.size() == 12);
  REQUIRE(WriteFileAtomically(dir.File("b.npz"), "PK").ok());
  REQUIRE_THAT(Refusal(dir.File("b.npz")), Catch::StartsWith(dir.File("b.npz")));
  REQUIRE(absl::IsNotFound(ReadQueryRegions(dir.File("c.npz")).status()));
}

TEST_CASE("a query's regions, tags and words come from a row of a region file") {
  const TempDir dir;
  const std::string path = RegionFileWith(dir, 4);
  const auto items = ItemsWithWords(4);
  for (int i = 0; i < 4; ++i) {
    const auto image = ReadQueryRegions(path + "#" + std::to_string(i));
    REQUIRE(image.ok());
    REQUIRE(image->regions.features == items[i].regions.features);
    REQUIRE(image->tags == items[i].line.tags);
    REQUIRE(image->ocr_tokens == items[i].line.ocr_tokens);
  }
  for (const char* row : {"", "#4", "#-1", "#", "#x"}) {
    REQUIRE_THAT(Refusal(path + row), Catch::Contains(path + "#0 to " + path + "#3"));
  }
  REQUIRE(ReadQueryRegions(RegionFileWith(dir, 1)).ok());
}

TEST_CASE("a query's regions come from a row of SCAN's array") {
  const TempDir dir;
  const std::string path = dir.File("test_ims.npy");
  REQUIRE(WriteFileAtomically(path, Npy("<f4", {2, 1, 3}, {1, 2, 3, 4, 5, 6})).ok());
  const auto image = ReadQueryRegions(path + "#1");
  REQUIRE(image.ok());
  REQUIRE(image->regions.count == 1);
  REQUIRE(image->regions.features == std::vector<float>{4, 5, 6});
  for (const char* row : {"", "#2", "#x"}) {
    REQUIRE(absl::IsNotFound(ReadQueryRegions(path + row).status()));
  }
}

}  // namespace
}  // namespace sightline
