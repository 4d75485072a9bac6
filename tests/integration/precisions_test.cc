// Two rerankers, of which one computes in float32 and one in int8: the slices of an answer and the
// pages of a list come from one of them.
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_replace.h"
#include "common/base/error_details.h"
#include "common/kernels/kernel_choice.h"
#include "tests/integration/fleet.h"
#include "tests/integration/test_launch.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kItems = 60;
constexpr int kDepth = 40;
constexpr int kPage = 10;
constexpr int kSearches = 24;
constexpr absl::Duration kPatience = absl::Seconds(30);

using Scores = std::map<std::string, float>;  // by item

SearchRequest Pages(const TinyStore& store, const std::string& token = "") {
  SearchRequest request;
  request.query = TextQuery{store.items[7].caption};
  request.top_k = kPage;
  request.depth = kDepth;
  request.page_token = token;
  return request;
}

// The whole block, page by page, each of one precision; that is put into `precision`.
Scores AskAll(Fleet& fleet, std::string* precision) {
  Scores scores;
  std::string token;
  for (int page = 0; page < kDepth / kPage; ++page) {
    const auto result = fleet.Search(Pages(fleet.store(), token), kPatience);
    INFO(result.status());
    REQUIRE(result.ok());
    REQUIRE(result->rerank == RerankOutcome::kComplete);
    REQUIRE(result->encoder_precision == "float32");
    if (page == 0) *precision = result->reranker_precision;
    REQUIRE(result->reranker_precision == *precision);
    for (const Hit& hit : result->hits) scores[hit.item_id] = hit.rerank_score.value();
    token = result->next_page_token;
  }
  REQUIRE(scores.size() == kDepth);
  return scores;
}

bool HasInt8() {
  if (kernels::KernelFor("int8", kernels::ThisCpu()) != nullptr) return true;
  WARN("LEFT OUT: this CPU has no instructions for int8");
  return false;
}

}  // namespace

TEST_CASE("answers and their pages are of one precision, and both servers give some") {
  if (!HasInt8()) return;
  const TempDir directory;
  const TinyStore store = MakeTinyStore(directory.path(), kItems);
  FleetOptions options;
  options.reranker_replicas = 2;
  options.reranker_precisions = {"float32", "int8"};
  options.deterministic = true;
  options.router_yaml = "rerank: {slice: 4}\n";
  Fleet fleet(store, TestLaunch(), options);

  std::map<std::string, Scores> of;
  for (int i = 0; i < kSearches; ++i) {
    std::string precision;
    const Scores scores = AskAll(fleet, &precision);
    const auto [known, is_new] = of.emplace(precision, scores);
    if (!is_new) REQUIRE(scores == known->second);
  }
  REQUIRE(of.size() == 2);
  REQUIRE(of.count("float32") == 1);
  REQUIRE(of.count("int8") == 1);
  // Else what was said of mixing says nothing.  In a model as small as this it is little.
  REQUIRE(of.at("float32") != of.at("int8"));

  // A list whose servers compute otherwise since then ends, and others go on.
  std::map<std::string, std::string> tokens;
  while (tokens.size() < 2) {
    const auto result = fleet.Search(Pages(store), kPatience);
    REQUIRE(result.ok());
    tokens[result->reranker_precision] = result->next_page_token;
  }
  Slot& quick = fleet.reranker(1);
  quick.member.reset();
  quick.yaml = absl::StrReplaceAll(quick.yaml, {{"precision: int8", "precision: float32"}});
  fleet.Restart(&quick);
  fleet.AwaitWhole();
  const absl::Time patience = Clock::Real()->Now() + kPatience;
  while (true) {  // until the router has heard of it
    const auto result = fleet.Search(Pages(store, tokens.at("int8")), kPatience);
    if (HasReason(result.status(), reasons::kPageTokenExpired)) break;
    if (result.ok()) REQUIRE(result->achieved_depth == 0);
    REQUIRE(Clock::Real()->Now() < patience);
  }
  const auto exact = fleet.Search(Pages(store, tokens.at("float32")), kPatience);
  REQUIRE(exact.ok());
  REQUIRE(exact->reranker_precision == "float32");
  REQUIRE(exact->rerank == RerankOutcome::kComplete);
}

}  // namespace sightline
