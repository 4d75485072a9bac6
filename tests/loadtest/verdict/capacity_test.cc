#include "loadtest/verdict/capacity.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "absl/strings/match.h"
#include "tests/loadtest/verdict/synthetic_fleet.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

Scenario Searching(double lowest, double highest, double precision) {
  Scenario scenario;
  scenario.name = "synthetic";
  scenario.slo.latency = {{0.95, absl::Milliseconds(100)}};
  scenario.slo.max_error_share = 0.01;
  scenario.capacity = CapacitySpec();
  scenario.capacity->lowest = lowest;
  scenario.capacity->highest = highest;
  scenario.capacity->precision = precision;
  return scenario;
}

// Sojourn times of M/M/1 are exponential, so p95 <= 100 ms up to this rate.
double TrueCapacity(double service_rate) {
  return service_rate - std::log(20.0) / 0.1;
}

// Windows are as long as FindCapacity's callers are told to make them.
SyntheticFleet WindowOf(SyntheticFleet fleet, const Scenario& scenario, double rate) {
  fleet.seconds = static_cast<int>(
      std::ceil(absl::ToDoubleSeconds(WindowAt(*scenario.capacity, scenario.slo, rate))));
  return fleet;
}

// Answers from a script, by rate: passes below the first number, fails from there on.
LoadResult Scripted(double rate, bool passes) {
  SyntheticFleet fleet;
  fleet.exact = true;
  fleet.service_rate = rate + (passes ? 1000 : 10);
  std::mt19937_64 random(1);
  return fleet.Run(rate, &random);
}

TEST_CASE("the capacity of a server is where its queue makes requests late") {
  for (double service_rate : {80.0, 200.0, 555.0}) {
    for (double precision : {0.2, 0.02}) {
      SyntheticFleet fleet;
      fleet.exact = true;
      fleet.service_rate = service_rate;
      std::mt19937_64 random(1);
      const Scenario scenario = Searching(1, 1000, precision);
      const auto result = FindCapacity(scenario, [&](double rate) -> absl::StatusOr<LoadResult> {
        return WindowOf(fleet, scenario, rate).Run(rate, &random);
      });
      REQUIRE(result.ok());
      const double truth = TrueCapacity(service_rate);
      INFO(service_rate << " " << precision << ": " << result->rate << " " << truth);
      REQUIRE(result->ending == CapacityEnding::kFound);
      REQUIRE(result->outcome() == Ruling::kPass);
      // Quantiles are up to 1/128 too high; the number of requests a second is whole.
      REQUIRE(result->rate <= truth + 1);
      REQUIRE(result->broken_rate >= truth * 0.98 - 1);
      REQUIRE(result->broken_rate <= result->rate * (1 + precision) * 1.0001);
      REQUIRE(absl::StrContains(result->why, "latency p95"));
      REQUIRE(result->steps.back().confirming);
      REQUIRE(result->steps.back().point.rate == result->rate);
      // log2 of ln(1000) / ln(1.02) is 8.4; failures are measured twice.
      REQUIRE(result->steps.size() <= 22);
    }
  }
}

TEST_CASE("chance and bad windows seldom lead a search astray") {
  int near = 0;
  constexpr int kSearches = 60;
  for (int seed = 0; seed < kSearches; ++seed) {
    std::mt19937_64 random(seed);
    const SyntheticFleet fleet;
    std::bernoulli_distribution is_bad(0.1);
    const Scenario scenario = Searching(5, 500, 0.05);
    const auto result = FindCapacity(scenario, [&](double rate) -> absl::StatusOr<LoadResult> {
      SyntheticFleet now = WindowOf(fleet, scenario, rate);
      if (is_bad(random)) now.slowness = 10;
      return now.Run(rate, &random);
    });
    REQUIRE(result.ok());
    near += std::abs(result->rate / TrueCapacity(fleet.service_rate) - 1) < 0.12;
  }
  INFO(near);
  REQUIRE(near >= kSearches * 8 / 10);
}

TEST_CASE("a single bad window is tried again; a second one fails the rate") {
  for (int bad_windows : {1, 2}) {
    int left = bad_windows;
    const auto result =
        FindCapacity(Searching(10, 100, 0.5), [&](double rate) -> absl::StatusOr<LoadResult> {
          return Scripted(rate, rate < 100 || left-- <= 0);
        });
    REQUIRE(result.ok());
    if (bad_windows == 1) {
      REQUIRE(result->ending == CapacityEnding::kAboveHighest);
      REQUIRE(result->rate == 100);
      // Lowest; highest bad, good, good; confirmed.
      REQUIRE(result->steps.size() == 5);
    } else {
      REQUIRE(result->ending == CapacityEnding::kFound);
      REQUIRE(result->broken_rate == 100);
      REQUIRE(result->rate > 66);
    }
  }
}

