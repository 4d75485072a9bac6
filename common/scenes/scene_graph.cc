#include "common/scenes/scene_graph.h"

#include <cstdlib>

namespace sightline {
namespace {

constexpr absl::string_view kTintNames[] = {"red",  "orange", "yellow", "green",
                                            "blue", "purple", "pink",   "brown"};
constexpr absl::string_view kSizeNames[] = {"small", "medium", "large"};
constexpr absl::string_view kRelationNames[] = {"left_of", "right_of", "above", "below",
                                                "in_front_of"};
constexpr int kSides[] = {28, 40, 54};

// Twice the way from the center of `a` to that of `b`.
struct Way {
  int x, y;
};
Way Between(const SceneBox& a, const SceneBox& b) {
  return {2 * b.x + b.width - 2 * a.x - a.width, 2 * b.y + b.height - 2 * a.y - a.height};
}

// `ahead` leads from the subject in the relation's direction, `aside` across it.
Truth Directed(int ahead, int aside, bool apart) {
  if (ahead <= 0 || aside >= 4 * ahead) return Truth::kFalse;
  return apart && ahead >= 4 * aside ? Truth::kTrue : Truth::kUnclear;
}

}  // namespace

absl::string_view Name(SceneTint tint) {
  return kTintNames[static_cast<int>(tint)];
}
absl::string_view Name(SceneSize size) {
  return kSizeNames[static_cast<int>(size)];
}
absl::string_view Name(SceneRelation relation) {
  return kRelationNames[static_cast<int>(relation)];
}

SceneRelation Mirrored(SceneRelation relation) {
  switch (relation) {
    case SceneRelation::kLeftOf:
      return SceneRelation::kRightOf;
    case SceneRelation::kRightOf:
      return SceneRelation::kLeftOf;
    case SceneRelation::kAbove:
      return SceneRelation::kBelow;
    case SceneRelation::kBelow:
      return SceneRelation::kAbove;
    case SceneRelation::kInFrontOf:
      break;
  }
  return relation;
}

int SideOf(SceneSize size) {
  return kSides[static_cast<int>(size)];
}

bool operator==(const SceneBox& a, const SceneBox& b) {
  return a.x == b.x && a.y == b.y && a.width == b.width && a.height == b.height;
}

bool Overlap(const SceneBox& a, const SceneBox& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

Truth Holds(SceneRelation relation, const SceneObject& subject, const SceneObject& object) {
  const bool overlap = Overlap(subject.box, object.box);
  const Way way = Between(subject.box, object.box);
  switch (relation) {
    case SceneRelation::kLeftOf:
      return Directed(way.x, std::abs(way.y), !overlap);
    case SceneRelation::kRightOf:
      return Directed(-way.x, std::abs(way.y), !overlap);
    case SceneRelation::kAbove:
      return Directed(way.y, std::abs(way.x), !overlap);
    case SceneRelation::kBelow:
      return Directed(-way.y, std::abs(way.x), !overlap);
    case SceneRelation::kInFrontOf:
      break;
  }
  return overlap && subject.layer > object.layer ? Truth::kTrue : Truth::kFalse;
}

std::vector<SceneFact> FactsOf(const SceneGraph& scene) {
  std::vector<SceneFact> facts;
  const int count = static_cast<int>(scene.objects.size());
  for (int subject = 0; subject < count; ++subject) {
    for (int object = 0; object < count; ++object) {
      if (subject == object) continue;
      for (const SceneRelation relation :
           {SceneRelation::kLeftOf, SceneRelation::kAbove, SceneRelation::kInFrontOf}) {
        if (Holds(relation, scene.objects[subject], scene.objects[object]) == Truth::kTrue) {
          facts.push_back({subject, relation, object});
        }
      }
    }
  }
  return facts;
}

}  // namespace sightline
