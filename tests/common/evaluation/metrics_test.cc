#include "common/evaluation/metrics.h"

#include <random>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("recall counts first relevant hits up to the cutoff, MRR weighs them by rank") {
  // Ranks 1, 2, 5, 6, 20, 21, and one that is not in the list.
  const RetrievalMetrics metrics = Summarize({1, 2, 5, 6, 20, 21, 0});
  REQUIRE(metrics.query_count == 7);
  REQUIRE(metrics.recall_at(1) == Approx(1.0 / 7));
  REQUIRE(metrics.recall_at(5) == Approx(3.0 / 7));
  REQUIRE(metrics.recall_at(10) == Approx(4.0 / 7));
  REQUIRE(metrics.recall_at(20) == Approx(5.0 / 7));
  REQUIRE(metrics.mrr == Approx((1 + 0.5 + 0.2 + 1.0 / 6 + 0.05 + 1.0 / 21) / 7));
}

TEST_CASE("the extremes are exact") {
  REQUIRE(Summarize({1, 1, 1}).recall_at(1) == 1);
  REQUIRE(Summarize({1, 1, 1}).mrr == 1);
  REQUIRE(Summarize({0, 0, 0}).recall_at(20) == 0);
  REQUIRE(Summarize({0, 0, 0}).mrr == 0);
  REQUIRE(Summarize({}).query_count == 0);
  REQUIRE(Summarize({}).mrr == 0);
}

TEST_CASE("a scan of every list gives the same shares") {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    // lists[q][i]: whether hit i is relevant.
    std::vector<std::vector<bool>> lists(1 + random() % 40, std::vector<bool>(50));
    std::vector<int> ranks;
    for (auto& list : lists) {
      for (size_t i = 0; i < list.size(); ++i) list[i] = random() % 15 == 0;
      int rank = 0;
      while (rank < 50 && !list[rank]) ++rank;
      ranks.push_back(rank < 50 ? rank + 1 : 0);
    }
    const RetrievalMetrics metrics = Summarize(ranks);
    for (const int cutoff : kRecallCutoffs) {
      double found = 0;
      for (const auto& list : lists) {
        bool any = false;
        for (int i = 0; i < cutoff; ++i) any = any || list[i];
        found += any;
      }
      REQUIRE(metrics.recall_at(cutoff) == Approx(found / lists.size()));
    }
    double mrr = 0;
    for (const auto& list : lists) {
      for (size_t i = 0; i < list.size(); ++i) {
        if (!list[i]) continue;
        mrr += 1.0 / (i + 1);
        break;
      }
    }
    REQUIRE(metrics.mrr == Approx(mrr / lists.size()));
  }
}

}  // namespace
}  // namespace sightline