TEST_CASE("one good window does not save a rate that fails again") {
  int window = 0;
  const auto result =
      FindCapacity(Searching(10, 100, 0.5), [&](double rate) -> absl::StatusOr<LoadResult> {
        return Scripted(rate, rate < 100 || ++window == 2);
      });
  REQUIRE(result.ok());
  REQUIRE(window == 3);
  REQUIRE(result->broken_rate == 100);
}

TEST_CASE("a rate that does not hold a second time gives way to a lower one") {
  int at_highest = 0;
  const auto result =
      FindCapacity(Searching(10, 100, 0.2), [&](double rate) -> absl::StatusOr<LoadResult> {
        return Scripted(rate, rate < 50 || (rate == 100 && ++at_highest == 1));
      });
  REQUIRE(result.ok());
  REQUIRE(result->ending == CapacityEnding::kFound);
  REQUIRE(result->rate < 50);
  REQUIRE(result->rate > 50 / 1.2 - 1);
}

TEST_CASE("both ends of the range are told as such") {
  const auto all =
      FindCapacity(Searching(10, 100, 0.1), [](double rate) { return Scripted(rate, true); });
  REQUIRE(all->ending == CapacityEnding::kAboveHighest);
  REQUIRE(all->rate == 100);
  REQUIRE(all->broken_rate == 0);
  REQUIRE(all->outcome() == Ruling::kPass);

  const auto none =
      FindCapacity(Searching(10, 100, 0.1), [](double rate) { return Scripted(rate, false); });
  REQUIRE(none->ending == CapacityEnding::kBelowLowest);
  REQUIRE(none->rate == 0);
  REQUIRE(none->outcome() == Ruling::kFail);
  REQUIRE(none->steps.size() == 2);
}

TEST_CASE("rates that the generator cannot reach are not called the fleet's limit") {
  const auto result =
      FindCapacity(Searching(10, 100, 0.1), [](double rate) -> absl::StatusOr<LoadResult> {
        LoadResult result = Scripted(rate, true);
        result.generator.kept_schedule = rate < 60;
        return result;
      });
  REQUIRE(result.ok());
  REQUIRE(result->ending == CapacityEnding::kInconclusive);
  REQUIRE(result->outcome() == Ruling::kInconclusive);
  REQUIRE(result->rate > 53);
  REQUIRE(result->rate < 60);
  REQUIRE(absl::StrContains(result->why, "did not keep its schedule"));
}

// As of a fleet that looks less hard the more it is asked, and is in time all the same.
TEST_CASE("a capacity is at a recall: no rate holds at which measured recall does not") {
  Scenario scenario = Searching(10, 100, 0.1);
  scenario.slo.min_measured_recall = 0.95;
  scenario.mix.resize(1);
  scenario.mix[0].name = "words";
  scenario.mix[0].measure_recall = 10;
  const auto result = FindCapacity(scenario, [](double rate) -> absl::StatusOr<LoadResult> {
    LoadResult result = Scripted(rate, true);
    result.total.measured_recall = RecallCounts{100, 0, 1000, rate <= 60 ? 960 : 940};
    result.by_kind["words"] = result.total;
    return result;
  });
  REQUIRE(result.ok());
  REQUIRE(result->ending == CapacityEnding::kFound);
  REQUIRE(result->rate > 53);
  REQUIRE(result->rate <= 60);
  REQUIRE(result->broken_rate > 60);
  REQUIRE(absl::StrContains(result->why, "measured recall of words 94% (at least 95%)"));
  REQUIRE(result->steps.back().point.measured_recall->recall() == 0.96);
}

TEST_CASE("an inconclusive window is measured again") {
  int windows = 0;
  const auto result =
      FindCapacity(Searching(10, 100, 0.1), [&](double rate) -> absl::StatusOr<LoadResult> {
        LoadResult result = Scripted(rate, true);
        result.generator.kept_schedule = ++windows % 3 == 0;
        return result;
      });
  REQUIRE(result->ending == CapacityEnding::kAboveHighest);
}

TEST_CASE("wrong answers fail a rate at once, and the search with it") {
  const auto result =
      FindCapacity(Searching(10, 100, 0.1), [](double rate) -> absl::StatusOr<LoadResult> {
        LoadResult result = Scripted(rate, true);
        if (rate > 50) result.total.check_failures["order"] = 1;
        return result;
      });
  REQUIRE(result->wrong_answers);
  REQUIRE(result->rate <= 50);
  REQUIRE(result->outcome() == Ruling::kFail);
}

TEST_CASE("errors of the measurement end the search, with the rate") {
  const auto result = FindCapacity(Searching(10, 100, 0.1),
                                   [](double) { return absl::UnavailableError("fleet is gone"); });
  REQUIRE(result.status() == absl::UnavailableError("at 10 requests/s: fleet is gone"));
  REQUIRE_FALSE(FindCapacity(Scenario(), nullptr).ok());
}

