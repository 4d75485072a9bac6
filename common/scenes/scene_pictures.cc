#include "common/scenes/scene_pictures.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/work_on_threads.h"
#include "common/dataset/splits.h"
#include "common/image/encode_png.h"
#include "common/scenes/caption_text.h"
#include "common/scenes/compose.h"
#include "common/scenes/drawings.h"
#include "common/scenes/glyphs.h"
#include "common/scenes/lexicon.h"
#include "common/scenes/scene_files.h"

namespace sightline {
namespace {

using Json = nlohmann::ordered_json;

absl::StatusOr<PlacedWord> WordOf(const SceneWord& word) {
  PlacedWord placed;
  placed.text = word.text;
  placed.scale = LargestScale(word.text, word.box.width, word.box.height);
  if (placed.scale == 0) {
    return absl::InternalError(absl::StrCat("the word ", word.text, " does not fit ",
                                            word.box.width, " x ", word.box.height, " pixels"));
  }
  placed.x = word.box.x + (word.box.width - TextWidth(word.text, placed.scale)) / 2;
  placed.y = word.box.y + (word.box.height - kGlyphHeight * placed.scale) / 2;
  return placed;
}

// "test_1k/000042" -> "000042.png".
std::string FileOf(const ScenePicture& picture) {
  return absl::StrCat(picture.id.substr(picture.id.rfind('/') + 1), ".png");
}

Split SplitOf(SceneSplit split) {
  switch (split) {
    case SceneSplit::kTrain:
      return Split::kTrain;
    case SceneSplit::kValidation:
      return Split::kValidation;
    default:
      return Split::kHeldOut;
  }
}

std::string CaptionLine(const ScenePicture& picture, SceneSplit split) {
  const ItemLine line = ItemLineOf(picture, split);
  Json captions = Json::array();
  for (const CorpusCaption& caption : line.captions) {
    captions.push_back({{"language", caption.language}, {"text", caption.text}});
  }
  return Json({{"path", FileOf(picture)},
               {"id", line.id},
               {"split", std::string(SplitName(*line.split))},
               {"captions", std::move(captions)}})
      .dump();
}

}  // namespace

ItemLine ItemLineOf(const ScenePicture& picture, SceneSplit split) {
  ItemLine line;
  line.id = picture.id;
  line.split = SplitOf(split);
  for (const absl::string_view language : CaptionLanguages()) {
    for (const SceneCaption& caption : picture.captions) {
      line.captions.push_back({std::string(language), Say(language, caption.claim, caption.frame)});
    }
  }
  return line;
}

std::vector<int> SceneSides() {
  return {SideOf(SceneSize::kSmall), SideOf(SceneSize::kMedium), SideOf(SceneSize::kLarge)};
}

absl::StatusOr<Composition> CompositionOf(const SceneGraph& scene) {
  std::vector<const SceneObject*> by_layer;
  for (const SceneObject& object : scene.objects) by_layer.push_back(&object);
  std::stable_sort(by_layer.begin(), by_layer.end(),
                   [](const SceneObject* a, const SceneObject* b) { return a->layer < b->layer; });
  Composition composition;
  for (const SceneObject* object : by_layer) {
    const absl::string_view noun = Nouns()[object->noun].id;
    const int drawing = DrawingNumber(noun, object->drawing);
    if (drawing < 0) {
      return absl::InternalError(
          absl::StrCat("there is no drawing ", object->drawing, " of ", noun));
    }
    for (const SceneBox& copy : object->copies) {
      composition.drawings.push_back(
          {drawing, static_cast<int>(object->tint), SideOf(object->size), copy.x, copy.y});
    }
  }
  if (!scene.word.text.empty()) {
    ASSIGN_OR_RETURN(composition.word, WordOf(scene.word));
  }
  return composition;
}

absl::Status WriteScenePictures(const std::vector<ScenePicture>& pictures, SceneSplit split,
                                const DrawingSet& drawings, absl::string_view directory,
                                int threads, const CallContext& call) {
  const std::string folder = JoinPath(directory, Name(split));
  RETURN_IF_ERROR(MakeDirectories(folder));
  RETURN_IF_ERROR(WorkOnThreads(threads, pictures.size(), [&](size_t i) -> absl::Status {
    RETURN_IF_ERROR(call.Check("paint scenes"));
    ASSIGN_OR_RETURN(const Composition composition, CompositionOf(pictures[i].graph));
    ASSIGN_OR_RETURN(const Pixels pixels, Compose(composition, drawings));
    ASSIGN_OR_RETURN(const std::string png, PngFileOf(pixels));
    return WriteFileAtomically(JoinPath(folder, FileOf(pictures[i])), png);
  }));
  std::string lines;
  for (const ScenePicture& picture : pictures) {
    absl::StrAppend(&lines, CaptionLine(picture, split), "\n");
  }
  return WriteFileAtomically(JoinPath(folder, kPaintedCaptions), lines);
}

}  // namespace sightline
