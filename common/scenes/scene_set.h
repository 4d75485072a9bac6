// Sightline Scenes as a whole: its splits, whose pictures are told apart by their captions.
//
// Everything follows from hash(seed, split, unit, attempt).  A unit is ten pictures: a family of
// six and four single ones; of the distractors, which have neither families nor captions, ten
// single ones.
#ifndef SIGHTLINE_COMMON_SCENES_SCENE_SET_H_
#define SIGHTLINE_COMMON_SCENES_SCENE_SET_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/scenes/caption_text.h"
#include "common/scenes/scene_claim.h"
#include "common/scenes/scene_draws.h"
#include "common/scenes/scene_graph.h"

namespace sightline {

enum class SceneSplit { kTrain, kValidation, kTest1k, kTest5k, kDistractors };
inline constexpr int kSceneSplits = 5;
// "train", "validation", "test_1k", "test_5k", "distractors".
absl::string_view Name(SceneSplit split);
// "test_1k/000042".
std::string SceneId(absl::string_view split, int64_t place);

inline constexpr int kCaptionsOfScene = 5;

struct SceneCaption {
  SceneClaim claim;
  CaptionFrame frame = CaptionFrame::kNoun;  // another one for each caption of a picture
};

struct ScenePicture {
  std::string id;     // SceneId()
  int64_t base = -1;  // place of the base of its family; -1: it is single
  SceneChange change = SceneChange::kNone;
  SceneKind kind = SceneKind::kPlain;
  SceneGraph graph;
  std::vector<SceneCaption> captions;  // five; of a distractor none
};

// Which of "plain", "binding", "relation", "count", "new_drawing" and "new_combination" a
// picture belongs to.  Of a family: binding is the base and those with colours or roles swapped,
// relation the base and the mirrored one, count the base and the one with another count; the
// picture with a replaced object is plain, and so are plain single ones.
std::vector<absl::string_view> SlicesOf(const ScenePicture& picture);

struct SceneOptions {
  uint64_t seed = 1;
  // Pictures by SceneSplit: multiples of ten, at most 200 000.
  std::array<int64_t, kSceneSplits> sizes = {30000, 1000, 1000, 5000, 100000};
};

// By SceneSplit, in the order of the ids.
using SceneSet = std::array<std::vector<ScenePicture>, kSceneSplits>;

// What holds of the result:
// - A caption is true of its picture.  In the pools, validation and both tests, it is false of
//   every other picture of its pool and of every distractor; in train of its family's others.
// - Pictures of train and validation, and of the pools all but the last two of a unit, are
//   plain; those two, of tests alone, are a new drawing and a new combination.  So are two of a
//   unit of distractors.  Every caption of a new combination names one.
//
// InvalidArgument for other sizes.  ResourceExhausted if too many scenes are asked for to be
// told apart.  Cancelled when `call` is.
absl::StatusOr<SceneSet> MakeScenes(const SceneOptions& options, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_SCENE_SET_H_