TEST_CASE("a fleet that is never twice the same does not keep the search for ever") {
  std::mt19937_64 random(1);
  int windows = 0;
  const auto result =
      FindCapacity(Searching(1e-3, 1e6, 0.001), [&](double rate) -> absl::StatusOr<LoadResult> {
        ++windows;
        LoadResult result = Scripted(1, true);
        // Passes whenever it is first asked, and not when it is to be confirmed.
        if (rate > 1e-3 && windows > 3 && windows % 2 == 0) result.total.ok = 0;
        return result;
      });
  REQUIRE(windows <= kMaxWindows);
  if (!result.ok()) REQUIRE(result.status().code() == absl::StatusCode::kAborted);
}

TEST_CASE("windows are long enough for the highest percentile, within reason") {
  CapacitySpec capacity;
  capacity.window = absl::Seconds(20);
  Slo slo;
  REQUIRE(WindowAt(capacity, slo, 1) == absl::Seconds(20));
  slo.latency = {{0.5, absl::Seconds(1)}, {0.99, absl::Seconds(1)}};
  REQUIRE(WindowAt(capacity, slo, 1000) == absl::Seconds(20));
  const absl::Duration window = WindowAt(capacity, slo, 20);
  REQUIRE(window > absl::Seconds(50));
  REQUIRE(window < absl::Seconds(60));
  REQUIRE(WindowAt(capacity, slo, 0.01) == absl::Seconds(200));
}

// ---- the curve ----

std::vector<CurvePoint> CurveOf(const SyntheticFleet& fleet, const std::vector<double>& rates) {
  std::mt19937_64 random(3);
  std::vector<CurvePoint> points;
  for (double rate : rates) points.push_back(PointOf(rate, fleet.Run(rate, &random)));
  return SaturationCurve(points);
}

TEST_CASE("the curve is sorted, and windows of one rate are joined") {
  CurvePoint a, b, c;
  a.rate = b.rate = 20;
  a.achieved = 10;
  b.achieved = 20;
  a.error_share = 0.5;
  a.measured_recall = RecallCounts{1, 2, 10, 9};
  b.measured_recall = RecallCounts{3, 0, 30, 29};
  a.p50 = absl::Seconds(1);
  b.p50 = absl::Seconds(3);
  c.rate = 5;
  const std::vector<CurvePoint> curve = SaturationCurve({a, b, c});
  REQUIRE(curve.size() == 2);
  REQUIRE(curve[0].rate == 5);
  REQUIRE_FALSE(curve[0].p50);
  REQUIRE(curve[1].achieved == 15);
  REQUIRE(curve[1].error_share == 0.25);
  REQUIRE(curve[1].windows == 2);
  REQUIRE(curve[1].measured_recall->answers == 4);
  REQUIRE(curve[1].measured_recall->recall() == 0.95);
  REQUIRE_FALSE(curve[0].measured_recall.has_value());
  REQUIRE(*curve[1].p50 == absl::Seconds(2));
  REQUIRE(SaturationCurve({}).empty());
}

TEST_CASE("a point tells what was answered and how fast") {
  SyntheticFleet fleet;
  fleet.exact = true;
  std::mt19937_64 random(1);
  const CurvePoint point = PointOf(50, fleet.Run(50, &random));
  REQUIRE(point.achieved == 50);
  // Median and 99 % of an exponential distribution of rate 100 - 50.
  REQUIRE(absl::ToDoubleSeconds(*point.p50) == Approx(std::log(2.0) / 50).epsilon(0.03));
  REQUIRE(absl::ToDoubleSeconds(*point.p99) == Approx(std::log(100.0) / 50).epsilon(0.1));
  REQUIRE(point.error_share == 0);
}

TEST_CASE("the knee is where more load brings no more answers") {
  SyntheticFleet fleet;
  const std::vector<CurvePoint> curve = CurveOf(fleet, {25, 50, 75, 100, 125, 150, 175, 200});
  const absl::optional<int> knee = Knee(curve);
  REQUIRE(knee);
  REQUIRE(curve[*knee].rate == 100);
}

TEST_CASE("a fleet that collapses has its knee at the top") {
  std::vector<CurvePoint> curve;
  for (const auto& [rate, achieved] : std::vector<std::pair<double, double>>{
           {10, 10}, {20, 20}, {30, 30}, {40, 28}, {50, 15}, {60, 5}}) {
    CurvePoint point;
    point.rate = rate;
    point.achieved = achieved;
    curve.push_back(point);
  }
  REQUIRE(Knee(curve) == 2);
}

TEST_CASE("without saturation, or with few points, there is no knee") {
  const SyntheticFleet fleet;
  REQUIRE_FALSE(Knee(CurveOf(fleet, {10, 20, 30, 40, 50, 60})));
  REQUIRE_FALSE(Knee(CurveOf(fleet, {50, 100, 200})));
  REQUIRE_FALSE(Knee({}));
  REQUIRE_FALSE(Knee(std::vector<CurvePoint>(5)));
}

}  // namespace
}  // namespace sightline
