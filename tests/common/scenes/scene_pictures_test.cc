#include "common/scenes/scene_pictures.h"

#include <string>
#include <vector>

#include "common/base/files.h"
#include "common/dataset/folder_reader.h"
#include "common/image/decode.h"
#include "common/scenes/compose.h"
#include "common/scenes/drawings.h"
#include "common/scenes/lexicon.h"
#include "tests/common/scenes/small_scenes.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// As many drawings as the lock has: squares of one colour, so that no package is needed.
DrawingSet Squares() {
  DrawingSet drawings(SceneSides());
  RgbaPixels square;
  square.width = square.height = 60;
  for (size_t i = 0; i < LockedDrawings().size(); ++i) {
    square.rgba.assign(60 * 60 * 4, static_cast<uint8_t>(40 + i % 150));
    for (size_t k = 3; k < square.rgba.size(); k += 4) square.rgba[k] = 255;
    drawings.Add(square);
  }
  return drawings;
}

TEST_CASE("every drawing that a scene may name is locked, and no more") {
  for (const Noun& noun : Nouns()) {
    INFO(noun.id);
    for (int place = 0; place < noun.drawings; ++place) REQUIRE(DrawingNumber(noun.id, place) >= 0);
    REQUIRE(DrawingNumber(noun.id, noun.drawings) == -1);
  }
}

TEST_CASE("every scene is painted as its graph says, copies by their layers") {
  const SceneSet& set = SmallScenes();
  const DrawingSet drawings = Squares();
  int words = 0;
  for (const std::vector<ScenePicture>& split : set) {
    for (const ScenePicture& picture : split) {
      INFO(picture.id);
      const auto composition = CompositionOf(picture.graph);
      INFO(composition.status().ToString());
      REQUIRE(composition.ok());
      REQUIRE(Compose(*composition, drawings).ok());
      size_t copies = 0;
      for (const SceneObject& object : picture.graph.objects) {
        copies += object.copies.size();
        for (const SceneBox& copy : object.copies) {
          bool painted = false;
          for (const PlacedDrawing& placed : composition->drawings) {
            painted =
                painted || (placed.x == copy.x && placed.y == copy.y && placed.side == copy.width &&
                            placed.tint == static_cast<int>(object.tint) &&
                            LockedDrawings()[placed.drawing].noun == Nouns()[object.noun].id);
          }
          REQUIRE(painted);
        }
      }
      REQUIRE(composition->drawings.size() == copies);
      REQUIRE(composition->word.has_value() == !picture.graph.word.text.empty());
      if (composition->word.has_value()) ++words;
    }
  }
  REQUIRE(words > 0);
}

TEST_CASE("what is in front is painted later") {
  SceneGraph scene;
  for (int i = 0; i < 2; ++i) {
    SceneObject object;
    object.noun = i;
    object.size = SceneSize::kLarge;
    object.copies = {{50, 50 + 20 * i, 54, 54}};
    object.layer = 1 - i;
    scene.objects.push_back(object);
  }
  const auto composition = CompositionOf(scene);
  REQUIRE(composition.ok());
  REQUIRE(LockedDrawings()[composition->drawings[0].drawing].noun == Nouns()[1].id);
  REQUIRE(LockedDrawings()[composition->drawings[1].drawing].noun == Nouns()[0].id);
}

TEST_CASE("a drawing or a word that there is not is an error") {
  SceneGraph scene;
  scene.objects.resize(1);
  scene.objects[0].drawing = 100;
  REQUIRE(CompositionOf(scene).status().code() == absl::StatusCode::kInternal);
  scene.objects.clear();
  scene.word = {"TOOLONG", {0, 0, 10, 10}};
  REQUIRE(CompositionOf(scene).status().code() == absl::StatusCode::kInternal);
}

TEST_CASE("a split's pictures are a corpus with captions and the split") {
  const SceneSet& set = SmallScenes();
  const TempDir dir;
  const std::vector<ScenePicture>& pictures = set[static_cast<int>(SceneSplit::kValidation)];
  const absl::Status written = WriteScenePictures(pictures, SceneSplit::kValidation, Squares(),
                                                  dir.path(), /*threads=*/2, UnboundedCall());
  INFO(written.ToString());
  REQUIRE(written.ok());
  FolderOptions options;
  options.root = dir.File("validation");
  options.languages = {"en", "de"};
  const auto reader = NewFolderReader(options);
  const CorpusListing listing = *reader->List();
  REQUIRE(listing.items.size() == pictures.size());
  REQUIRE(listing.rejected.empty());
  for (size_t i = 0; i < pictures.size(); ++i) {
    const CorpusItem& item = listing.items[i];
    REQUIRE(item.item_id == pictures[i].id);
    REQUIRE(item.captions.size() == 10);
    REQUIRE(item.split == Split::kValidation);
    const auto decoded = DecodeImage(*reader->ReadPicture(item, 1 << 20), DecodeLimits());
    REQUIRE(decoded.ok());
    REQUIRE(decoded->rgb == Compose(*CompositionOf(pictures[i].graph), Squares())->rgb);
  }
}

}  // namespace
}  // namespace sightline
