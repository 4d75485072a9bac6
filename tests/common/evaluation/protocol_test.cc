#include "common/evaluation/protocol.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

const Combination kReplaceAll = {CombinationKind::kReplace, 0};
const Combination kHalf = {CombinationKind::kAddLambda, 0.5f};

// Puts the right picture of query i at rank `ranks[method][i]`, or nowhere for 0.
class ScriptedRanker : public Ranker {
 public:
  explicit ScriptedRanker(std::vector<std::vector<int>> ranks) : ranks_(std::move(ranks)) {}

  int batch_size() const override { return 3; }

  absl::StatusOr<Rankings> Rank(const RankRequest& request, const CallContext&) override {
    if (fail_at >= 0 && next_ + static_cast<int>(request.queries.size()) > fail_at) {
      return absl::UnavailableError("gone");
    }
    Rankings rankings;
    for (const EvaluationQuery& query : request.queries) {
      auto& lists = rankings.emplace_back();
      for (size_t m = 0; m < request.methods.size(); ++m) {
        std::vector<Hit>& hits = lists.emplace_back(request.list_length);
        for (Hit& hit : hits) hit.item_id = "distractor";
        const int rank = ranks_[m][next_];
        if (rank > 0) hits[rank - 1].item_id = query.item_id;
      }
      ++next_;
    }
    return rankings;
  }

  int fail_at = -1;

 private:
  const std::vector<std::vector<int>> ranks_;
  int next_ = 0;
};

Relevance PicturesWithCaptions(int count) {
  std::vector<ItemRecord> captions;
  for (int i = 0; i < count; ++i) {
    captions.push_back({absl::StrCat("picture-", i, "#en-1"), absl::StrCat("caption ", i)});
  }
  return *Relevance::Build(captions, "en");
}

MeasureSpec Spec(const Relevance& relevance, std::vector<Method> methods) {
  MeasureSpec spec;
  spec.queries = relevance.Queries(spec.direction);
  spec.methods = std::move(methods);
  spec.split = Split::kHeldOut;
  return spec;
}

TEST_CASE("every method is measured over all queries and compared with retrieval alone") {
  const Relevance relevance = PicturesWithCaptions(8);
  ScriptedRanker ranker({{1, 2, 3, 0, 7, 20, 21, 50},    // retrieval
                         {1, 1, 1, 0, 1, 1, 1, 1},       // better
                         {1, 2, 3, 0, 7, 20, 21, 50}});  // alike
  ComputePool pool(2);
  const auto measured = Measure(Spec(relevance, {Method(), {20, kReplaceAll}, {20, kHalf}}),
                                relevance, &ranker, &pool, nullptr, CallContext::Unbounded());
  REQUIRE(measured.ok());
  REQUIRE(measured->split == Split::kHeldOut);
  REQUIRE(measured->results.size() == 3);
  const RetrievalMetrics& retrieval = measured->Find(Method())->metrics;
  REQUIRE(retrieval.query_count == 8);
  REQUIRE(retrieval.recall_at(1) == Approx(1.0 / 8));
  REQUIRE(retrieval.recall_at(5) == Approx(3.0 / 8));
  REQUIRE(retrieval.recall_at(10) == Approx(4.0 / 8));
  REQUIRE(retrieval.recall_at(20) == Approx(5.0 / 8));
  REQUIRE_FALSE(measured->results[0].gain.has_value());
  const MethodResult& better = *measured->Find({20, kReplaceAll});
  REQUIRE(better.gain->recall[0].estimate == Approx(6.0 / 8));
  REQUIRE(better.gain->recall[0].low > 0);
  REQUIRE(better.gain->mrr.estimate == Approx(better.metrics.mrr - retrieval.mrr));
  const MethodResult& alike = *measured->Find({20, kHalf});
  REQUIRE(alike.gain->recall[0].low == 0);
  REQUIRE(alike.gain->recall[0].high == 0);
  REQUIRE(alike.gain->mrr.high == 0);
  REQUIRE(measured->Find({50, kHalf}) == nullptr);
  REQUIRE(measured->results[0].ranks == std::vector<int>{1, 2, 3, 0, 7, 20, 21, 50});
  REQUIRE(better.ranks == std::vector<int>{1, 1, 1, 0, 1, 1, 1, 1});
}

// Lists that it is told, by the query's picture.
class ToldRanker : public Ranker {
 public:
  explicit ToldRanker(std::map<std::string, std::vector<std::string>> lists)
      : lists_(std::move(lists)) {}
  int batch_size() const override { return 2; }
  absl::StatusOr<Rankings> Rank(const RankRequest& request, const CallContext&) override {
    REQUIRE(request.list_length == 20);
    Rankings rankings;
    for (const EvaluationQuery& query : request.queries) {
      std::vector<Hit> hits;
      for (const std::string& id : lists_.at(query.item_id)) hits.emplace_back().item_id = id;
      rankings.push_back({hits});
    }
    return rankings;
  }

 private:
  const std::map<std::string, std::vector<std::string>> lists_;
};

