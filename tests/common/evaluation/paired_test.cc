#include "common/evaluation/paired.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// Answers query i with `lists[i]`, and i itself for "right".
class ScriptedRanker : public Ranker {
 public:
  explicit ScriptedRanker(std::vector<std::vector<std::string>> lists) : lists_(std::move(lists)) {}

  int batch_size() const override { return 2; }

  absl::StatusOr<Rankings> Rank(const RankRequest& request, const CallContext&) override {
    if (next_ + request.queries.size() > lists_.size()) return absl::UnavailableError("gone");
    Rankings rankings;
    for (const EvaluationQuery& query : request.queries) {
      auto& hits = rankings.emplace_back().emplace_back();
      for (const std::string& id : lists_[next_]) {
        hits.emplace_back().item_id = id == "right" ? query.item_id : id;
      }
      ++next_;
    }
    return rankings;
  }

 private:
  const std::vector<std::vector<std::string>> lists_;
  size_t next_ = 0;
};

Relevance Pictures(int count) {
  std::vector<ItemRecord> captions;
  for (int i = 0; i < count; ++i) {
    captions.push_back({absl::StrCat("picture-", i, "#en-1"), absl::StrCat("caption ", i)});
  }
  return *Relevance::Build(captions, "en");
}

TEST_CASE("two rankers are compared query by query") {
  const Relevance relevance = Pictures(3);
  MeasureSpec spec;
  spec.queries = relevance.Queries(spec.direction);
  // The first loses its right answer, the second wins one, the third is as it was but for the
  // eleventh hit.
  std::vector<std::string> eleven = {"right"};
  for (int i = 0; i < 10; ++i) eleven.push_back(absl::StrCat("other-", i));
  std::vector<std::string> changed = eleven;
  std::swap(changed[1], changed[9]);
  changed[10] = "another";
  ScriptedRanker reference({{"right", "a"}, {"a", "right"}, eleven});
  ScriptedRanker other({{"b", "c"}, {"right", "c"}, changed});
  ComputePool pool(1);
  const auto results =
      MeasurePaired(spec, relevance, &reference, &other, &pool, nullptr, CallContext::Unbounded());
  REQUIRE(results.status() == absl::OkStatus());
  REQUIRE(results->size() == 1);
  const PairedResult& result = results->front();
  CHECK(result.reference.recall_at(1) == Approx(2.0 / 3));
  CHECK(result.other.recall_at(1) == Approx(2.0 / 3));
  CHECK(result.recall_at_1.estimate == Approx(0).margin(1e-12));
  CHECK(result.recall_at_1.low < 0);
  CHECK(result.recall_at_1.high > 0);
  CHECK(result.top10_overlap == Approx((0 + 0.5 + 1) / 3));
}

TEST_CASE("an error of either ranker is everybody's") {
  const Relevance relevance = Pictures(2);
  MeasureSpec spec;
  spec.queries = relevance.Queries(spec.direction);
  ScriptedRanker whole({{"right"}, {"right"}});
  ScriptedRanker none({});
  ComputePool pool(1);
  CHECK(absl::IsUnavailable(
      MeasurePaired(spec, relevance, &whole, &none, &pool, nullptr, CallContext::Unbounded())
          .status()));
}

}  // namespace
}  // namespace sightline
