// With one query and one pair a forward pass, a fleet's answer to a query is the same to the
// last bit however often it is asked and whatever is asked beside it.
#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/fleet.h"
#include "tests/integration/test_launch.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kItems = 40;
constexpr int kThreads = 4;
constexpr int kRounds = 3;
constexpr absl::Duration kPatience = absl::Seconds(60);

// Both directions, each combination, texts of several lengths.
std::vector<SearchRequest> Requests(const TinyStore& store) {
  std::vector<SearchRequest> requests;
  const Combination combinations[] = {{CombinationKind::kReplace, 0},
                                      {CombinationKind::kAddLambda, 0.5f},
                                      {CombinationKind::kNormAddLambda, 0.3f}};
  for (const Combination& combination : combinations) {
    SearchRequest request;
    request.top_k = 20;
    request.depth = 15;
    request.combination = combination;
    for (const char* text : {"fish", "a red fish", "a very small red fish beside a blue bird"}) {
      request.query = TextQuery{text};
      requests.push_back(request);
    }
    request.query = ImageQuery{store.items[7].picture};
    requests.push_back(request);
  }
  return requests;
}

bool SameBits(float a, float b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

bool SameBits(const std::vector<Hit>& a, const std::vector<Hit>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Hit& x, const Hit& y) {
    return x.item_id == y.item_id && x.stage == y.stage && SameBits(x.score, y.score) &&
           SameBits(x.retrieval_score, y.retrieval_score) &&
           x.rerank_score.has_value() == y.rerank_score.has_value() &&
           SameBits(x.rerank_score.value_or(0), y.rerank_score.value_or(0));
  });
}

// What is wrong with the answer to one of the requests, or nothing.
std::string Complaint(Fleet& fleet, const SearchRequest& request, const std::vector<Hit>& first) {
  const auto result = fleet.Search(request, kPatience);
  if (!result.ok()) return result.status().ToString();
  if (!result->degraded.empty()) return "degraded";
  return SameBits(result->hits, first) ? "" : "other hits or other bits";
}

TEST_CASE("a deterministic fleet repeats an answer to the bit, alone and in company") {
  const TempDir directory;
  const TinyStore store = MakeTinyStore(directory.path(), kItems);
  FleetOptions options;
  options.deterministic = true;
  Fleet fleet(store, TestLaunch(), options);
  fleet.AwaitWhole();
  const std::vector<SearchRequest> requests = Requests(store);
  std::vector<std::vector<Hit>> alone;
  for (const SearchRequest& request : requests) {
    const auto result = fleet.Search(request, kPatience);
    INFO(result.status());
    REQUIRE(result.ok());
    REQUIRE(result->rerank == RerankOutcome::kComplete);
    REQUIRE(std::is_sorted(result->hits.begin(), result->hits.end(), StandsBefore));
    alone.push_back(result->hits);
  }
  std::vector<std::string> complaints(kThreads);
  std::vector<std::thread> askers;
  for (int thread = 0; thread < kThreads; ++thread) {
    askers.emplace_back([&, thread] {
      const size_t count = requests.size();
      for (size_t i = 0; i < kRounds * count && complaints[thread].empty(); ++i) {
        const size_t at = (i + thread * count / kThreads) % count;
        complaints[thread] = Complaint(fleet, requests[at], alone[at]);
      }
    });
  }
  for (std::thread& asker : askers) asker.join();
  REQUIRE(complaints == std::vector<std::string>(kThreads));
}

}  // namespace
}  // namespace sightline
