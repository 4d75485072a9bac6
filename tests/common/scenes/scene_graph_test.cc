#include "common/scenes/scene_graph.h"

#include "common/scenes/scene_plan.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

SceneObject At(int x, int y, int side, int layer = 0) {
  SceneObject object;
  object.box = {x, y, side, side};
  object.layer = layer;
  return object;
}

TEST_CASE("a relation in one direction is true of objects in a line, and never of both") {
  const SceneObject left = At(10, 50, 40), right = At(120, 60, 40);
  REQUIRE(Holds(SceneRelation::kLeftOf, left, right) == Truth::kTrue);
  REQUIRE(Holds(SceneRelation::kRightOf, right, left) == Truth::kTrue);
  REQUIRE(Holds(SceneRelation::kRightOf, left, right) == Truth::kFalse);
  REQUIRE(Holds(SceneRelation::kLeftOf, right, left) == Truth::kFalse);
  REQUIRE(Holds(SceneRelation::kAbove, left, right) == Truth::kFalse);
  REQUIRE(Holds(SceneRelation::kBelow, left, right) == Truth::kFalse);
  const SceneObject high = At(50, 10, 40), low = At(45, 130, 54);
  REQUIRE(Holds(SceneRelation::kAbove, high, low) == Truth::kTrue);
  REQUIRE(Holds(SceneRelation::kBelow, low, high) == Truth::kTrue);
  REQUIRE(Holds(SceneRelation::kBelow, high, low) == Truth::kFalse);
  REQUIRE(Holds(SceneRelation::kLeftOf, low, high) == Truth::kFalse);
}

TEST_CASE("what lies diagonally is neither true nor false") {
  const SceneObject a = At(10, 10, 40), b = At(120, 120, 40);
  REQUIRE(Holds(SceneRelation::kLeftOf, a, b) == Truth::kUnclear);
  REQUIRE(Holds(SceneRelation::kAbove, a, b) == Truth::kUnclear);
  REQUIRE(Holds(SceneRelation::kRightOf, a, b) == Truth::kFalse);
  REQUIRE(Holds(SceneRelation::kBelow, a, b) == Truth::kFalse);
}

TEST_CASE("four to one is the line between true and unclear, and between unclear and false") {
  REQUIRE(Holds(SceneRelation::kLeftOf, At(0, 0, 20), At(100, 25, 20)) == Truth::kTrue);
  REQUIRE(Holds(SceneRelation::kLeftOf, At(0, 0, 20), At(100, 26, 20)) == Truth::kUnclear);
  REQUIRE(Holds(SceneRelation::kLeftOf, At(0, 0, 20), At(26, 100, 20)) == Truth::kUnclear);
  REQUIRE(Holds(SceneRelation::kLeftOf, At(0, 0, 20), At(25, 100, 20)) == Truth::kFalse);
}

TEST_CASE("in front of is what overlaps and is painted later; of above it leaves a doubt") {
  const SceneObject back = At(50, 50, 54), front = At(50, 83, 54, /*layer=*/1);
  REQUIRE(Holds(SceneRelation::kInFrontOf, front, back) == Truth::kTrue);
  REQUIRE(Holds(SceneRelation::kInFrontOf, back, front) == Truth::kFalse);
  REQUIRE(Holds(SceneRelation::kInFrontOf, At(50, 104, 54, 1), back) == Truth::kFalse);
  REQUIRE(Holds(SceneRelation::kAbove, back, front) == Truth::kUnclear);
}

TEST_CASE("mirrored relations are each other's") {
  for (const SceneRelation relation : {SceneRelation::kLeftOf, SceneRelation::kAbove}) {
    REQUIRE(Mirrored(relation) != relation);
    REQUIRE(Mirrored(Mirrored(relation)) == relation);
  }
  REQUIRE(Mirrored(SceneRelation::kInFrontOf) == SceneRelation::kInFrontOf);
}

// Every way to lay out a scene, with the jitter at its ends, and counts and sizes at theirs.
template <typename Check>
void ForEachPlan(const Check& check) {
  for (int objects = 2; objects <= 4; ++objects) {
    for (int bits = 0; bits < 1 << 8; ++bits) {
      for (int relation = 0; relation < 5; ++relation) {
        ScenePlan plan;
        plan.relation = static_cast<SceneRelation>(relation);
        plan.line = bits & 1;
        plan.corner = bits >> 1 & 1;
        for (int i = 0; i < objects; ++i) {
          ObjectPlan object;
          object.noun = i;
          object.size = static_cast<SceneSize>((bits >> 2 & 1) == i % 2 ? 2 : bits >> 3 & 1);
          object.count = (bits >> 4 & 1) == i % 2 ? 4 : 1 + (bits >> 5 & 1) * 2;
          plan.objects.push_back(object);
          const int jitter = (bits >> 6 & 1) == i % 2 ? kMaxJitter : -kMaxJitter;
          plan.jitter[i] = {jitter, bits >> 7 & 1 ? jitter : -jitter};
        }
        if (HasRoomForWord(objects, plan.relation)) plan.word = "OPEN";
        check(plan, LayOut(plan));
      }
    }
  }
}

