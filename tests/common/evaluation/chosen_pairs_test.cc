#include "common/evaluation/chosen_pairs.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int kImages = 9, kCaptions = 30;

MatrixItems Items() {
  MatrixItems items;
  for (int i = 0; i < kImages; ++i) items.images.push_back(std::to_string(i));
  for (int c = 0; c < kCaptions; ++c) {
    items.captions.push_back({"c" + std::to_string(c), c % kImages, c % 2 == 0 ? "en" : "de"});
  }
  items.families.resize(kImages);
  std::iota(items.families.begin(), items.families.end(), 0);
  items.family_count = kImages;
  return items;
}

// With many that tie.
std::vector<float> Scores() {
  std::mt19937 random(7);
  std::vector<float> scores(kImages * kCaptions);
  for (float& score : scores) score = static_cast<float>(random() % 5);
  return scores;
}

// The candidates of one query in the order of a full sort.
void AddBest(const std::vector<int>& candidates, const std::function<float(int)>& score, int depth,
             const std::function<void(int)>& add) {
  std::vector<int> order = candidates;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return score(a) > score(b); });
  for (int i = 0; i < std::min<int>(depth, static_cast<int>(order.size())); ++i) add(order[i]);
}

ChosenPairs Slowly(const std::vector<float>& scores, const std::vector<EvaluationPool>& pools,
                   int depth) {
  std::vector<std::set<int>> chosen(kImages);
  for (const EvaluationPool& pool : pools) {
    for (const int caption : pool.caption_queries) {
      AddBest(
          pool.images, [&](int image) { return scores[image * kCaptions + caption]; }, depth,
          [&](int image) { chosen[image].insert(caption); });
    }
    for (const int image : pool.image_queries) {
      AddBest(
          pool.captions, [&](int caption) { return scores[image * kCaptions + caption]; }, depth,
          [&](int caption) { chosen[image].insert(caption); });
    }
  }
  ChosenPairs pairs;
  for (const auto& captions : chosen) pairs.emplace_back(captions.begin(), captions.end());
  return pairs;
}

TEST_CASE("pairs are chosen as a full sort of every query chooses them, whatever the pools") {
  const MatrixItems items = Items();
  const std::vector<float> scores = Scores();
  const NamedScores named = *NamedScores::Create("be", {ScoreMatrix(scores, kImages, kCaptions)});
  ComputePool threads(2);
  for (const std::string protocol : {"whole", "folds:3"}) {
    const auto whole = *MakePools(*ParseProtocol(protocol), items, "");
    std::vector<EvaluationPool> german;
    for (const EvaluationPool& pool : whole) german.push_back(*InLanguage(pool, items, "de"));
    for (const auto& pools : {whole, german}) {
      for (const int depth : {1, 4, 100}) {
        const auto chosen = ChoosePairs(named, pools, depth, &threads);
        REQUIRE(chosen.ok());
        REQUIRE(*chosen == Slowly(scores, pools, depth));
      }
    }
  }
}

TEST_CASE("pairs within pools are those that a ranking of the pools could read, and no others") {
  const MatrixItems items = Items();
  for (const auto& [protocol, text] : {std::pair<std::string, std::string>{"folds:3", ""},
                                       {"pools:f", "0\t1\n1\t2\t8\n"},
                                       {"distractors:f", "4\n"}}) {
    const auto pools = *MakePools(*ParseProtocol(protocol), items, text);
    // Any scores at all would be chosen, all of them.
    REQUIRE(PairsWithin(pools, kImages) == Slowly(Scores(), pools, kImages * kCaptions));
  }
}

TEST_CASE("a score that is no number is refused") {
  std::vector<float> scores = Scores();
  scores[3 * kCaptions + 4] = std::numeric_limits<float>::quiet_NaN();
  const NamedScores named = *NamedScores::Create("be", {ScoreMatrix(scores, kImages, kCaptions)});
  ComputePool threads(1);
  const auto pools = *MakePools(*ParseProtocol("whole"), Items(), "");
  REQUIRE(absl::IsInvalidArgument(ChoosePairs(named, pools, 2, &threads).status()));
}

}  // namespace
}  // namespace sightline
