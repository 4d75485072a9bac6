#include "loadtest/baseline/ann_peers/turns.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/compute_pool.h"
#include "loadtest/baseline/ann_peers/ann_report.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int kQueries = 20;

AnnCorpus SmallCorpus() {
  ComputePool pool(1);
  VectorSpec spec;
  spec.dimension = 8;
  spec.clusters = 10;
  return *DrawAnnCorpus(spec, 300, kQueries, &pool);
}

// Knows the truth and tells the first tenths of it that its effort says, then nonsense.
class Teller : public Contender {
 public:
  Teller(std::string name, bool ours, const AnnCorpus* corpus)
      : name_(std::move(name)), ours_(ours), corpus_(corpus) {}

  const std::string& name() const override { return name_; }
  bool ours() const override { return ours_; }
  std::vector<Sweep> Sweeps() const override {
    Sweep sweep;
    for (int tenths = 1; tenths <= 12; ++tenths) {
      sweep.push_back({std::to_string(tenths), tenths});
    }
    return {sweep};
  }
  absl::Status Build(const VectorView&, int, const std::string&) const override {
    return absl::OkStatus();
  }
  absl::Status Load(const VectorView&, const std::string&) override { return absl::OkStatus(); }
  void SetEffort(const Effort& effort) override { tenths_ = effort.breadth; }
  absl::Status Search(const float* query, int k, std::vector<int64_t>* rows) override {
    ++searches[tenths_];
    const auto number = (query - corpus_->queries.data()) / corpus_->queries.dimension();
    rows->assign(k, -1);
    for (int i = 0; i < std::min(k, k * tenths_ / 10); ++i) {
      (*rows)[i] = corpus_->truth[number][i];
    }
    return fails ? absl::InternalError("failed") : absl::OkStatus();
  }

  std::map<int, int> searches;
  bool fails = false;

 private:
  const std::string name_;
  const bool ours_;
  const AnnCorpus* const corpus_;
  int tenths_ = 0;
};

MeasuredContender Measured(const AnnCorpus* corpus, const std::string& name, bool ours) {
  MeasuredContender measured;
  measured.contender = std::make_unique<Teller>(name, ours, corpus);
  return measured;
}

TEST_CASE("recall is the share of the first k that was found, wherever it stands") {
  REQUIRE(RecallAt(2, {5, 7}, {7, 5}) == 1);
  REQUIRE(RecallAt(2, {5, 9, 7}, {7, 5}) == 0.5);
  REQUIRE(RecallAt(3, {7}, {7, 5, 4, 3}) == Approx(1.0 / 3));
  REQUIRE(RecallAt(10, {7, 5}, {7, 5}) == 1);
  REQUIRE(RecallAt(10, {}, {}) == 1);
}

TEST_CASE("a corpus knows the true neighbors of its queries") {
  const AnnCorpus corpus = SmallCorpus();
  REQUIRE(corpus.truth.size() == kQueries);
  for (int query = 0; query < kQueries; ++query) {
    REQUIRE(corpus.truth[query].size() == kTruthDepth);
    std::vector<double> scores;
    for (const int64_t row : corpus.truth[query]) {
      double score = 0;
      for (int k = 0; k < 8; ++k) {
        score += corpus.queries.row(query)[k] * corpus.items.float_row(row)[k];
      }
      scores.push_back(score);
    }
    REQUIRE(std::is_sorted(scores.rbegin(), scores.rend(),
                           [](double a, double b) { return a < b - 1e-6; }));
  }
  REQUIRE(SmallCorpus().key == corpus.key);
  ComputePool pool(1);
  VectorSpec other;
  other.dimension = 8;
  other.seed = 2;
  REQUIRE(DrawAnnCorpus(other, 300, 1, &pool)->key != corpus.key);
}

TEST_CASE("efforts are tried until nothing is left to find") {
  const AnnCorpus corpus = SmallCorpus();
  MeasuredContender measured = Measured(&corpus, "ours", true);
  REQUIRE(ChooseEfforts(corpus, 10, 0.75, &measured).ok());
  const auto& teller = static_cast<Teller&>(*measured.contender);
  REQUIRE(teller.searches.count(10) == 1);
  REQUIRE(teller.searches.count(11) == 0);
  std::set<double> recalls;
  for (const MeasuredEffort& effort : measured.efforts) {
    REQUIRE(effort.recall == Approx(effort.effort.breadth / 10.0));
    REQUIRE(effort.recall_100 == Approx(effort.recall));
    recalls.insert(effort.recall);
  }
  REQUIRE(recalls.count(1.0) == 1);
}

