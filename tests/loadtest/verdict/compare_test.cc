#include "loadtest/verdict/compare.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "tests/loadtest/verdict/synthetic_fleet.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr double kRate = 60;

// A minute whose seconds wander by a tenth and remember each other.
SyntheticFleet NoisyFleet() {
  SyntheticFleet fleet;
  fleet.seconds = 60;
  fleet.warm_up_seconds = 3;
  fleet.wander = 0.1;
  fleet.memory = 0.5;
  fleet.error_share = 0.01;
  fleet.degraded_share = 0.05;
  fleet.deadline = absl::Seconds(10);
  return fleet;
}

std::vector<LoadResult> Runs(const SyntheticFleet& fleet, int count, double run_wander,
                             std::mt19937_64* random) {
  std::normal_distribution<double> normal(0, 1);
  std::vector<LoadResult> runs;
  for (int i = 0; i < count; ++i) {
    SyntheticFleet one = fleet;
    if (run_wander > 0) one.slowness *= std::exp(run_wander * normal(*random));
    runs.push_back(one.Run(kRate, random));
  }
  return runs;
}

Comparison CompareRuns(const std::vector<LoadResult>& a, const std::vector<LoadResult>& b,
                       const CompareOptions& options) {
  const auto comparison = Compare(a, b, options);
  REQUIRE(comparison.status().message() == "");
  return *comparison;
}

const FigureChange& Find(const Comparison& comparison, absl::string_view name) {
  for (const FigureChange& change : comparison.changes) {
    if (change.name == name) return change;
  }
  FAIL("no figure " << name);
  return comparison.changes[0];
}

// How many of `comparisons` call B worse than A.
int Regressions(const SyntheticFleet& a, const SyntheticFleet& b, int runs, double run_wander,
                int comparisons, CompareOptions options) {
  int regressions = 0;
  options.resamples = 200;
  for (int seed = 0; seed < comparisons; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<LoadResult> runs_a = Runs(a, runs, run_wander, &random);
    const std::vector<LoadResult> runs_b = Runs(b, runs, run_wander, &random);
    regressions += CompareRuns(runs_a, runs_b, options).outcome() == Ruling::kFail;
  }
  return regressions;
}

// The rule alone, so that its promise can be seen to hold.
CompareOptions AnyChangeMatters() {
  CompareOptions options;
  options.false_alarms = 0.1;
  options.min_latency_change = 0;
  options.min_share_change = 0;
  return options;
}

TEST_CASE("a fleet that is compared with itself raises no more alarms than promised") {
  // 300 x 0.1 = 30 are allowed.
  const int alarms = Regressions(NoisyFleet(), NoisyFleet(), 1, 0, 300, AnyChangeMatters());
  REQUIRE(alarms <= 30);
}

TEST_CASE("runs that differ by themselves raise no more alarms than promised") {
  const int alarms = Regressions(NoisyFleet(), NoisyFleet(), 4, 0.1, 150, AnyChangeMatters());
  REQUIRE(alarms <= 15);
}

TEST_CASE("with the usual options, a fleet compared with itself is silent") {
  // One and a half are promised; these seconds remember each other beyond a block.
  REQUIRE(Regressions(NoisyFleet(), NoisyFleet(), 1, 0, 150, CompareOptions()) <= 3);
}

TEST_CASE("a fleet that is a fifth slower is told") {
  SyntheticFleet slower = NoisyFleet();
  slower.slowness = 1.2;
  const int one_run = Regressions(NoisyFleet(), slower, 1, 0, 100, CompareOptions());
  const int five_runs = Regressions(NoisyFleet(), slower, 5, 0.02, 40, CompareOptions());
  REQUIRE(one_run >= 90);
  REQUIRE(five_runs == 40);
  // The other way round, it is no regression.
  REQUIRE(Regressions(slower, NoisyFleet(), 1, 0, 100, CompareOptions()) <= 1);
}

TEST_CASE("a change has its size, its interval and its direction") {
  std::mt19937_64 random(1);
  SyntheticFleet slower = NoisyFleet();
  slower.slowness = 1.5;
  const auto a = Runs(NoisyFleet(), 1, 0, &random), b = Runs(slower, 1, 0, &random);
  const Comparison comparison = CompareRuns(a, b, CompareOptions());
  const FigureChange& median = Find(comparison, "latency p50");
  REQUIRE(median.kind == ChangeKind::kRegression);
  REQUIRE(median.low < median.change);
  REQUIRE(median.change < median.high);
  REQUIRE(median.change == Approx(0.5).margin(0.25));
  REQUIRE(Find(comparison, "failed requests").kind == ChangeKind::kNone);
  REQUIRE(Find(CompareRuns(b, a, CompareOptions()), "latency p50").kind ==
          ChangeKind::kImprovement);
  REQUIRE(CompareRuns(b, a, CompareOptions()).outcome() == Ruling::kPass);
}

