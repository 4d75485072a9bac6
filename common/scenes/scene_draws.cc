#include "common/scenes/scene_draws.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/scenes/lexicon.h"

namespace sightline {
namespace {

constexpr absl::string_view kKindNames[] = {"plain", "new_drawing", "new_combination"};
constexpr absl::string_view kChangeNames[] = {
    "none", "colours_swapped", "relation_mirrored", "roles_swapped", "count", "object_replaced"};
constexpr int kScenesToAWord = 3;  // of those that have room for one

int NounCount() {
  return static_cast<int>(Nouns().size());
}

bool HasNoun(const ScenePlan& plan, int noun) {
  return std::any_of(plan.objects.begin(), plan.objects.end(),
                     [noun](const ObjectPlan& object) { return object.noun == noun; });
}

int DrawNewNoun(const ScenePlan& plan, Random* random) {
  int noun;
  do {
    noun = static_cast<int>(random->Below(NounCount()));
  } while (HasNoun(plan, noun));
  return noun;
}

int DrawDrawing(int noun, SceneKind kind, Random* random) {
  const int held_out = Nouns()[noun].drawings - 1;
  return kind == SceneKind::kNewDrawing ? held_out : static_cast<int>(random->Below(held_out));
}

SceneTint DrawTint(int noun, SceneKind kind, Random* random) {
  const SceneTint held_out = HeldOutTint(noun);
  if (kind == SceneKind::kNewCombination) return held_out;
  const int step = 1 + static_cast<int>(random->Below(kTintCount - 1));
  return static_cast<SceneTint>((static_cast<int>(held_out) + step) % kTintCount);
}

int CopyCount(const ScenePlan& plan) {
  int count = 0;
  for (const ObjectPlan& object : plan.objects) count += object.count;
  return count;
}

ObjectPlan DrawObject(const ScenePlan& plan, SceneKind kind, Random* random) {
  ObjectPlan object;
  object.noun = DrawNewNoun(plan, random);
  object.drawing = DrawDrawing(object.noun, kind, random);
  object.tint = DrawTint(object.noun, kind, random);
  object.size = static_cast<SceneSize>(random->Below(kSizeCount));
  return object;
}

ScenePlan::Jitter DrawJitter(Random* random) {
  const int x = static_cast<int>(random->Below(2 * kMaxJitter + 1)) - kMaxJitter;
  const int y = static_cast<int>(random->Below(2 * kMaxJitter + 1)) - kMaxJitter;
  return {x, y};
}

// Counts that are drawn together, so that none of them pays for the others.
void DrawCounts(Random* random, ScenePlan* plan) {
  do {
    for (ObjectPlan& object : plan->objects) {
      object.count = 1 + static_cast<int>(random->Below(kMaxSceneCount));
    }
  } while (CopyCount(*plan) > kMaxSceneCopies);
}

std::string DrawWord(const ScenePlan& plan, Random* random) {
  if (!HasRoomForWord(static_cast<int>(plan.objects.size()), plan.relation)) return "";
  if (random->Below(kScenesToAWord) != 0) return "";
  return std::string(DrawnWords()[random->Below(static_cast<int64_t>(DrawnWords().size()))]);
}

// Whether one of the pair can be one more or one less; then it is.
bool ChangeCount(Random* random, ScenePlan* plan) {
  std::vector<std::pair<int, int>> ways;  // object, and what is added
  for (const int object : {0, 1}) {
    const int count = plan->objects[object].count;
    if (count > 1) ways.push_back({object, -1});
    if (count < kMaxSceneCount && CopyCount(*plan) < kMaxSceneCopies) ways.push_back({object, 1});
  }
  if (ways.empty()) return false;
  const auto [object, added] = ways[random->Below(static_cast<int64_t>(ways.size()))];
  plan->objects[object].count += added;
  return true;
}

void MirrorRelation(ScenePlan* plan) {
  if (plan->relation == SceneRelation::kInFrontOf) {
    std::swap(plan->objects[0], plan->objects[1]);
  } else {
    plan->relation = Mirrored(plan->relation);
  }
}

void ReplaceObject(Random* random, ScenePlan* plan) {
  ObjectPlan& object = plan->objects[random->Below(2)];
  object.noun = DrawNewNoun(*plan, random);
  object.drawing = DrawDrawing(object.noun, SceneKind::kPlain, random);
}

bool IsPlain(const ScenePlan& plan) {
  return std::none_of(plan.objects.begin(), plan.objects.end(), [](const ObjectPlan& object) {
    return object.tint == HeldOutTint(object.noun);
  });
}

// False if a sibling would be the base, or not plain.
bool MakeSiblings(Random* random, SceneFamily* family) {
  const ScenePlan base = (*family)[0];
  family->fill(base);
  const auto sibling = [family](SceneChange change) {
    return &(*family)[static_cast<int>(change)];
  };
  std::vector<ObjectPlan>& tinted = sibling(SceneChange::kColoursSwapped)->objects;
  std::swap(tinted[0].tint, tinted[1].tint);
  MirrorRelation(sibling(SceneChange::kRelationMirrored));
  std::vector<ObjectPlan>& named = sibling(SceneChange::kRolesSwapped)->objects;
  std::swap(named[0].noun, named[1].noun);
  std::swap(named[0].drawing, named[1].drawing);
  const bool counted = ChangeCount(random, sibling(SceneChange::kCount));
  ReplaceObject(random, sibling(SceneChange::kObjectReplaced));
  return counted && base.objects[0].tint != base.objects[1].tint &&
         std::all_of(family->begin(), family->end(), IsPlain);
}

}  // namespace

absl::string_view Name(SceneKind kind) {
  return kKindNames[static_cast<int>(kind)];
}
absl::string_view Name(SceneChange change) {
  return kChangeNames[static_cast<int>(change)];
}

ScenePlan DrawScene(SceneKind kind, Random* random) {
  ScenePlan plan;
  const int64_t objects = 2 + random->Below(kMaxSceneObjects - 1);
  for (int64_t i = 0; i < objects; ++i) plan.objects.push_back(DrawObject(plan, kind, random));
  DrawCounts(random, &plan);
  plan.relation = static_cast<SceneRelation>(random->Below(5));
  plan.line = static_cast<int>(random->Below(2));
  plan.corner = static_cast<int>(random->Below(2));
  for (ScenePlan::Jitter& jitter : plan.jitter) jitter = DrawJitter(random);
  plan.word = DrawWord(plan, random);
  return plan;
}

SceneFamily DrawFamily(Random* random) {
  SceneFamily family;
  do {
    family[0] = DrawScene(SceneKind::kPlain, random);
  } while (!MakeSiblings(random, &family));
  return family;
}

}  // namespace sightline
