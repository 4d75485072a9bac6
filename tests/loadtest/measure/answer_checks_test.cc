#include "loadtest/measure/answer_checks.h"

#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/retrieval/rerank_block.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr absl::Duration kEnded = absl::Milliseconds(900);
constexpr absl::Duration kDeadline = absl::Seconds(1);

SearchRequest Request() {
  SearchRequest request;
  request.index = "images";
  request.query = ItemQuery{"", "queried"};
  request.top_k = 6;
  return request;
}

Hit MakeHit(const std::string& id, HitStage stage, float score, int shard, int64_t row) {
  Hit hit;
  hit.item_id = id;
  hit.stage = stage;
  hit.score = score;
  hit.shard = shard;
  hit.row = row;
  return hit;
}

// Right in every respect, with a tie in either stage.
SearchResult Answer() {
  SearchResult result;
  result.target = {"images", "g1", "space"};
  result.hits = {
      MakeHit("c", HitStage::kReranked, 0.5f, 0, 1),
      MakeHit("d", HitStage::kReranked, 0.5f, 1, 1),
      MakeHit("a", HitStage::kReranked, 0.25f, 1, 2),
      MakeHit("f", HitStage::kRetrieved, 0.75f, 0, 7),
      MakeHit("b", HitStage::kRetrieved, -0.5f, 0, 8),
      MakeHit("e", HitStage::kRetrieved, -0.5f, 0, 9),
  };
  result.shard_count = 3;
  result.answered_shard_count = 2;
  result.unreachable = {"indexes/images/shards/2"};
  result.degraded = {DegradedReason::kRerankerLate, DegradedReason::kShardsMissing};
  return result;
}

using Failures = std::vector<CheckFailure>;

Failures Check(const SearchResult& result, const SearchRequest& request = Request()) {
  return CheckAnswer(request, result, kEnded, kDeadline);
}

TEST_CASE("a right answer fails no check, and neither does one without hits") {
  REQUIRE(Check(Answer()).empty());
  SearchResult nothing = Answer();
  nothing.hits.clear();
  REQUIRE(Check(nothing).empty());
}

TEST_CASE("each kind of wrong answer fails the check that is meant for it, and no other") {
  struct Wrong {
    std::string what;
    CheckFailure failure;
    std::function<void(SearchResult&)> spoil;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Wrong& wrong : std::vector<Wrong>{
           {"reranked scores rise", CheckFailure::kOrder, [](auto& r) { r.hits[2].score = 0.6f; }},
           {"retrieved scores rise", CheckFailure::kOrder, [](auto& r) { r.hits[5].score = 0; }},
           {"a tie in the wrong order", CheckFailure::kOrder,
            [](auto& r) { std::swap(r.hits[0], r.hits[1]); }},
           {"a retrieved hit first", CheckFailure::kOrder,
            [](auto& r) { r.hits[0].stage = HitStage::kRetrieved; }},
           {"no number", CheckFailure::kOrder, [nan](auto& r) { r.hits[1].score = nan; }},
           {"no number alone", CheckFailure::kOrder,
            [nan](auto& r) {
              r.hits.resize(1);
              r.hits[0].score = nan;
            }},
           {"an item twice", CheckFailure::kDuplicate,
            [](auto& r) {
              r.hits[3].item_id = "d";
              r.hits[3].shard = r.hits[1].shard;
              r.hits[3].row = r.hits[1].row;
            }},
           {"one too many", CheckFailure::kTooMany,
            [](auto& r) { r.hits.push_back(MakeHit("g", HitStage::kRetrieved, -1, 0, 10)); }},
           {"no generation", CheckFailure::kMixedGeneration,
            [](auto& r) { r.target.generation.clear(); }},
           {"no space", CheckFailure::kMixedGeneration, [](auto& r) { r.target.space.clear(); }},
           {"another index", CheckFailure::kMixedGeneration,
            [](auto& r) { r.target.index = "captions"; }},
           {"two items in one row", CheckFailure::kMixedGeneration,
            [](auto& r) { r.hits[4].row = r.hits[5].row; }},
           {"a shard that is silently missing", CheckFailure::kCoverage,
            [](auto& r) { r.degraded.clear(); }},
           {"a shard that is said to be missing", CheckFailure::kCoverage,
            [](auto& r) {
              r.answered_shard_count = 3;
              r.unreachable.clear();
            }},
           {"missing shards that are not named", CheckFailure::kCoverage,
            [](auto& r) { r.unreachable.clear(); }},
           {"more shards answered than there are", CheckFailure::kCoverage,
            [](auto& r) { r.answered_shard_count = 4; }},
           {"no shard answered", CheckFailure::kCoverage,
            [](auto& r) {
              r.answered_shard_count = 0;
              r.unreachable = {"0", "1", "2"};
            }},
           {"a reason twice", CheckFailure::kCoverage,
            [](auto& r) { r.degraded.push_back(DegradedReason::kRerankerLate); }},
           {"the queried item", CheckFailure::kQueriedItem,
            [](auto& r) { r.hits[3].item_id = "queried"; }},
       }) {
    INFO(wrong.what);
    SearchResult result = Answer();
    wrong.spoil(result);
    REQUIRE(Check(result) == Failures{wrong.failure});
  }
}

