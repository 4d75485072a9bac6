#include "common/training/scenes/region_lessons.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "common/scenes/lexicon.h"
#include "common/scenes/proposals.h"
#include "common/scenes/region_crop.h"
#include "common/training/scenes/region_classes.h"
#include "tests/common/scenes/some_rasters.h"
#include "tests/common/training/scenes/scene_drawings.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

RegionLessons Lessons(const DrawingSet& drawings, LessonColours colours, int pictures,
                      uint64_t seed = 1) {
  Random random(seed);
  RegionLessons lessons;
  for (int i = 0; i < pictures; ++i) {
    const absl::Status status = AppendLessons(drawings, colours, &random, &lessons);
    INFO(status.ToString());
    REQUIRE(status.ok());
  }
  return lessons;
}

// A set of which some drawings have no pixel, so that their squares stay empty.
template <typename IsBlank>
DrawingSet PartlyBlankDrawings(const IsBlank& is_blank) {
  DrawingSet drawings(SceneSides());
  for (size_t i = 0; i < LockedDrawings().size(); ++i) {
    drawings.Add(PlainRaster(60, 60, 0, 0, 0, is_blank(static_cast<int>(i)) ? 0 : 255));
  }
  return drawings;
}

// Whether the middle of a crop has the colour of the canvas.
bool ShowsBlank(const RegionLessons& lessons, int64_t i) {
  const uint8_t* const crop = &lessons.crops[i * kRegionBytes];
  const int middle = kRegionSide / 2 * kRegionSide + kRegionSide / 2;
  return crop[middle] == kCanvasColour.red &&
         crop[kRegionSide * kRegionSide + middle] == kCanvasColour.green &&
         crop[2 * kRegionSide * kRegionSide + middle] == kCanvasColour.blue;
}

TEST_CASE("there is a class for each noun, and one for nothing") {
  REQUIRE(kRegionClasses == static_cast<int>(Nouns().size()) + 1);
  REQUIRE(NounOfClass(ClassOfNoun(17)) == 17);
}

TEST_CASE("lessons have twelve crops a picture, of which three are of nothing") {
  const DrawingSet drawings = MadeUpSceneDrawings();
  const RegionLessons lessons = Lessons(drawings, LessonColours::kAny, 5);
  REQUIRE(lessons.count() == 5 * kProposals);
  REQUIRE(lessons.crops.size() == size_t{5} * kProposals * kRegionBytes);
  REQUIRE(lessons.boxes.size() == size_t{5} * kProposals * 2);
  REQUIRE(std::count(lessons.classes.begin(), lessons.classes.end(), kNothing) ==
          5 * kFalseProposals);
  for (int64_t i = 0; i < lessons.count(); ++i) {
    REQUIRE((lessons.sizes[i] == kUntaught) == (lessons.classes[i] == kNothing));
    REQUIRE(lessons.tints[i] == kUntaught);
    for (const float side : {lessons.boxes[2 * i], lessons.boxes[2 * i + 1]}) {
      REQUIRE(side > 0);
      REQUIRE(side < 0.5f);
    }
    if (lessons.sizes[i] == static_cast<int64_t>(SceneSize::kLarge)) {
      REQUIRE(lessons.boxes[2 * i] > 38.0f / kCanvasSide);
    }
    if (lessons.sizes[i] == static_cast<int64_t>(SceneSize::kSmall)) {
      REQUIRE(lessons.boxes[2 * i] < 38.0f / kCanvasSide);
    }
  }
}

TEST_CASE("in tints tints are taught and no nouns, and every tint is shown") {
  const RegionLessons lessons = Lessons(MadeUpSceneDrawings(), LessonColours::kTints, 40);
  std::map<int64_t, int> tints;
  for (int64_t i = 0; i < lessons.count(); ++i) {
    REQUIRE(lessons.classes[i] == kUntaught);
    REQUIRE((lessons.tints[i] == kUntaught) == (lessons.sizes[i] == kUntaught));
    ++tints[lessons.tints[i]];
  }
  REQUIRE(tints.size() == kTintCount + 1);
}

TEST_CASE("all nouns are taught, about equally often") {
  const RegionLessons lessons = Lessons(MadeUpSceneDrawings(), LessonColours::kAny, 400);
  std::map<int64_t, int> found;
  for (const int64_t taught : lessons.classes) ++found[taught];
  REQUIRE(found.size() == kRegionClasses);
  for (const auto& [taught, count] : found) {
    INFO(taught);
    if (taught == kNothing) continue;
    // 25 of each are expected.
    REQUIRE(count > 4);
    REQUIRE(count < 80);
  }
}

TEST_CASE("the drawing that is held out is never shown, and the others are") {
  constexpr int kNoun = 11;
  const Noun& noun = Nouns()[kNoun];
  const int held_out = DrawingNumber(noun.id, noun.drawings - 1);
  const auto shown_blank = [&](const DrawingSet& drawings) {
    const RegionLessons lessons = Lessons(drawings, LessonColours::kAny, 600);
    int taught = 0, blank = 0;
    for (int64_t i = 0; i < lessons.count(); ++i) {
      if (lessons.classes[i] != ClassOfNoun(kNoun)) continue;
      ++taught;
      blank += ShowsBlank(lessons, i);
    }
    REQUIRE(taught > 10);
    return static_cast<double>(blank) / taught;
  };
  REQUIRE(shown_blank(PartlyBlankDrawings([&](int i) { return i == held_out; })) == 0);
  REQUIRE(shown_blank(PartlyBlankDrawings(
              [&](int i) { return i != held_out && LockedDrawings()[i].noun == noun.id; })) > 0.5);
}

TEST_CASE("no noun is shown in the tint that is held out for it") {
  constexpr int kNoun = 11;
  const DrawingSet drawings =
      PartlyBlankDrawings([&](int i) { return LockedDrawings()[i].noun != Nouns()[kNoun].id; });
  const RegionLessons lessons = Lessons(drawings, LessonColours::kTints, 1500);
  std::vector<int> seen(kTintCount, 0);
  for (int64_t i = 0; i < lessons.count(); ++i) {
    if (lessons.tints[i] != kUntaught && !ShowsBlank(lessons, i)) ++seen[lessons.tints[i]];
  }
  const auto held_out = static_cast<size_t>(HeldOutTint(kNoun));
  for (size_t tint = 0; tint < kTintCount; ++tint) {
    INFO(tint << ": " << seen[tint] << ", held out: " << seen[held_out]);
    // A drawing without pixels, of that tint, may stand in front of one of the noun's.
    if (tint != held_out) REQUIRE(seen[held_out] * 4 < seen[tint]);
  }
}

TEST_CASE("equal numbers give equal lessons") {
  const DrawingSet drawings = MadeUpSceneDrawings();
  REQUIRE(Lessons(drawings, LessonColours::kAny, 3).crops ==
          Lessons(drawings, LessonColours::kAny, 3).crops);
  REQUIRE(Lessons(drawings, LessonColours::kAny, 3).crops !=
          Lessons(drawings, LessonColours::kAny, 3, 2).crops);
}

TEST_CASE("drawings that are not the lock's are an error") {
  Random random(1);
  RegionLessons lessons;
  REQUIRE(absl::IsInvalidArgument(
      AppendLessons(SomeDrawings(), LessonColours::kAny, &random, &lessons)));
}

}  // namespace
}  // namespace sightline
