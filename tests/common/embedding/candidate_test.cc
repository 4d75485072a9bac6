#include "common/embedding/candidate.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

Candidate Make(std::string id, float score) {
  return {std::move(id), 0, 0, score};
}

bool Same(const Candidate& a, const Candidate& b) {
  return a.item_id == b.item_id && a.shard == b.shard && a.row == b.row && a.score == b.score;
}

// The referee: put everything together and sort.
std::vector<Candidate> SortAll(const std::vector<std::vector<Candidate>>& lists, int top_k) {
  std::vector<Candidate> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  std::sort(all.begin(), all.end(), RanksBefore);
  if (all.size() > static_cast<size_t>(top_k)) all.resize(top_k);
  return all;
}

TEST_CASE("a higher score ranks first, then the bytewise smaller id") {
  REQUIRE(RanksBefore(Make("b", 2), Make("a", 1)));
  REQUIRE(RanksBefore(Make("a", 1), Make("b", 1)));
  REQUIRE(RanksBefore(Make("Z", 1), Make("a", 1)));
  REQUIRE(RanksBefore(Make("a", -0.0f), Make("b", 0)));
  REQUIRE_FALSE(RanksBefore(Make("a", 1), Make("a", 1)));
}

TEST_CASE("merging equals concatenating and sorting, on random lists full of ties") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::vector<Candidate>> lists(random() % 9);
    int64_t row = 0;
    for (size_t shard = 0; shard < lists.size(); ++shard) {
      const size_t length = random() % 40;
      for (size_t i = 0; i < length; ++i, ++row) {
        // Five scores only, and ids in no order of shards or rows.
        const float score = static_cast<float>(random() % 5) - 2;
        lists[shard].push_back({std::to_string(random() % 1000) + "#" + std::to_string(row),
                                static_cast<int>(shard), row, score});
      }
      std::sort(lists[shard].begin(), lists[shard].end(), RanksBefore);
    }
    for (const int top_k : {1, 2, 10, 1000}) {
      const std::vector<Candidate> expected = SortAll(lists, top_k);
      const std::vector<Candidate> merged = MergeTopK(lists, top_k);
      REQUIRE(merged.size() == expected.size());
      REQUIRE(std::equal(merged.begin(), merged.end(), expected.begin(), Same));
    }
  }
}

TEST_CASE("nothing wanted or nothing given is an empty list") {
  REQUIRE(MergeTopK({}, 10).empty());
  REQUIRE(MergeTopK({{}, {}}, 10).empty());
  REQUIRE(MergeTopK({{Make("a", 1)}}, 0).empty());
  REQUIRE(MergeTopK({{Make("a", 1)}}, -1).empty());
}

}  // namespace
}  // namespace sightline