TEST_CASE("the relation of the pair is true, whatever is drawn") {
  ForEachPlan([](const ScenePlan& plan, const SceneGraph& scene) {
    REQUIRE(Holds(plan.relation, scene.objects[0], scene.objects[1]) == Truth::kTrue);
    for (int other = 0; other < 5; ++other) {
      const auto relation = static_cast<SceneRelation>(other);
      if (relation == plan.relation) continue;
      REQUIRE(Holds(relation, scene.objects[0], scene.objects[1]) != Truth::kTrue);
    }
  });
}

TEST_CASE("everything is on the canvas, and nothing overlaps but a pair in front of each other") {
  const auto on_canvas = [](const SceneBox& box) {
    return box.x >= 0 && box.y >= 0 && box.x + box.width <= kSceneSide &&
           box.y + box.height <= kSceneSide;
  };
  ForEachPlan([&](const ScenePlan& plan, const SceneGraph& scene) {
    for (int i = 0; i < static_cast<int>(scene.objects.size()); ++i) {
      const SceneObject& object = scene.objects[i];
      REQUIRE(on_canvas(object.box));
      REQUIRE(object.copies.size() == static_cast<size_t>(plan.objects[i].count));
      for (size_t a = 0; a < object.copies.size(); ++a) {
        REQUIRE(object.copies[a].width == SideOf(object.size));
        REQUIRE(object.copies[a].height == SideOf(object.size));
        REQUIRE(object.copies[a].x >= object.box.x);
        REQUIRE(object.copies[a].x + object.copies[a].width <= object.box.x + object.box.width);
        REQUIRE(object.copies[a].y >= object.box.y);
        REQUIRE(object.copies[a].y + object.copies[a].height <= object.box.y + object.box.height);
        for (size_t b = 0; b < a; ++b) REQUIRE_FALSE(Overlap(object.copies[a], object.copies[b]));
      }
      for (int j = 0; j < i; ++j) {
        const bool in_front = plan.relation == SceneRelation::kInFrontOf && i == 1;
        REQUIRE(Overlap(object.box, scene.objects[j].box) == in_front);
      }
      REQUIRE_FALSE((!plan.word.empty() && Overlap(object.box, scene.word.box)));
    }
    REQUIRE(scene.word.text == plan.word);
    REQUIRE(on_canvas(scene.word.box));
  });
}

TEST_CASE("of a pair in front of each other every copy in front, or every one behind, overlaps") {
  const auto all_overlap = [](const SceneObject& some, const SceneObject& others) {
    for (const SceneBox& copy : some.copies) {
      bool overlaps = false;
      for (const SceneBox& other : others.copies) overlaps |= Overlap(copy, other);
      if (!overlaps) return false;
    }
    return true;
  };
  ForEachPlan([&](const ScenePlan& plan, const SceneGraph& scene) {
    if (plan.relation != SceneRelation::kInFrontOf) return;
    const SceneObject &front = scene.objects[0], &back = scene.objects[1];
    REQUIRE((all_overlap(front, back) || all_overlap(back, front)));
    REQUIRE(front.box.y >= back.box.y + back.box.height / 2);  // the upper half is seen
  });
}

TEST_CASE("a third object has a true relation to one of the pair") {
  ForEachPlan([](const ScenePlan& plan, const SceneGraph& scene) {
    if (plan.objects.size() != 3) return;
    bool related = false;
    for (const SceneFact& fact : FactsOf(scene)) related |= fact.subject == 2 || fact.object == 2;
    REQUIRE(related);
  });
}

TEST_CASE("facts are what is true, each from one side") {
  ScenePlan plan;
  plan.relation = SceneRelation::kRightOf;
  plan.objects.resize(2);
  const std::vector<SceneFact> facts = FactsOf(LayOut(plan));
  REQUIRE(facts.size() == 1);
  REQUIRE(facts[0].subject == 1);
  REQUIRE(facts[0].relation == SceneRelation::kLeftOf);
  REQUIRE(facts[0].object == 0);
}

}  // namespace
}  // namespace sightline
