#include "common/scenes/scene_draws.h"

#include <map>
#include <set>

#include "common/scenes/lexicon.h"
#include "common/scenes/scene_claim.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

const ScenePlan& Of(const SceneFamily& family, SceneChange change) {
  return family[static_cast<int>(change)];
}

// Everything but jitter, which siblings share.
bool SameObject(const ObjectPlan& a, const ObjectPlan& b) {
  return a.noun == b.noun && a.drawing == b.drawing && a.tint == b.tint && a.size == b.size &&
         a.count == b.count;
}

TEST_CASE("scenes have two to four different nouns, at most nine copies, every relation") {
  std::map<size_t, int> objects;
  std::map<SceneRelation, int> relations;
  int words = 0;
  for (int i = 0; i < 1000; ++i) {
    Random random(i);
    const ScenePlan plan = DrawScene(SceneKind::kPlain, &random);
    ++objects[plan.objects.size()];
    ++relations[plan.relation];
    words += !plan.word.empty();
    std::set<int> nouns;
    int copies = 0;
    for (const ObjectPlan& object : plan.objects) {
      nouns.insert(object.noun);
      copies += object.count;
      REQUIRE(object.count >= 1);
      REQUIRE(object.count <= kMaxSceneCount);
    }
    REQUIRE(nouns.size() == plan.objects.size());
    REQUIRE(copies <= kMaxSceneCopies);
  }
  REQUIRE(objects.size() == 3);
  for (const auto& [size, count] : objects) REQUIRE(count > 250);
  REQUIRE(relations.size() == 5);
  for (const auto& [relation, count] : relations) REQUIRE(count > 150);
  REQUIRE(words > 100);
}

TEST_CASE("only new scenes show what is held out, and they show nothing else") {
  for (int i = 0; i < 500; ++i) {
    for (const SceneKind kind :
         {SceneKind::kPlain, SceneKind::kNewDrawing, SceneKind::kNewCombination}) {
      Random random(i);
      for (const ObjectPlan& object : DrawScene(kind, &random).objects) {
        const int held_out = Nouns()[object.noun].drawings - 1;
        REQUIRE(object.drawing <= held_out);
        REQUIRE((object.drawing == held_out) == (kind == SceneKind::kNewDrawing));
        REQUIRE((object.tint == HeldOutTint(object.noun)) == (kind == SceneKind::kNewCombination));
      }
    }
  }
}

TEST_CASE("siblings differ from their base in the one thing that they are named for") {
  for (int i = 0; i < 500; ++i) {
    Random random(i);
    const SceneFamily family = DrawFamily(&random);
    const ScenePlan& base = Of(family, SceneChange::kNone);

    const ScenePlan& colours = Of(family, SceneChange::kColoursSwapped);
    REQUIRE(colours.objects[0].tint == base.objects[1].tint);
    REQUIRE(colours.objects[1].tint == base.objects[0].tint);
    REQUIRE(colours.objects[0].noun == base.objects[0].noun);
    REQUIRE(colours.objects[0].tint != colours.objects[1].tint);

    const ScenePlan& roles = Of(family, SceneChange::kRolesSwapped);
    REQUIRE(roles.objects[0].noun == base.objects[1].noun);
    REQUIRE(roles.objects[0].drawing == base.objects[1].drawing);
    REQUIRE(roles.objects[0].tint == base.objects[0].tint);
    REQUIRE(roles.objects[0].count == base.objects[0].count);

    const SceneGraph mirrored = LayOut(Of(family, SceneChange::kRelationMirrored));
    const SceneGraph first = LayOut(base);
    SceneClaim claim;
    claim.objects.resize(2);
    for (const int object : {0, 1}) {
      claim.objects[object].noun = base.objects[object].noun;
      claim.objects[object].count = base.objects[object].count;
    }
    claim.relations = {{0, base.relation, 1}};
    REQUIRE(Evaluate(claim, first) == Truth::kTrue);
    REQUIRE(Evaluate(claim, mirrored) == Truth::kFalse);

    int difference = 0, replaced = 0;
    for (const int object : {0, 1}) {
      const int count = Of(family, SceneChange::kCount).objects[object].count;
      difference += std::abs(count - base.objects[object].count);
      const ObjectPlan& other = Of(family, SceneChange::kObjectReplaced).objects[object];
      replaced += other.noun != base.objects[object].noun;
      REQUIRE(other.tint == base.objects[object].tint);
    }
    REQUIRE(difference == 1);
    REQUIRE(replaced == 1);

    for (const ScenePlan& sibling : family) {
      REQUIRE(sibling.word == base.word);
      for (size_t object = 2; object < base.objects.size(); ++object) {
        REQUIRE(SameObject(sibling.objects[object], base.objects[object]));
      }
      for (const ObjectPlan& object : sibling.objects) {
        REQUIRE(object.tint != HeldOutTint(object.noun));
        REQUIRE(object.drawing < Nouns()[object.noun].drawings - 1);
      }
    }
  }
}

TEST_CASE("all that can be said of one of a family is false of the others") {
  for (int i = 0; i < 300; ++i) {
    Random random(i);
    const SceneFamily family = DrawFamily(&random);
    for (int a = 0; a < kFamilySize; ++a) {
      const SceneClaim claim = RichestClaim(LayOut(family[a]));
      for (int b = 0; b < kFamilySize; ++b) {
        INFO(i << ": " << Name(static_cast<SceneChange>(a)) << " and "
               << Name(static_cast<SceneChange>(b)));
        REQUIRE((Evaluate(claim, LayOut(family[b])) == Truth::kFalse) == (a != b));
      }
    }
  }
}

}  // namespace
}  // namespace sightline
