#include "loadtest/verdict/verdict.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// 1000 requests, a millisecond apart in latency, all answered.
LoadResult GoodResult() {
  LoadResult result;
  result.length = absl::Seconds(10);
  result.intended_rate = 100;
  Tally& total = result.total;
  for (int i = 1; i <= 1000; ++i) total.latency.Record(absl::Milliseconds(i));
  total.count = total.ok = 1000;
  total.shards_asked = total.shards_answered = 2000;
  total.known_items_asked = total.known_items_found = 500;
  for (int s = 0; s < 10; ++s) {
    Second second;
    second.second = s;
    second.tally.count = second.tally.ok = 100;
    result.seconds.push_back(second);
  }
  return result;
}

Scenario Asking(const Slo& slo) {
  Scenario scenario;
  scenario.slo = slo;
  return scenario;
}

const Criterion& Find(const Verdict& verdict, absl::string_view name) {
  for (const Criterion& criterion : verdict.criteria) {
    if (criterion.name == name) return criterion;
  }
  FAIL("no criterion " << name);
  return verdict.criteria[0];
}

TEST_CASE("a run that keeps what is asked passes") {
  Slo slo;
  slo.latency = {{0.5, absl::Milliseconds(510)}, {0.99, absl::Seconds(1)}};
  slo.max_error_share = 0;
  slo.max_degraded_share = 0;
  slo.min_coverage = 1;
  slo.min_recall = 1;
  const Verdict verdict = Judge(GoodResult(), Asking(slo));
  REQUIRE(verdict.outcome == Ruling::kPass);
  REQUIRE(verdict.doubts.empty());
  REQUIRE(verdict.criteria.size() == 7);
  for (const Criterion& criterion : verdict.criteria) {
    INFO(criterion.name);
    REQUIRE(criterion.state == CriterionState::kHeld);
  }
  REQUIRE(Find(verdict, "answers").measured == "none of 1000 wrong");
  REQUIRE(Find(verdict, "latency p99").wanted == "at most 1s");
  REQUIRE(absl::StartsWith(Find(verdict, "latency p99").measured, "99"));
  REQUIRE(Find(verdict, "coverage of shards").measured == "100%");
}

TEST_CASE("each broken criterion fails the run and says what was measured") {
  LoadResult result = GoodResult();
  result.total.ok = 990;
  result.total.degraded = 99;
  result.total.shards_answered = 1000;
  result.total.known_items_found = 400;
  struct Case {
    Slo slo;
    std::string name, measured;
  };
  result.total.reranked = RerankedCounts{10, 10, 200, 70};
  std::vector<Case> cases(6);
  cases[0].slo.latency = {{0.9, absl::Milliseconds(890)}};
  cases[0].name = "latency p90";
  cases[1].slo.max_error_share = 0.009;
  cases[1].name = "failed requests";
  cases[1].measured = "1%";
  cases[2].slo.max_degraded_share = 0.09;
  cases[2].name = "degraded answers";
  cases[2].measured = "10%";
  cases[3].slo.min_coverage = 0.6;
  cases[3].name = "coverage of shards";
  cases[3].measured = "50%";
  cases[4].slo.min_recall = 0.9;
  cases[4].name = "recall of known items";
  cases[4].measured = "80%";
  cases[5].slo.min_depth_share = 0.4;
  cases[5].name = "depth of reranking";
  cases[5].measured = "35%";
  for (const Case& one : cases) {
    INFO(one.name);
    const Verdict verdict = Judge(result, Asking(one.slo));
    REQUIRE(verdict.outcome == Ruling::kFail);
    const Criterion& criterion = Find(verdict, one.name);
    REQUIRE(criterion.state == CriterionState::kBroken);
    if (!one.measured.empty()) REQUIRE(criterion.measured == one.measured);
  }
}

TEST_CASE("a percentile without ten samples beyond it is not measurable") {
  Slo slo;
  slo.latency = {{0.999, absl::Hours(1)}};
  slo.max_error_share = 0;
  const Verdict verdict = Judge(GoodResult(), Asking(slo));
  REQUIRE(verdict.outcome == Ruling::kInconclusive);
  const Criterion& criterion = Find(verdict, "latency p99.9");
  REQUIRE(criterion.state == CriterionState::kNotMeasurable);
  REQUIRE(criterion.measured.empty());
  REQUIRE(absl::StrContains(criterion.reason, "10 of 1000 samples"));
  REQUIRE(absl::StrContains(criterion.reason, "about 10000 are needed"));

  slo.min_coverage = 1;
  LoadResult result = GoodResult();
  result.total.shards_answered = 1;
  REQUIRE(Judge(result, Asking(slo)).outcome == Ruling::kFail);
}