TEST_CASE("all places of what is right are kept, by either rule, of lists as long as asked for") {
  const std::vector<ItemRecord> captions = {{"a#en-1", "fish"},
                                            {"a#en-2", "sea"},
                                            {"b#en-1", "fish"},
                                            {"b#en-2", "boat"},
                                            {"c#en-1", "house"}};
  const auto places = [&captions](RelevanceRule rule, Direction direction,
                                  std::map<std::string, std::vector<std::string>> lists) {
    const Relevance relevance = *Relevance::Build(captions, "en", rule);
    ToldRanker ranker(std::move(lists));
    MeasureSpec spec;
    spec.direction = direction;
    spec.queries = relevance.Queries(direction);
    spec.list_length = 20;
    ComputePool pool(1);
    const auto measured =
        Measure(spec, relevance, &ranker, &pool, nullptr, CallContext::Unbounded());
    REQUIRE(measured.ok());
    return measured->results[0].places;
  };
  using Places = std::vector<std::vector<int>>;
  const std::map<std::string, std::vector<std::string>> texts = {
      {"a", {"a#en-2", "b#en-1", "x", "a#en-1"}}, {"b", {"a#en-1", "b#en-2"}}, {"c", {"x"}}};
  REQUIRE(places(RelevanceRule::kOwn, Direction::kImageToText, texts) == Places{{1, 4}, {2}, {}});
  REQUIRE(places(RelevanceRule::kSameWords, Direction::kImageToText, texts) ==
          Places{{1, 2, 4}, {1, 2}, {}});
  const std::map<std::string, std::vector<std::string>> pictures = {
      {"a", {"x", "b", "a", "a"}}, {"b", {"a", "c"}}, {"c", {"c"}}};
  // Each of five captions, and the first of each of three pictures.
  REQUIRE(places(RelevanceRule::kOwn, Direction::kTextToImage, pictures) ==
          Places{{3}, {3}, {}, {}, {1}});
  REQUIRE(places(RelevanceRule::kSameWords, Direction::kTextToImage, pictures) ==
          Places{{2, 3}, {1}, {1}});
}

TEST_CASE("a gain is told at every cutoff, of each pair of methods") {
  const std::vector<EvaluationQuery> queries =
      PicturesWithCaptions(4).Queries(Direction::kTextToImage);
  ComputePool pool(1);
  const std::vector<int> reference = {1, 6, 15, 0};
  const std::vector<int> more = {1, 5, 10, 20}, none = {0, 0, 0, 0};
  const std::vector<Gain> gains =
      GainsOf({{more, reference}, {reference, reference}, {none, reference}}, queries,
              BootstrapOptions(), &pool);
  REQUIRE(gains.size() == 3);
  const double better[] = {0, 0.25, 0.25, 0.25}, worse[] = {-0.25, -0.25, -0.5, -0.75};
  for (size_t i = 0; i < kRecallCutoffs.size(); ++i) {
    CHECK(gains[0].recall[i].estimate == Approx(better[i]));
    CHECK(gains[1].recall[i].low == 0);
    CHECK(gains[1].recall[i].high == 0);
    CHECK(gains[2].recall[i].estimate == Approx(worse[i]));
  }
  CHECK(gains[0].mrr.estimate == Approx((1.0 / 5 - 1.0 / 6 + 1.0 / 10 - 1.0 / 15 + 1.0 / 20) / 4));
  CHECK(GainsOf({{{}, {}}}, {}, BootstrapOptions(), &pool)[0].recall[0].estimate == 0);
  CHECK(GainsOf({}, queries, BootstrapOptions(), &pool).empty());
}

TEST_CASE("the queries' sum is another for other questions, answers or orders") {
  const EvaluationQuery one = {"a", "red fish", {3, 12}}, two = {"b", "fish", {}};
  const std::string sum = QueriesSha256({one, two});
  REQUIRE(IsSha256Hex(sum));
  REQUIRE(QueriesSha256({one, two}) == sum);
  REQUIRE(QueriesSha256({two, one}) != sum);
  REQUIRE(QueriesSha256({one}) != sum);
  REQUIRE(QueriesSha256({{"a", "red fish", {3}}, two}) != sum);
  REQUIRE(QueriesSha256({{"a", "red fish", {31, 2}}, two}) != sum);
  REQUIRE(QueriesSha256({{"a", "red fishb", {3, 12}}, {"", "fish", {}}}) != sum);
}