TEST_CASE("low efforts are dropped but for one to go up from, and so are slow ones") {
  const auto tried = [](double recall, double seconds) {
    MeasuredEffort effort;
    effort.recall = recall;
    effort.round_seconds = {seconds};
    return effort;
  };
  // At 0.8 the front takes 3 s.
  const std::vector<MeasuredEffort> kept = EffortsWorthTurns(
      {tried(0.5, 1), tried(0.7, 2), tried(0.8, 3), tried(0.8, 4.4), tried(0.8, 4.6), tried(1, 9)},
      0.75);
  std::vector<double> recalls;
  for (const MeasuredEffort& effort : kept) {
    REQUIRE(effort.round_seconds.empty());
    recalls.push_back(effort.recall);
  }
  REQUIRE(recalls == std::vector<double>{0.7, 0.8, 0.8, 1});
}

TEST_CASE("every effort of every contender answers every query in each round") {
  const AnnCorpus corpus = SmallCorpus();
  std::vector<MeasuredContender> contenders;
  for (const char* const name : {"a", "b"}) {
    MeasuredContender& measured = contenders.emplace_back(Measured(&corpus, name, false));
    for (const int tenths : {8, 10}) {
      measured.efforts.push_back({{std::to_string(tenths), tenths}, tenths / 10.0, 0, {}, {}});
    }
  }
  std::vector<int> told;
  TurnOptions options;
  options.rounds = 3;
  options.processor_time = GENERATE(false, true);
  const auto tell = [&told](int round) { told.push_back(round); };
  REQUIRE(TakeTurns(corpus, options, tell, &contenders).ok());
  REQUIRE(told == std::vector<int>{0, 1, 2});
  for (const MeasuredContender& measured : contenders) {
    for (const MeasuredEffort& effort : measured.efforts) {
      REQUIRE(effort.round_seconds.size() == 3);
      REQUIRE(effort.seconds.size() == 3 * kQueries);
      const auto& teller = static_cast<Teller&>(*measured.contender);
      REQUIRE(teller.searches.at(effort.effort.breadth) == 3 * 2 * kQueries);  // and warm-up
    }
  }

  static_cast<Teller&>(*contenders[1].contender).fails = true;
  REQUIRE(absl::IsInternal(TakeTurns(corpus, options, tell, &contenders)));
}

TEST_CASE("the report compares ours with others, at equal recall and of the same round") {
  const AnnCorpus corpus = SmallCorpus();
  AnnReport report;
  report.items_are = "300 x 8";
  report.items = 300;
  report.queries = kQueries;
  report.top_k = 10;
  report.rounds = 3;
  report.recalls = {0.9};
  report.contenders.push_back(Measured(&corpus, "ours", true));
  report.contenders.push_back(Measured(&corpus, "peer", false));
  report.contenders.push_back(Measured(&corpus, "poor", false));
  // Twice as fast in each round, however slow the round was.
  report.contenders[0].efforts = {{{"x"}, 0.9, 0.8, {1, 2, 4}, {1, 2, 4}}};
  report.contenders[1].efforts = {{{"y"}, 0.95, 0.9, {2, 4, 8}, {2, 4, 8}}};
  report.contenders[2].efforts = {{{"z"}, 0.5, 0.4, {1, 1, 1}, {1, 1, 1}}};
  report.contenders[0].bytes = 300;
  report.contenders[1].bytes = 1200;
  report.contenders[2].bytes = 300;

  const std::string json = JsonOf(report);
  REQUIRE(absl::StrContains(json, "\"to\": \"peer\",\n   \"rate\": 2.0"));
  REQUIRE(absl::StrContains(json, "\"bytes\": 0.25"));
  REQUIRE_FALSE(absl::StrContains(json, "\"to\": \"poor\""));
  const std::string text = TextOf(report);
  REQUIRE(absl::StrContains(text, "at recall 0.9"));
  REQUIRE(absl::StrContains(text, "[2.00, 2.00]"));
  REQUIRE(report.contenders[0].SecondsAtRecall(0.9, 2) == 4);
  REQUIRE(report.contenders[0].SecondsAtRecall(0.9, absl::nullopt) == 2);
  REQUIRE(report.contenders[2].FastestAt(0.9) == nullptr);
}

TEST_CASE("a ladder has two steps to a doubling") {
  REQUIRE(EffortLadder(1, 12) == std::vector<int>{1, 2, 3, 4, 6, 8, 12});
  REQUIRE(EffortLadder(10, 40) == std::vector<int>{12, 16, 24, 32});
  REQUIRE(EffortLadder(5, 5).empty());
}

}  // namespace
}  // namespace sightline
