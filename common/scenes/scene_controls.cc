#include "common/scenes/scene_controls.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_format.h"
#include "common/scenes/scene_index.h"

namespace sightline {
namespace {

// Whether a caption has the best score that there is on a scene.
using IsBest = std::function<bool(const SceneClaim& claim, const SceneGraph& scene)>;

// For pictures of the pool: of each caption how many pictures share the best score, and of each
// picture how many captions do.  A caption always has it on its own picture.
struct Ties {
  std::vector<std::vector<int64_t>> pictures_of_captions;  // by picture and caption
  std::vector<int64_t> captions_of_pictures;
};

// Every claim names two nouns, which a picture with the best score shows: the others need not be
// looked at.
Ties CountTies(const std::vector<ScenePicture>& pool, const SceneIndex& index,
               const IsBest& is_best) {
  Ties ties;
  ties.captions_of_pictures.resize(pool.size());
  for (const ScenePicture& picture : pool) {
    std::vector<int64_t> counts;
    for (const SceneCaption& caption : picture.captions) {
      const SceneClaim& claim = caption.claim;
      int64_t count = 0;
      for (const int64_t i : index.Showing(claim.objects[0].noun, claim.objects[1].noun)) {
        if (!is_best(claim, index.scene(i))) continue;
        ++count;
        if (i < static_cast<int64_t>(pool.size())) ++ties.captions_of_pictures[i];
      }
      counts.push_back(count);
    }
    ties.pictures_of_captions.push_back(std::move(counts));
  }
  return ties;
}

ControlRecall RecallOf(const std::vector<ScenePicture>& pool, const Ties& ties,
                       bool families_only) {
  ControlRecall recall;
  int64_t captions = 0;
  for (size_t i = 0; i < pool.size(); ++i) {
    if (families_only && pool[i].base < 0) continue;
    ++recall.pictures;
    for (const int64_t tied : ties.pictures_of_captions[i]) {
      ++captions;
      recall.text_to_image += 1.0 / static_cast<double>(tied);
    }
    recall.image_to_text += static_cast<double>(pool[i].captions.size()) /
                            static_cast<double>(ties.captions_of_pictures[i]);
  }
  if (recall.pictures == 0) return recall;
  recall.text_to_image /= static_cast<double>(captions);
  recall.image_to_text /= static_cast<double>(recall.pictures);
  return recall;
}

bool Shows(const SceneGraph& scene, const ObjectClaim& claim) {
  const auto any = [&scene](const auto& holds) {
    return std::any_of(scene.objects.begin(), scene.objects.end(), holds);
  };
  return any([&](const SceneObject& object) { return object.noun == claim.noun; }) &&
         (!claim.tint ||
          any([&](const SceneObject& object) { return object.tint == *claim.tint; }));
}

bool IsTrue(const SceneClaim& claim, const SceneGraph& scene) {
  return Evaluate(claim, scene) == Truth::kTrue;
}

bool ShowsAll(const SceneClaim& claim, const SceneGraph& scene) {
  return std::all_of(claim.objects.begin(), claim.objects.end(),
                     [&scene](const ObjectClaim& object) { return Shows(scene, object); });
}

std::string Line(absl::string_view name, const ControlRecall& recall) {
  return absl::StrFormat("%-16s %7d pictures  R@1 text to image %5.1f  image to text %5.1f\n", name,
                         recall.pictures, 100 * recall.text_to_image, 100 * recall.image_to_text);
}

}  // namespace

SceneControls MeasureControls(const std::vector<ScenePicture>& pool,
                              const std::vector<ScenePicture>& distractors) {
  SceneIndex index;
  for (const ScenePicture& picture : pool) index.Add(&picture.graph);
  for (const ScenePicture& picture : distractors) index.Add(&picture.graph);
  SceneControls controls;
  controls.oracle = RecallOf(pool, CountTies(pool, index, IsTrue), /*families_only=*/false);
  const Ties bag = CountTies(pool, index, ShowsAll);
  controls.bag_of_families = RecallOf(pool, bag, /*families_only=*/true);
  controls.bag = RecallOf(pool, bag, /*families_only=*/false);
  return controls;
}

std::string Report(const SceneControls& controls) {
  return Line("oracle", controls.oracle) + Line("bag, families", controls.bag_of_families) +
         Line("bag, all", controls.bag);
}

}  // namespace sightline