// Two entries whose recall is measured, and one whose is not.
Scenario MeasuringRecall(double least) {
  Scenario scenario;
  scenario.slo.min_measured_recall = least;
  scenario.mix.resize(3);
  scenario.mix[0].name = "words";
  scenario.mix[1].name = "items";
  scenario.mix[2].name = "others";
  scenario.mix[0].measure_recall = scenario.mix[1].measure_recall = 10;
  return scenario;
}

TEST_CASE("measured recall is judged of each entry, whatever is promised") {
  LoadResult result = GoodResult();
  Tally& words = result.by_kind["words"];
  Tally& items = result.by_kind["items"];
  words.ok = items.ok = 100;
  words.efforts = {{"recall 0.99", 100}};
  words.measured_recall = RecallCounts{100, 0, 1000, 950};
  items.measured_recall = RecallCounts{100, 0, 1000, 1000};
  Verdict verdict = Judge(result, MeasuringRecall(0.95));
  REQUIRE(verdict.outcome == Ruling::kPass);
  REQUIRE(verdict.criteria.size() == 3);
  REQUIRE(Find(verdict, "measured recall of words").measured == "95%");
  REQUIRE(Find(verdict, "measured recall of words").wanted == "at least 95%");
  REQUIRE(Find(verdict, "measured recall of items").measured == "100%");

  words.measured_recall->found = 949;
  verdict = Judge(result, MeasuringRecall(0.95));
  REQUIRE(verdict.outcome == Ruling::kFail);
  REQUIRE(Find(verdict, "measured recall of words").state == CriterionState::kBroken);
  REQUIRE(Find(verdict, "measured recall of items").state == CriterionState::kHeld);
}

TEST_CASE("recall of answers that could not be compared is not measurable") {
  LoadResult result = GoodResult();
  const auto reason = [&result] {
    const Verdict verdict = Judge(result, MeasuringRecall(0.5));
    REQUIRE(verdict.outcome == Ruling::kInconclusive);
    return Find(verdict, "measured recall of words").reason;
  };
  REQUIRE(reason() == "no request was answered");
  result.by_kind["words"].ok = 10;
  REQUIRE(absl::StrContains(reason(), "run longer"));
  result.by_kind["words"].measured_recall = RecallCounts{0, 10, 0, 0};
  REQUIRE(absl::StrContains(reason(), "another generation"));
}

TEST_CASE("what there is nothing to tell of is not measurable") {
  LoadResult result = GoodResult();
  result.total.known_items_asked = result.total.known_items_found = 0;
  Slo slo;
  slo.min_recall = 0.5;
  Verdict verdict = Judge(result, Asking(slo));
  REQUIRE(verdict.outcome == Ruling::kInconclusive);
  REQUIRE(absl::StrContains(Find(verdict, "recall of known items").reason, "no query has known"));

  result.total.ok = 0;
  result.total.shards_asked = result.total.shards_answered = 0;
  slo.max_degraded_share = 0;
  slo.min_coverage = 1;
  verdict = Judge(result, Asking(slo));
  REQUIRE(verdict.outcome == Ruling::kInconclusive);
  for (const Criterion& criterion : verdict.criteria) {
    INFO(criterion.name);
    REQUIRE(criterion.state == CriterionState::kNotMeasurable);
    REQUIRE(criterion.reason == "no request was answered");
  }
}

TEST_CASE("a wrong answer fails, whatever else holds") {
  LoadResult result = GoodResult();
  result.total.check_failures = {{"coverage", 1}, {"order", 2}};
  result.generator.kept_schedule = false;
  Scenario scenario;
  scenario.check_answers = false;
  const Verdict verdict = Judge(result, scenario);
  REQUIRE(verdict.outcome == Ruling::kFail);
  REQUIRE(Find(verdict, "answers").measured == "1 coverage, 2 order");
}

TEST_CASE("answers that come too late are no wrong ones; many make a run inconclusive") {
  LoadResult result = GoodResult();
  result.total.check_failures = {{"late", 10}};  // of 1000
  REQUIRE(Judge(result, Scenario()).outcome == Ruling::kPass);
  result.total.check_failures = {{"late", 11}};
  const Verdict verdict = Judge(result, Scenario());
  REQUIRE(verdict.outcome == Ruling::kInconclusive);
  REQUIRE(absl::StrContains(verdict.doubts[0], "11 of 1000 answers after their deadline"));
}

