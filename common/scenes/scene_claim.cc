#include "common/scenes/scene_claim.h"

#include <algorithm>

namespace sightline {
namespace {

const SceneObject* Find(const SceneGraph& scene, int noun) {
  for (const SceneObject& object : scene.objects) {
    if (object.noun == noun) return &object;
  }
  return nullptr;
}

Truth Evaluate(const ObjectClaim& claim, const SceneObject& object) {
  if (claim.tint && *claim.tint != object.tint) return Truth::kFalse;
  if (claim.size && *claim.size != object.size) return Truth::kFalse;
  if (claim.count == object.count) return Truth::kTrue;
  return claim.count == 1 && !claim.counted ? Truth::kUnclear : Truth::kFalse;
}

// The facts that a caption can be about, each from either side where there are two.
std::vector<SceneFact> SayableFacts(const SceneGraph& scene, bool about_pair) {
  std::vector<SceneFact> sayable;
  for (const SceneFact& fact : FactsOf(scene)) {
    if (about_pair && std::max(fact.subject, fact.object) > 1) continue;
    sayable.push_back(fact);
    const SceneRelation mirrored = Mirrored(fact.relation);
    if (mirrored != fact.relation) sayable.push_back({fact.object, mirrored, fact.subject});
  }
  return sayable;
}

int DrawThird(const SceneGraph& scene, const SceneFact& fact, Random* random) {
  std::vector<int> others;
  for (int i = 0; i < static_cast<int>(scene.objects.size()); ++i) {
    if (i != fact.subject && i != fact.object) others.push_back(i);
  }
  if (others.empty()) return -1;
  return others[random->Below(static_cast<int64_t>(others.size()))];
}

}  // namespace

Truth Evaluate(const SceneClaim& claim, const SceneGraph& scene) {
  if (!claim.word.empty() && claim.word != scene.word.text) return Truth::kFalse;
  const SceneObject* objects[3] = {};
  Truth truth = Truth::kTrue;
  for (size_t i = 0; i < claim.objects.size(); ++i) {
    objects[i] = Find(scene, claim.objects[i].noun);
    if (objects[i] == nullptr) return Truth::kFalse;
    truth = std::min(truth, Evaluate(claim.objects[i], *objects[i]));
  }
  for (const SceneFact& fact : claim.relations) {
    truth = std::min(truth, Holds(fact.relation, *objects[fact.subject], *objects[fact.object]));
  }
  return truth;
}

ClaimDraft::ClaimDraft(const SceneGraph& scene, bool about_pair, Random* random) : scene_(scene) {
  const std::vector<SceneFact> facts = SayableFacts(scene, about_pair);
  fact_ = facts[random->Below(static_cast<int64_t>(facts.size()))];
  third_ = DrawThird(scene, fact_, random);
  // Of four: how often a detail is said without need.
  constexpr int kShares[kDetails] = {3, 3, 3, 2, 2, 2, 1, 1, 1, 2, 3};
  for (int detail = 0; detail < kDetails; ++detail) {
    said_[detail] = random->Below(4) < kShares[detail];
    if (!said_[detail]) unsaid_.push_back(detail);
  }
  random->ShuffleFirst(static_cast<int64_t>(unsaid_.size()), &unsaid_);
}

ObjectClaim ClaimDraft::ClaimOf(int place, int object) const {
  const SceneObject& seen = scene_.objects[object];
  ObjectClaim claim;
  claim.noun = seen.noun;
  claim.count = seen.count;
  claim.counted = seen.count > 1 || Says(kOne + place);
  if (Says(kTint + place)) claim.tint = seen.tint;
  if (Says(kSize + place)) claim.size = seen.size;
  return claim;
}

void ClaimDraft::RelateThird(SceneClaim* claim) const {
  const int places[] = {fact_.subject, fact_.object};
  for (const SceneFact& fact : SayableFacts(scene_, /*about_pair=*/false)) {
    for (const int place : {0, 1}) {
      if (fact.subject != third_ || fact.object != places[place]) continue;
      claim->relations.push_back({2, fact.relation, place});
      return;
    }
  }
}

SceneClaim ClaimDraft::Claim() const {
  SceneClaim claim;
  claim.objects = {ClaimOf(0, fact_.subject), ClaimOf(1, fact_.object)};
  claim.relations = {{0, fact_.relation, 1}};
  if (third_ >= 0 && Says(kThird)) {
    claim.objects.push_back(ClaimOf(2, third_));
    RelateThird(&claim);
  }
  if (Says(kWord)) claim.word = scene_.word.text;
  return claim;
}

bool ClaimDraft::SayMore() {
  if (unsaid_.empty()) return false;
  said_[unsaid_.back()] = true;
  unsaid_.pop_back();
  return true;
}

SceneClaim RichestClaim(const SceneGraph& scene) {
  Random random(0);
  ClaimDraft draft(scene, /*about_pair=*/true, &random);
  while (draft.SayMore()) {
  }
  return draft.Claim();
}

}  // namespace sightline
