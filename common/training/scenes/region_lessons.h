// What the net of regions is shown: single drawings in the places that scenes have for them, with
// what each of them is.
//
// A plan of a plain scene says where, how large, and which word; each copy is then a drawing of its
// own, of all nouns and their training drawings equally often.  The last drawing of a noun, which
// is held out, is in none.  Nor is a noun in the tint that is held out for it; and a net that is
// shown its other seven learns that it never has the eighth.  Hence two kinds of lessons: in any
// colour nouns are taught and no tints, in tints tints and no nouns.
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_SCENES_REGION_LESSONS_H_
#define SIGHTLINE_COMMON_TRAINING_SCENES_REGION_LESSONS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "common/base/random.h"
#include "common/scenes/drawing_set.h"
#include "common/scenes/scene_view.h"

namespace sightline {

enum class LessonColours {
  kAny,    // of any hue, saturation 0.35 to 1, value 0.4 to 1
  kTints,  // of the eight tints all but that held out for the noun
};

// A label that is not taught.
inline constexpr int64_t kUntaught = -1;

// Crops with their labels.
struct RegionLessons {
  std::vector<uint8_t> crops;  // kRegionBytes each
  std::vector<float> boxes;    // width and height of each, in canvases
  std::vector<int64_t> classes;
  std::vector<int64_t> tints;  // SceneTint
  std::vector<int64_t> sizes;  // SceneSize

  int64_t count() const { return static_cast<int64_t>(classes.size()); }
};

// Appends crop and box of a proposal, for the net to read.
void AppendSight(const Pixels& canvas, const PixelBox& box, std::vector<uint8_t>* crops,
                 std::vector<float>* boxes);

// Paints a picture of `drawings`, which are LockedDrawings() in the sides of scenes, and appends
// its kProposals crops: false ones are of the class of nothing and have no tint and no size.
// Errors as Compose.
absl::Status AppendLessons(const DrawingSet& drawings, LessonColours colours, Random* random,
                           RegionLessons* lessons);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_SCENES_REGION_LESSONS_H_