TEST_CASE("a wrong answer in the warm-up fails, too, and is counted once") {
  LoadResult result = GoodResult();
  result.seconds[0].tally.check_failures = {{"order", 1}};
  REQUIRE(Judge(result, Scenario()).outcome == Ruling::kFail);
  result.total.check_failures = {{"order", 1}};
  REQUIRE(Find(Judge(result, Scenario()), "answers").measured == "1 order");
}

TEST_CASE("a generator that was late makes a run inconclusive, good or bad") {
  LoadResult result = GoodResult();
  result.generator.kept_schedule = false;
  result.generator.late = 7;
  result.generator.late_after = absl::Milliseconds(10);
  Slo slo;
  slo.latency = {{0.5, absl::Hours(1)}};
  Verdict verdict = Judge(result, Asking(slo));
  REQUIRE(verdict.outcome == Ruling::kInconclusive);
  REQUIRE(verdict.doubts.size() == 1);
  REQUIRE(absl::StrContains(verdict.doubts[0], "7 of 0 requests were sent more than 10ms late"));
  slo.latency[0].second = absl::Milliseconds(1);
  REQUIRE(Judge(result, Asking(slo)).outcome == Ruling::kInconclusive);
}

TEST_CASE("nothing asked and nothing sent are inconclusive") {
  Scenario scenario;
  REQUIRE(Judge(LoadResult(), scenario).outcome == Ruling::kInconclusive);
  scenario.check_answers = false;
  const Verdict verdict = Judge(GoodResult(), scenario);
  REQUIRE(verdict.outcome == Ruling::kInconclusive);
  REQUIRE(absl::StrContains(verdict.doubts[0], "asks for nothing"));
}

// ---- faults ----

// Done at 3.5 s, undone at 5 s, whole at 6.2 s; one request fails in each second from 2 to 8.
LoadResult FaultyResult() {
  LoadResult result = GoodResult();
  for (int s = 2; s <= 8; ++s) --result.seconds[s].tally.ok;
  FaultMark mark;
  mark.name = "kill reranker/0";
  mark.at = absl::Milliseconds(3500);
  mark.ended = absl::Seconds(5);
  mark.whole_again = absl::Milliseconds(1200);
  result.faults = {mark};
  return result;
}

Scenario Expecting(absl::optional<int64_t> max_failures,
                   absl::optional<absl::Duration> whole_within) {
  Scenario scenario;
  scenario.faults.resize(1);
  scenario.faults[0].target = "reranker/0";
  scenario.faults[0].max_failures = max_failures;
  scenario.faults[0].whole_within = whole_within;
  return scenario;
}

TEST_CASE("failures count from the fault until all is whole") {
  const LoadResult result = FaultyResult();
  const Verdict held = Judge(result, Expecting(4, absl::nullopt));
  REQUIRE(held.outcome == Ruling::kPass);
  REQUIRE(Find(held, "kill reranker/0: failed requests").measured == "4");  // seconds 3 to 6
  REQUIRE(Judge(result, Expecting(3, absl::nullopt)).outcome == Ruling::kFail);

  LoadResult never = result;
  never.faults[0].whole_again = absl::InfiniteDuration();
  REQUIRE(Find(Judge(never, Expecting(0, absl::nullopt)), "kill reranker/0: failed requests")
              .measured == "6");  // seconds 3 to 8

  LoadResult at_once = result;
  at_once.faults[0].at = at_once.faults[0].ended = absl::Seconds(4);
  at_once.faults[0].whole_again = absl::ZeroDuration();
  REQUIRE(Find(Judge(at_once, Expecting(0, absl::nullopt)), "kill reranker/0: failed requests")
              .measured == "1");  // second 4
}

// 2000 requests in each second, of `ms` milliseconds; `slow` in the seconds 3 to 6.
LoadResult SlowInFault(int ms, int slow) {
  LoadResult result = FaultyResult();
  result.faults[0].ended = absl::Milliseconds(6500);
  for (Second& second : result.seconds) {
    const bool in_fault = second.second >= 3 && second.second <= 6;
    for (int i = 0; i < 2000; ++i) {
      second.tally.latency.Record(absl::Milliseconds(in_fault ? slow : ms));
    }
  }
  return result;
}