TEST_CASE("more failures are told, and a single one is not") {
  std::mt19937_64 random(1);
  SyntheticFleet good = NoisyFleet(), bad = NoisyFleet();
  good.error_share = 0;
  bad.error_share = 0.03;
  const auto a = Runs(good, 1, 0, &random);
  REQUIRE(
      Find(CompareRuns(a, Runs(bad, 1, 0, &random), CompareOptions()), "failed requests").kind ==
      ChangeKind::kRegression);
  auto b = Runs(good, 1, 0, &random);
  --b[0].seconds[30].tally.ok;
  CompareOptions options;
  options.min_share_change = 0;
  REQUIRE(Find(CompareRuns(a, b, options), "failed requests").kind == ChangeKind::kNone);
}

TEST_CASE("a change too small to matter is none, however sure it is") {
  std::mt19937_64 random(1);
  SyntheticFleet steady = NoisyFleet(), slower = NoisyFleet();
  steady.wander = slower.wander = 0;
  steady.exact = slower.exact = true;
  slower.slowness = 1.04;
  const auto a = Runs(steady, 1, 0, &random), b = Runs(slower, 1, 0, &random);
  REQUIRE(Find(CompareRuns(a, b, CompareOptions()), "latency p50").kind == ChangeKind::kNone);
  CompareOptions options;
  options.min_latency_change = 0.01;
  REQUIRE(Find(CompareRuns(a, b, options), "latency p50").kind == ChangeKind::kRegression);
}