TEST_CASE("captions of a picture are drawn together: five that are alike say what one says") {
  const auto gain_of = [](int captions) {
    std::vector<ItemRecord> items;
    std::vector<int> retrieval, better;
    for (int i = 0; i < 10; ++i) {
      for (int n = 1; n <= captions; ++n) {
        items.push_back({absl::StrCat("picture-", i, "#en-", n), absl::StrCat("caption ", i, n)});
        retrieval.push_back(4);
        better.push_back(i % 3 == 0 ? 1 : 4);
      }
    }
    const Relevance relevance = *Relevance::Build(items, "en", RelevanceRule::kOwn);
    ScriptedRanker ranker({retrieval, better});
    ComputePool pool(1);
    const auto measured = Measure(Spec(relevance, {Method(), {20, kHalf}}), relevance, &ranker,
                                  &pool, nullptr, CallContext::Unbounded());
    REQUIRE(measured.ok());
    REQUIRE(measured->results[0].metrics.query_count == 10 * captions);
    return measured->results[1].gain->recall[0];
  };
  const Interval one = gain_of(1), five = gain_of(5);
  REQUIRE(one.estimate == Approx(0.4));
  REQUIRE(five.estimate == Approx(one.estimate));
  REQUIRE(five.low == Approx(one.low));
  REQUIRE(five.high == Approx(one.high));
  REQUIRE(one.high - one.low > 0.3);
}

TEST_CASE("a failing ranker and a cancelled call end the measurement") {
  const Relevance relevance = PicturesWithCaptions(8);
  ComputePool pool(1);
  ScriptedRanker failing({std::vector<int>(8, 1)});
  failing.fail_at = 4;
  REQUIRE(absl::IsUnavailable(Measure(Spec(relevance, {Method()}), relevance, &failing, &pool,
                                      nullptr, CallContext::Unbounded())
                                  .status()));
  ScriptedRanker ranker({std::vector<int>(8, 1)});
  const CallContext call = CallContext::Unbounded();
  call.cancellation()->Cancel();
  REQUIRE(absl::IsCancelled(
      Measure(Spec(relevance, {Method()}), relevance, &ranker, &pool, nullptr, call).status()));
}

TEST_CASE("no queries are measured as none") {
  const Relevance relevance = PicturesWithCaptions(0);
  ComputePool pool(1);
  ScriptedRanker ranker({{}, {}});
  const auto measured = Measure(Spec(relevance, {Method(), {20, kHalf}}), relevance, &ranker, &pool,
                                nullptr, CallContext::Unbounded());
  REQUIRE(measured.ok());
  REQUIRE(measured->results[1].metrics.query_count == 0);
  REQUIRE(measured->results[1].gain->mrr.high == 0);
}

Measurement Measured(Direction direction,
                     std::vector<std::pair<Method, std::pair<double, double>>> results) {
  Measurement measurement;
  measurement.direction = direction;
  measurement.results.emplace_back();  // retrieval alone
  for (const auto& [method, values] : results) {
    MethodResult result;
    result.method = method;
    result.metrics.recall[0] = values.first;
    result.metrics.mrr = values.second;
    measurement.results.push_back(result);
  }
  return measurement;
}

TEST_CASE("the choice is the best mean over depths") {
  const Combination other = {CombinationKind::kAddLambda, 0.9f};
  const Measurement texts = Measured(Direction::kImageToText, {{{20, kReplaceAll}, {0.5, 0.6}},
                                                               {{20, kHalf}, {0.4, 0.6}},
                                                               {{20, other}, {0.9, 0.9}},
                                                               {{50, kReplaceAll}, {0.3, 0.4}},
                                                               {{50, kHalf}, {0.5, 0.6}}});
  // `other` was not measured at depth 50.
  const auto choice = ChooseCombination(texts, {20, 50});
  REQUIRE(choice.ok());
  REQUIRE(choice->direction == Direction::kImageToText);
  REQUIRE(CombinationText(*choice->combination) == "add_lambda:0.5");
  REQUIRE(choice->recall_at_1 == Approx(0.45));
  REQUIRE(choice->mrr == Approx(0.6));
}

TEST_CASE("equal R@1 goes to the higher MRR, then to the first") {
  const auto choose = [](double mrr) {
    return ChooseCombination(Measured(Direction::kTextToImage,
                                      {{{20, kReplaceAll}, {0.5, 0.6}}, {{20, kHalf}, {0.5, mrr}}}),
                             {20});
  };
  REQUIRE(CombinationText(*choose(0.7)->combination) == "add_lambda:0.5");
  REQUIRE(CombinationText(*choose(0.6)->combination) == "replace");
  REQUIRE(absl::IsFailedPrecondition(
      ChooseCombination(Measured(Direction::kTextToImage, {}), {20}).status()));
}

TEST_CASE("none is chosen where retrieval alone finds as much as the best combination") {
  const auto choose = [](double recall, double mrr) {
    Measurement measurement = Measured(
        Direction::kTextToImage, {{{20, kHalf}, {0.5, 0.6}}, {{20, kReplaceAll}, {0.3, 0.3}}});
    measurement.results[0].metrics.recall[0] = recall;
    measurement.results[0].metrics.mrr = mrr;
    return *ChooseCombination(measurement, {20});
  };
  REQUIRE(choose(0.4, 0.9).combination.has_value());
  REQUIRE(choose(0.5, 0.59).combination.has_value());
  REQUIRE_FALSE(choose(0.5, 0.6).combination.has_value());
  const Choice none = choose(0.6, 0.5);
  REQUIRE_FALSE(none.combination.has_value());
  REQUIRE(none.recall_at_1 == 0.6);
  REQUIRE(none.mrr == 0.5);
}

}  // namespace
}  // namespace sightline
