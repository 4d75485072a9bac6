#include "common/scenes/scene_claim.h"

#include <set>

#include "common/scenes/scene_draws.h"
#include "common/scenes/scene_index.h"
#include "common/scenes/scene_plan.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// Two small red ones of noun 3 to the left of a large blue one of noun 5, and "OPEN".
SceneGraph Example() {
  ScenePlan plan;
  plan.objects = {{3, 0, SceneTint::kRed, SceneSize::kSmall, 2},
                  {5, 0, SceneTint::kBlue, SceneSize::kLarge, 1}};
  plan.relation = SceneRelation::kLeftOf;
  plan.word = "OPEN";
  return LayOut(plan);
}

SceneClaim Claim() {
  SceneClaim claim;
  claim.objects.resize(2);
  claim.objects[0].noun = 3;
  claim.objects[0].count = 2;
  claim.objects[0].counted = true;
  claim.objects[1].noun = 5;
  claim.relations = {{0, SceneRelation::kLeftOf, 1}};
  return claim;
}

TEST_CASE("a claim is true if all that it says is") {
  SceneClaim claim = Claim();
  REQUIRE(Evaluate(claim, Example()) == Truth::kTrue);
  claim.objects[0].tint = SceneTint::kRed;
  claim.objects[1].size = SceneSize::kLarge;
  claim.word = "OPEN";
  REQUIRE(Evaluate(claim, Example()) == Truth::kTrue);
}

TEST_CASE("a claim is false if anything that it says is") {
  const auto falsified = [](const auto& change) {
    SceneClaim claim = Claim();
    change(&claim);
    return Evaluate(claim, Example()) == Truth::kFalse;
  };
  REQUIRE(falsified([](SceneClaim* claim) { claim->objects[0].noun = 4; }));
  REQUIRE(falsified([](SceneClaim* claim) { claim->objects[0].tint = SceneTint::kBlue; }));
  REQUIRE(falsified([](SceneClaim* claim) { claim->objects[1].size = SceneSize::kSmall; }));
  REQUIRE(falsified([](SceneClaim* claim) { claim->objects[0].count = 3; }));
  REQUIRE(falsified([](SceneClaim* claim) { claim->objects[1].count = 2; }));
  REQUIRE(
      falsified([](SceneClaim* claim) { claim->relations[0].relation = SceneRelation::kRightOf; }));
  REQUIRE(falsified([](SceneClaim* claim) { claim->word = "CLOSED"; }));
}

TEST_CASE("of many, that there is a thing is unclear, and that there is one is false") {
  SceneClaim claim = Claim();
  claim.objects[0].count = 1;
  claim.objects[0].counted = false;
  REQUIRE(Evaluate(claim, Example()) == Truth::kUnclear);
  claim.objects[0].counted = true;
  REQUIRE(Evaluate(claim, Example()) == Truth::kFalse);
}

TEST_CASE("what is drafted is true, at first and whatever more is said") {
  for (int i = 0; i < 300; ++i) {
    Random random(i);
    const SceneGraph scene = LayOut(DrawScene(SceneKind::kPlain, &random));
    ClaimDraft draft(scene, i % 2 == 0, &random);
    do {
      REQUIRE(Evaluate(draft.Claim(), scene) == Truth::kTrue);
    } while (draft.SayMore());
    REQUIRE(Evaluate(RichestClaim(scene), scene) == Truth::kTrue);
  }
}

TEST_CASE("the richest claim tells tints, sizes, counts, a third object and the word") {
  for (int i = 0; i < 100; ++i) {
    Random random(i);
    const SceneGraph scene = LayOut(DrawScene(SceneKind::kPlain, &random));
    const SceneClaim claim = RichestClaim(scene);
    REQUIRE(claim.objects.size() == std::min<size_t>(3, scene.objects.size()));
    for (const ObjectClaim& object : claim.objects) {
      REQUIRE((object.tint && object.size && object.counted));
    }
    REQUIRE(claim.word == scene.word.text);
    const std::set<int> pair = {claim.objects[0].noun, claim.objects[1].noun};
    REQUIRE(pair == std::set<int>{scene.objects[0].noun, scene.objects[1].noun});
  }
}

TEST_CASE("the index finds what a look at every scene finds") {
  std::vector<SceneGraph> scenes;
  for (int i = 0; i < 400; ++i) {
    Random random(i / 2);  // everything twice
    scenes.push_back(LayOut(DrawScene(SceneKind::kPlain, &random)));
  }
  SceneIndex index;
  for (const SceneGraph& scene : scenes) index.Add(&scene);
  for (int i = 0; i < 400; i += 3) {
    Random random(1000 + i);
    const SceneClaim claim = ClaimDraft(scenes[i], false, &random).Claim();
    std::vector<int64_t> expected;
    for (int j = 0; j < 400; ++j) {
      if (Evaluate(claim, scenes[j]) != Truth::kFalse) expected.push_back(j);
    }
    REQUIRE(expected.size() >= 2);
    REQUIRE(index.NotFalse(claim) == expected);
    REQUIRE_FALSE(index.IsFalseOfAll(claim));
    REQUIRE_FALSE(index.IsFalseOfAll(claim, i));
  }
}

}  // namespace
}  // namespace sightline