TEST_CASE("the warm-up is not compared") {
  std::mt19937_64 random(1);
  const auto a = Runs(NoisyFleet(), 1, 0, &random);
  auto b = a;
  b[0].seconds[1].tally.latency.Record(absl::Seconds(50), 100'000);
  b[0].seconds[1].tally.count += 100'000;
  const Comparison comparison = CompareRuns(a, b, CompareOptions());
  for (const FigureChange& change : comparison.changes) REQUIRE(change.change == 0);
}

TEST_CASE("equal seeds give equal results") {
  std::mt19937_64 random(1);
  const auto a = Runs(NoisyFleet(), 1, 0, &random), b = Runs(NoisyFleet(), 1, 0, &random);
  CompareOptions other;
  other.seed = 2;
  const double high = Find(CompareRuns(a, b, CompareOptions()), "latency p99").high;
  REQUIRE(Find(CompareRuns(a, b, CompareOptions()), "latency p99").high == high);
  REQUIRE(Find(CompareRuns(a, b, other), "latency p99").high != high);
}

TEST_CASE("what cannot be told is not measurable") {
  std::mt19937_64 random(1);
  SyntheticFleet brief = NoisyFleet();
  brief.seconds = 10;
  const auto a = Runs(NoisyFleet(), 1, 0, &random), b = Runs(brief, 1, 0, &random);
  const Comparison comparison = CompareRuns(a, b, CompareOptions());
  REQUIRE(comparison.outcome() == Ruling::kInconclusive);
  REQUIRE(absl::StrContains(comparison.changes[0].reason, "too short"));

  brief.seconds = 15;  // 15 x 60 are 900, nine of them beyond 99 %
  const auto c = Runs(brief, 1, 0, &random);
  const Comparison longer = CompareRuns(a, c, CompareOptions());
  REQUIRE(Find(longer, "latency p99").kind == ChangeKind::kNotMeasurable);
  REQUIRE(Find(longer, "latency p50").kind == ChangeKind::kNone);

  const std::vector<LoadResult> nothing(1, [] {
    LoadResult empty;
    empty.scenario = "synthetic";
    return empty;
  }());
  REQUIRE(CompareRuns(nothing, nothing, CompareOptions()).outcome() == Ruling::kInconclusive);
}

TEST_CASE("a late generator, another rate and wrong answers are told") {
  std::mt19937_64 random(1);
  const auto a = Runs(NoisyFleet(), 1, 0, &random);
  auto late = a;
  late[0].generator.kept_schedule = false;
  REQUIRE(CompareRuns(a, late, CompareOptions()).outcome() == Ruling::kInconclusive);
  REQUIRE(absl::StrContains(CompareRuns(a, late, CompareOptions()).doubts[0], "run 1 of B"));
  auto faster = a;
  faster[0].intended_rate *= 1.2;
  REQUIRE(CompareRuns(a, faster, CompareOptions()).outcome() == Ruling::kInconclusive);
  auto wrong = late;
  wrong[0].total.check_failures["order"] = 1;
  REQUIRE(CompareRuns(a, wrong, CompareOptions()).outcome() == Ruling::kFail);
  // Those of A are no excuse, and those of the warm-up count.
  REQUIRE(CompareRuns(wrong, wrong, CompareOptions()).outcome() == Ruling::kFail);
  auto in_warm_up = a;
  in_warm_up[0].seconds[0].tally.check_failures["order"] = 1;
  REQUIRE(CompareRuns(a, in_warm_up, CompareOptions()).outcome() == Ruling::kFail);
  auto taken_late = a;
  taken_late[0].total.check_failures["late"] = 1;
  REQUIRE(CompareRuns(a, taken_late, CompareOptions()).outcome() == Ruling::kPass);
  REQUIRE(CompareRuns(a, a, CompareOptions()).notes.size() == 1);
}

TEST_CASE("runs on different machines cannot be compared") {
  std::mt19937_64 random(1);
  auto a = Runs(NoisyFleet(), 1, 0, &random);
  a[0].environment = {{"cpu", "fast"}, {"cores", "2"}, {"kernel", "6.1"}};
  auto b = a;
  b[0].environment["kernel"] = "6.2";
  REQUIRE(CompareRuns(a, b, CompareOptions()).doubts.empty());
  b[0].environment["cores"] = "4";
  const Comparison comparison = CompareRuns(a, b, CompareOptions());
  REQUIRE(comparison.outcome() == Ruling::kInconclusive);
  REQUIRE(comparison.doubts[0] == "runs of different machines; cores: 2, 4");
}

// ---- capacities ----

CapacityRun Search(double held, double broken) {
  CapacityRun run;
  run.held = held;
  run.broken = broken;
  return run;
}

Comparison CompareSearches(const std::vector<CapacityRun>& a, const std::vector<CapacityRun>& b) {
  const auto comparison = CompareCapacities(a, b);
  REQUIRE(comparison.status().message() == "");
  REQUIRE(comparison->changes.size() == 1);
  return *comparison;
}

TEST_CASE("a capacity is worse if it broke where the other one held") {
  const std::vector<CapacityRun> a = {Search(90, 99)};
  const Comparison worse = CompareSearches(a, {Search(80, 90)});
  REQUIRE(worse.outcome() == Ruling::kFail);
  REQUIRE(worse.changes[0].kind == ChangeKind::kRegression);
  REQUIRE(worse.changes[0].a == "90 to 99/s");
  REQUIRE(worse.changes[0].change == Approx(80.0 / 90 - 1));
  REQUIRE(worse.changes[0].low == Approx(80.0 / 99 - 1));
  REQUIRE(worse.changes[0].high == Approx(0));
  REQUIRE(CompareSearches(a, {Search(81, 91)}).changes[0].kind == ChangeKind::kNone);
  REQUIRE(CompareSearches(a, {Search(99, 120)}).changes[0].kind == ChangeKind::kImprovement);
  // Searches that overlap with one of the other side tell of nothing.
  REQUIRE(CompareSearches({Search(90, 99), Search(60, 66)}, {Search(61, 70)}).outcome() ==
          Ruling::kPass);
}

TEST_CASE("a search that never broke has no upper end") {
  const std::vector<CapacityRun> endless = {Search(500, std::numeric_limits<double>::infinity())};
  REQUIRE(CompareSearches(endless, {Search(300, 330)}).outcome() == Ruling::kFail);
  REQUIRE(CompareSearches({Search(300, 330)}, endless).outcome() == Ruling::kPass);
  REQUIRE(CompareSearches(endless, endless).changes[0].kind == ChangeKind::kNone);
  REQUIRE(CompareSearches(endless, endless).changes[0].a == "500/s or more");
}

TEST_CASE("searches that were not judged, other machines and wrong answers are told") {
  const std::vector<CapacityRun> a = {Search(90, 99)};
  CapacityRun b = Search(10, 11);
  b.judged = false;
  REQUIRE(CompareSearches(a, {b}).outcome() == Ruling::kInconclusive);
  b.wrong_answers = true;
  REQUIRE(CompareSearches(a, {b}).outcome() == Ruling::kFail);
  CapacityRun here = Search(90, 99), there = here;
  here.environment["cpu"] = "fast";
  there.environment["cpu"] = "slow";
  REQUIRE(CompareSearches({here}, {there}).outcome() == Ruling::kInconclusive);
  REQUIRE_FALSE(CompareCapacities(a, {}).ok());
}

TEST_CASE("what cannot be compared is refused") {
  std::mt19937_64 random(1);
  const auto a = Runs(NoisyFleet(), 1, 0, &random);
  auto other = a;
  other[0].scenario = "another";
  REQUIRE(Compare(a, other, CompareOptions()).status().code() ==
          absl::StatusCode::kInvalidArgument);
  REQUIRE_FALSE(Compare(a, {}, CompareOptions()).ok());
  CompareOptions options;
  options.false_alarms = 0;
  REQUIRE_FALSE(Compare(a, a, options).ok());
}

}  // namespace
}  // namespace sightline