TEST_CASE("hits must have the tags that were asked for, as far as they can be told") {
  SearchRequest request = Request();
  request.filter = {{"fish"}, {}, {"drawing"}};
  SearchResult result = Answer();
  result.matched_item_count = 6;
  for (Hit& hit : result.hits) hit.tags = {"sea", "fish"};
  REQUIRE(Check(result, request).empty());
  SearchResult wrong = result;
  wrong.hits[2].tags = {"fish", "drawing"};
  REQUIRE(Check(wrong, request) == Failures{CheckFailure::kFilter});
  wrong = result;
  wrong.hits[5].tags.clear();
  REQUIRE(Check(wrong, request) == Failures{CheckFailure::kFilter});
  SearchResult without = wrong;
  without.degraded.push_back(DegradedReason::kRecordsMissing);
  REQUIRE(Check(without, request).empty());
  SearchRequest basic = request;
  basic.want_records = false;
  REQUIRE(Check(wrong, basic).empty());
  result.matched_item_count = 5;
  REQUIRE(Check(result, request) == Failures{CheckFailure::kFilter});
  REQUIRE(Check(result).empty());
}

TEST_CASE("every reason can be given") {
  SearchResult result = Answer();
  result.degraded = {DegradedReason::kShardsMissing,  DegradedReason::kDepthReduced,
                     DegradedReason::kRerankerFailed, DegradedReason::kRerankerLate,
                     DegradedReason::kRecordsMissing, DegradedReason::kRecallReduced};
  REQUIRE(Check(result).empty());
}

// Two equal pictures that were scored in different batches: their probabilities differ in the
// last bit, and what is reported of them does not.
TEST_CASE("what the router orders is in the order that is checked") {
  const float p = 0.125f, above = std::nextafter(p, 1.0f);
  const std::vector<Candidate> candidates = {
      {"a", 0, 1, 0.75f}, {"b", 1, 1, 0.75f}, {"c", 0, 2, 0.5f}, {"d", 1, 2, 0.5f}};
  for (const CombinationKind kind :
       {CombinationKind::kReplace, CombinationKind::kAddLambda, CombinationKind::kNormAddLambda}) {
    std::vector<absl::optional<RerankScore>> scores;
    for (const float each : {p, above}) {
      scores.push_back(ToRerankScore(ScoreKind::kSoftmaxMatch, each));
    }
    SearchResult result = Answer();
    result.hits = OrderHits(candidates, scores, {kind, 0.9f});
    INFO(CombinationKindName(kind));
    REQUIRE(Check(result).empty());
  }
}

TEST_CASE("several things wrong are several failures, in the order of the enum") {
  SearchResult result = Answer();
  result.hits.push_back(result.hits[0]);
  result.unreachable.clear();
  REQUIRE(Check(result) == Failures{CheckFailure::kOrder, CheckFailure::kDuplicate,
                                    CheckFailure::kTooMany, CheckFailure::kCoverage});
}

