#include "loadtest/measure/exact_answers.h"

#include <algorithm>
#include <random>

#include "tests/support/catch.h"

namespace sightline {
namespace {

std::vector<Hit> HitsOf(const std::vector<std::string>& ids) {
  std::vector<Hit> hits;
  for (const std::string& id : ids) hits.emplace_back().item_id = id;
  return hits;
}

// The slow and obvious way.
int Referee(const std::vector<std::string>& nearest, const std::vector<Hit>& hits) {
  int found = 0;
  for (const std::string& id : nearest) {
    for (size_t i = 0; i < hits.size() && i < nearest.size(); ++i) {
      if (hits[i].item_id != id) continue;
      ++found;
      break;
    }
  }
  return found;
}

TEST_CASE("found is what stands among as many first hits, wherever it stands there") {
  const std::vector<std::string> nearest = {"a", "b", "c"};
  REQUIRE(NearestFound(nearest, HitsOf({"a", "b", "c"})) == 3);
  REQUIRE(NearestFound(nearest, HitsOf({"c", "a", "b", "x"})) == 3);
  REQUIRE(NearestFound(nearest, HitsOf({"a", "x", "b", "c"})) == 2);
  REQUIRE(NearestFound(nearest, HitsOf({"x", "y", "z", "a", "b", "c"})) == 0);
  REQUIRE(NearestFound(nearest, HitsOf({"b"})) == 1);
  REQUIRE(NearestFound(nearest, HitsOf({"b", "b", "b"})) == 1);
  REQUIRE(NearestFound(nearest, {}) == 0);
}

TEST_CASE("as many are found as a slow count finds") {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::string> ids;
    for (int i = 0; i < 40; ++i) ids.push_back(std::to_string(i));
    std::shuffle(ids.begin(), ids.end(), random);
    const std::vector<std::string> nearest(ids.begin(), ids.begin() + 1 + random() % 30);
    std::shuffle(ids.begin(), ids.end(), random);
    ids.resize(random() % 40);
    const std::vector<Hit> hits = HitsOf(ids);
    REQUIRE(NearestFound(nearest, hits) == Referee(nearest, hits));
  }
}

TEST_CASE("an answer belongs to its kind and question") {
  ExactAnswers answers;
  answers.Add(0, 1, {"g1", {"a"}});
  answers.Add(1, 1, {"g1", {"b"}});
  REQUIRE(answers.size() == 2);
  REQUIRE(answers.Find(0, 1)->nearest == std::vector<std::string>{"a"});
  REQUIRE(answers.Find(1, 1)->nearest == std::vector<std::string>{"b"});
  REQUIRE(answers.Find(1, 0) == nullptr);
  REQUIRE(answers.Find(2, 1) == nullptr);
}

}  // namespace
}  // namespace sightline
