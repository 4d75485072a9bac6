// Scenes as pictures: from a graph to what is painted, and a split's pictures as a corpus.
#ifndef SIGHTLINE_COMMON_SCENES_SCENE_PICTURES_H_
#define SIGHTLINE_COMMON_SCENES_SCENE_PICTURES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/dataset/item_line.h"
#include "common/scenes/composition.h"
#include "common/scenes/drawing_set.h"
#include "common/scenes/scene_graph.h"
#include "common/scenes/scene_set.h"

namespace sightline {

// The sides of all drawings of scenes.
std::vector<int> SceneSides();

// A scene's copies by layer and its word in the middle of its box, with drawings by their numbers
// among LockedDrawings().  Internal for a noun without such a drawing and a word that does not fit:
// then lexicon and lock contradict each other.
absl::StatusOr<Composition> CompositionOf(const SceneGraph& scene);

// What a corpus says of a picture of `split`: its id, captions in all languages, and the split that
// it is in.
ItemLine ItemLineOf(const ScenePicture& picture, SceneSplit split);

// Writes `split` below `directory`, as a corpus of the kind folder reads it: a PNG a picture,
// <split>/000042.png, and last <split>/captions.jsonl with ids, captions in all languages and the
// split that the pictures are in.  Pictures of an earlier run are written anew.  `threads` paint.
// Errors as CompositionOf, Compose, the disk, and the call.
absl::Status WriteScenePictures(const std::vector<ScenePicture>& pictures, SceneSplit split,
                                const DrawingSet& drawings, absl::string_view directory,
                                int threads, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_SCENE_PICTURES_H_
