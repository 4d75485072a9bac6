#include "common/scenes/scene_index.h"

#include <algorithm>

namespace sightline {
namespace {

int64_t PairKey(int noun, int other) {
  return (int64_t{std::min(noun, other)} << 32) | std::max(noun, other);
}

// Calls `take` with the key of each pair of nouns.
template <typename Take>
void ForEachPair(const SceneGraph& scene, const Take& take) {
  for (size_t i = 0; i < scene.objects.size(); ++i) {
    for (size_t j = 0; j < i; ++j) take(PairKey(scene.objects[i].noun, scene.objects[j].noun));
  }
}

}  // namespace

void SceneIndex::Add(const SceneGraph* scene) {
  const int64_t number = size();
  scenes_.push_back(scene);
  ForEachPair(*scene, [&](int64_t key) { by_pair_[key].push_back(number); });
}

absl::Span<const int64_t> SceneIndex::Showing(int noun, int other) const {
  const auto found = by_pair_.find(PairKey(noun, other));
  if (found == by_pair_.end()) return {};
  return found->second;
}

std::vector<int64_t> SceneIndex::NotFalse(const SceneClaim& claim) const {
  std::vector<int64_t> numbers;
  for (const int64_t number : Showing(claim.objects[0].noun, claim.objects[1].noun)) {
    if (Evaluate(claim, *scenes_[number]) != Truth::kFalse) numbers.push_back(number);
  }
  return numbers;
}

bool SceneIndex::IsFalseOfAll(const SceneClaim& claim, int64_t except) const {
  for (const int64_t number : Showing(claim.objects[0].noun, claim.objects[1].noun)) {
    if (number != except && Evaluate(claim, *scenes_[number]) != Truth::kFalse) return false;
  }
  return true;
}

std::vector<int64_t> SceneIndex::SharingPair(const SceneGraph& scene) const {
  std::vector<int64_t> numbers;
  ForEachPair(scene, [&](int64_t key) {
    const auto found = by_pair_.find(key);
    if (found == by_pair_.end()) return;
    numbers.insert(numbers.end(), found->second.begin(), found->second.end());
  });
  return numbers;
}

}  // namespace sightline