TEST_CASE("an answer is late when it is beyond its deadline by more than its delivery") {
  const auto late = [](absl::Duration ended, absl::Duration deadline) {
    return CheckAnswer(Request(), Answer(), ended, deadline) == Failures{CheckFailure::kLate};
  };
  REQUIRE_FALSE(late(kDeadline + kDeliveryGrace, kDeadline));
  REQUIRE(late(kDeadline + kDeliveryGrace + absl::Nanoseconds(1), kDeadline));
  REQUIRE_FALSE(late(absl::Hours(5), absl::InfiniteDuration()));
}

TEST_CASE("an item of another index may be found under the same id") {
  SearchResult result = Answer();
  result.hits[3].item_id = "queried";
  SearchRequest request = Request();
  request.query = ItemQuery{"captions", "queried"};
  REQUIRE(Check(result, request).empty());
  request.query = ItemQuery{"images", "queried"};
  REQUIRE(Check(result, request) == Failures{CheckFailure::kQueriedItem});
  request.query = TextQuery{"queried"};
  REQUIRE(Check(result, request).empty());
}

TEST_CASE("an index that was not asked for by name may be any, and rows without records are none") {
  SearchResult result = Answer();
  result.target.index = "other";
  for (Hit& hit : result.hits) hit.row = hit.shard = 0;
  SearchRequest request = Request();
  request.index.clear();
  request.want_records = false;
  REQUIRE(Check(result, request).empty());
}

TEST_CASE("a known item is found wherever it stands") {
  const SearchResult result = Answer();
  REQUIRE(AnyAmong({"x", "e"}, result.hits));
  REQUIRE(AnyAmong({"c"}, result.hits));
  REQUIRE_FALSE(AnyAmong({"x", "y"}, result.hits));
  REQUIRE_FALSE(AnyAmong({}, result.hits));
  REQUIRE_FALSE(AnyAmong({"c"}, {}));
}

TEST_CASE("the first hit is known, or it would be by retrieval alone") {
  std::vector<Hit> hits(3);
  for (size_t i = 0; i < hits.size(); ++i) hits[i].item_id = std::string(1, 'a' + i);
  hits[0].retrieval_score = 0.5f;
  hits[1].retrieval_score = 0.3f;
  hits[2].retrieval_score = 0.7f;  // reranked to the end
  REQUIRE(FirstAmong({"x", "a"}, hits));
  REQUIRE_FALSE(FirstAmong({"c"}, hits));
  REQUIRE(FirstRetrievedAmong({"c"}, hits));
  REQUIRE_FALSE(FirstRetrievedAmong({"a", "b"}, hits));
  hits[0].retrieval_score = 0.7f;  // of two alike the smaller id comes first
  REQUIRE(FirstRetrievedAmong({"a"}, hits));
  REQUIRE_FALSE(FirstAmong({"a"}, {}));
  REQUIRE_FALSE(FirstRetrievedAmong({"a"}, {}));
}

TEST_CASE("failures and reasons have names of their own") {
  std::set<std::string> names;
  for (int i = 0; i < kCheckFailureCount; ++i) {
    names.insert(CheckFailureName(static_cast<CheckFailure>(i)));
  }
  for (int i = 0; i < kDegradedReasonCount; ++i) {
    names.insert(DegradedReasonName(static_cast<DegradedReason>(i)));
  }
  REQUIRE(names.size() == kCheckFailureCount + kDegradedReasonCount);
  REQUIRE(CheckFailureName(CheckFailure::kMixedGeneration) == std::string("mixed_generation"));
  REQUIRE(CheckFailureName(CheckFailure::kQueriedItem) == std::string("queried_item"));
  REQUIRE(DegradedReasonName(DegradedReason::kShardsMissing) == std::string("SHARDS_MISSING"));
  REQUIRE(DegradedReasonName(DegradedReason::kRecordsMissing) == std::string("RECORDS_MISSING"));
}

}  // namespace
}  // namespace sightline
