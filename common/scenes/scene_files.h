// Scenes as files: a JSON object a picture a line, and the SHA-256 of all.
//
//   {"id": "test_1k/000001", "base": "test_1k/000000", "change": "colours_swapped",
//    "kind": "plain", "slices": ["binding"],
//    "objects": [{"noun": "dog", "drawing": 0, "tint": "red", "size": "small", "count": 2,
//                 "box": [x, y, width, height], "copies": [[x, y, width, height], ...],
//                 "layer": 0}, ...],
//    "facts": [[0, "left_of", 1], ...], "word": {"text": "OPEN", "box": [...]},
//    "captions": [{"claim": {"objects": [{"noun": "dog", "count": 2, "counted": true,
//                                         "tint": "red", "size": "small"}, ...],
//                            "relations": [[0, "left_of", 1]], "word": "OPEN"},
//                  "frame": 0, "en": "...", "de": "...", "fr": "...", "es": "..."}, ...]}
//
// "base" is null of single pictures, "word" if none is drawn in or spoken of, "tint" and "size"
// of a claim if it does not tell.
#ifndef SIGHTLINE_COMMON_SCENES_SCENE_FILES_H_
#define SIGHTLINE_COMMON_SCENES_SCENE_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/scenes/scene_set.h"

namespace sightline {

// Written last, in the form of sha256sum.
inline constexpr absl::string_view kSceneSums = "SHA256SUMS";

// Of a split that is painted: what its pictures are called and what is on them.
inline constexpr absl::string_view kPaintedCaptions = "captions.jsonl";

std::string SceneLine(const ScenePicture& picture);

// What is made of a split's pictures lies beside <split>.jsonl: regions, with box numbers behind
// them or not, and a folder of what is painted.
std::string SceneRegionFile(SceneSplit split, bool boxed);

// Writes <split>.jsonl of each split into `directory`, which is made if need be, then
// SHA256SUMS, and returns what is in the latter.  Each file appears whole or not at all.  What was
// made of a split that was another one goes.  As the disk reports.
absl::StatusOr<std::string> WriteScenes(const SceneSet& set, absl::string_view directory);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_SCENE_FILES_H_