TEST_CASE("latency in faults is compared with that outside, the warm-up aside") {
  Scenario scenario = Expecting(absl::nullopt, absl::nullopt);
  scenario.slo.max_p99_ratio_in_faults = 1.5;
  const char* const name = "latency p99 in faults over that outside";
  CHECK(Find(Judge(SlowInFault(100, 140), scenario), name).state == CriterionState::kHeld);
  const Verdict slow = Judge(SlowInFault(100, 200), scenario);
  CHECK(Find(slow, name).state == CriterionState::kBroken);
  CHECK(absl::StartsWith(Find(slow, name).measured, "2.0"));
  CHECK(slow.outcome == Ruling::kFail);

  LoadResult cold = SlowInFault(100, 200);
  cold.warm_up = absl::Seconds(7);  // the fault and all of its seconds
  CHECK(Find(Judge(cold, scenario), name).state == CriterionState::kNotMeasurable);
}

TEST_CASE("a fault for good lasts to the end of the run") {
  Scenario scenario = Expecting(absl::nullopt, absl::nullopt);
  scenario.slo.max_p99_ratio_in_faults = 1.5;
  LoadResult result = FaultyResult();
  result.faults[0].ended = result.faults[0].at;  // as FaultSchedule marks it
  for (Second& second : result.seconds) {
    for (int i = 0; i < 2000; ++i) {
      second.tally.latency.Record(absl::Milliseconds(second.second < 3 ? 100 : 200));
    }
  }
  const Criterion ratio = Find(Judge(result, scenario), "latency p99 in faults over that outside");
  CHECK(ratio.state == CriterionState::kBroken);
  CHECK(absl::StartsWith(ratio.measured, "2.0"));
}

TEST_CASE("a fleet must be whole again in time") {
  LoadResult result = FaultyResult();
  const auto judge = [&](absl::Duration within) {
    return Judge(result, Expecting(absl::nullopt, within));
  };
  REQUIRE(judge(absl::Milliseconds(1200)).outcome == Ruling::kPass);
  REQUIRE(judge(absl::Milliseconds(1199)).outcome == Ruling::kFail);
  result.faults[0].whole_again = absl::InfiniteDuration();
  const Verdict verdict = judge(absl::Hours(1));
  REQUIRE(verdict.outcome == Ruling::kFail);
  REQUIRE(Find(verdict, "kill reranker/0: whole again").measured == "not within the run");
}

TEST_CASE("a fault that was not done leaves the run inconclusive") {
  LoadResult result = FaultyResult();
  result.faults.clear();
  const Verdict verdict = Judge(result, Expecting(0, absl::nullopt));
  REQUIRE(verdict.outcome == Ruling::kInconclusive);
  REQUIRE(Find(verdict, "kill reranker/0").state == CriterionState::kNotMeasurable);
}

TEST_CASE("failed expectations are noted once, and what others noted breaks the run") {
  LoadResult result = FaultyResult();
  const Scenario scenario = Expecting(0, absl::Seconds(2));
  NoteFailedExpectations(scenario, &result);
  REQUIRE(result.faults[0].failed_expectations ==
          std::vector<std::string>{"failed requests: wanted at most 0, measured 4"});
  REQUIRE(Judge(result, scenario).criteria.size() == 3);

  LoadResult other = FaultyResult();
  other.faults[0].failed_expectations = {"the process did not start again"};
  const Verdict verdict = Judge(other, Expecting(absl::nullopt, absl::nullopt));
  REQUIRE(verdict.outcome == Ruling::kFail);
  REQUIRE(Find(verdict, "kill reranker/0").measured == "the process did not start again");
}

// ---- words ----

TEST_CASE("outcomes have an exit status each") {
  REQUIRE(ExitStatus(Ruling::kPass) == 0);
  REQUIRE(ExitStatus(Ruling::kFail) == 1);
  REQUIRE(ExitStatus(Ruling::kInconclusive) == 3);
}

TEST_CASE("shares and latencies are short and never round to all or none") {
  REQUIRE(FormatShare(0) == "0%");
  REQUIRE(FormatShare(1) == "100%");
  REQUIRE(FormatShare(1 - 1e-15) == "100%");
  REQUIRE(FormatShare(0.001234) == "0.123%");
  REQUIRE(FormatShare(0.5) == "50%");
  REQUIRE(FormatShare(0.995) == "99.5%");
  REQUIRE(FormatShare(0.999996) == "99.9996%");
  REQUIRE(FormatShare(0.00000123) == "0.000123%");
  REQUIRE(FormatLatency(absl::Microseconds(412734)) == "412.7ms");
  REQUIRE(FormatLatency(absl::Milliseconds(1204)) == "1.204s");
  REQUIRE(FormatLatency(absl::Microseconds(12)) == "12us");
}

}  // namespace
}  // namespace sightline
