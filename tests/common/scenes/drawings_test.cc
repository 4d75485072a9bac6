#include "common/scenes/drawings.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/checksum.h"
#include "common/dataset/open_corpus.h"
#include "common/scenes/raster.h"
#include "tests/common/dataset/tree.h"
#include "tests/common/image/encode.h"
#include "tests/common/scenes/some_rasters.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Corpora = std::vector<std::unique_ptr<CorpusReader>>;

std::string PngOf(const RgbaPixels& raster) {
  PngSpec spec;
  spec.width = raster.width;
  spec.height = raster.height;
  spec.color_type = 6;
  spec.rows = std::string(raster.rgba.begin(), raster.rgba.end());
  return EncodePng(spec);
}

// A raster with a transparent border of two pixels.
RgbaPixels Framed(const RgbaPixels& raster) {
  RgbaPixels framed = PlainRaster(raster.width + 4, raster.height + 4, 1, 2, 3, 0);
  for (int y = 0; y < raster.height; ++y) {
    std::copy_n(&raster.rgba[size_t(y) * raster.width * 4], raster.width * 4,
                &framed.rgba[(size_t(y + 2) * framed.width + 2) * 4]);
  }
  return framed;
}

Corpora StampsOf(const Tree& tree) {
  CorpusSpec spec;
  spec.root = tree.root();
  spec.id_prefix = "stamps/";
  Corpora corpora;
  corpora.push_back(*OpenCorpus(spec));
  return corpora;
}

TEST_CASE("143 nouns have three drawings or more, each of them once, from stamps and clip art") {
  std::map<absl::string_view, int> drawings;
  std::set<absl::string_view> ids, hashes;
  absl::string_view before;
  for (const LockedDrawing& drawing : LockedDrawings()) {
    CAPTURE(std::string(drawing.item_id));
    // A noun's drawings follow each other.
    REQUIRE((drawing.noun == before || drawings.count(drawing.noun) == 0));
    before = drawing.noun;
    ++drawings[drawing.noun];
    REQUIRE(ids.insert(drawing.item_id).second);
    REQUIRE(hashes.insert(drawing.sha256).second);
    REQUIRE(IsSha256Hex(drawing.sha256));
    REQUIRE(
        (drawing.item_id.substr(0, 7) == "stamps/" || drawing.item_id.substr(0, 8) == "clipart/"));
  }
  REQUIRE(drawings.size() == 143);
  for (const auto& [noun, count] : drawings) {
    CAPTURE(std::string(noun));
    REQUIRE(count >= 3);
    REQUIRE(DrawingNumber(noun, count) == -1);
    REQUIRE(DrawingNumber(noun, -1) == -1);
    REQUIRE(LockedDrawings()[DrawingNumber(noun, count - 1)].noun == noun);
    REQUIRE(DrawingNumber(noun, count - 1) == DrawingNumber(noun, 0) + count - 1);
  }
  REQUIRE(DrawingNumber("unicorn", 0) == -1);
}

TEST_CASE("drawings are read, cropped and scaled, in the lock's order") {
  const RgbaPixels one = SomeRaster(30, 12, 1), two = SomeRaster(8, 25, 2);
  Tree tree;
  tree.Put("one.png", PngOf(Framed(one)));
  tree.Put("two.png", PngOf(two));
  const std::string hash_one = RasterSha256(CropToOpaque(one)), hash_two = RasterSha256(two);
  const auto set = ReadDrawings({{"b", "stamps/two", hash_two}, {"a", "stamps/one", hash_one}},
                                StampsOf(tree), {10, 20});
  INFO(set.status().ToString());
  REQUIRE(set.ok());
  REQUIRE(set->size() == 2);
  REQUIRE(set->Find(0, 20)->rgba == ScaleToFit(two, 20).rgba);
  REQUIRE(set->Find(1, 10)->rgba == ScaleToFit(one, 10).rgba);
  REQUIRE(set->Find(1, 10)->width == 10);
  REQUIRE(set->Find(1, 11) == nullptr);
  REQUIRE(set->Find(2, 10) == nullptr);
}

TEST_CASE("a drawing that is not there, is no picture, or has other pixels is named") {
  RgbaPixels raster = SomeRaster(30, 12, 1);
  const std::string hash = RasterSha256(raster);
  raster.rgba[100] ^= 1;
  Tree tree;
  tree.Put("changed.png", PngOf(raster));
  tree.Put("broken.png", "no picture");
  tree.Put("empty.png", PngOf(PlainRaster(3, 3, 1, 1, 1, 0)));
  std::vector<LockedDrawing> drawings;
  for (const char* id : {"stamps/changed", "stamps/broken", "stamps/empty", "stamps/gone"}) {
    drawings.push_back({"thing", id, hash});
  }
  const absl::Status status = ReadDrawings(drawings, StampsOf(tree), {10}).status();
  REQUIRE(absl::IsFailedPrecondition(status));
  REQUIRE_THAT(
      std::string(status.message()),
      Catch::Contains("4 of 4") &&
          Catch::Contains("stamps/changed has pixels of SHA-256 " + RasterSha256(raster)) &&
          Catch::Contains("stamps/broken image") &&
          Catch::Contains("stamps/empty is transparent") &&
          Catch::Contains("stamps/gone is not there") &&
          Catch::Contains("tuxpaint-stamps-default"));
  const absl::Status all = ReadDrawings(LockedDrawings(), StampsOf(tree), {10}).status();
  REQUIRE(all.message().size() < 2000);
}

}  // namespace
}  // namespace sightline
