#include "loadtest/schedule/arrivals.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

std::vector<double> AllOf(Arrivals arrivals) {
  std::vector<double> all;
  while (const auto at = arrivals()) all.push_back(absl::ToDoubleSeconds(*at));
  REQUIRE_FALSE(arrivals().has_value());
  return all;
}

std::vector<double> PoissonArrivals(double rate, absl::Duration length, uint64_t seed) {
  return AllOf(MakePoissonArrivals(rate, length, seed));
}

// The largest distance between the distribution of `samples` and `expected`, times the root
// of their number: by Kolmogorov above 1.95 once in a thousand times if they are the same.
double KolmogorovSmirnov(std::vector<double> samples,
                         const std::function<double(double)>& expected) {
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<double>(samples.size());
  double distance = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const double theory = expected(samples[i]);
    distance = std::max({distance, theory - static_cast<double>(i) / count,
                         static_cast<double>(i + 1) / count - theory});
  }
  return distance * std::sqrt(count);
}

constexpr double kKolmogorovBound = 1.95;

std::vector<double> GapsOf(const std::vector<double>& offsets) {
  std::vector<double> gaps;
  double last = 0;
  for (const double offset : offsets) {
    gaps.push_back(offset - last);
    last = offset;
  }
  return gaps;
}

// Four standard deviations of a Poisson count.
double Spread(double expected) {
  return 4 * std::sqrt(expected);
}

TEST_CASE("Poisson arrivals come at their rate, with exponential gaps that know no past") {
  for (const double rate : {0.5, 20.0, 3000.0}) {
    INFO("rate " << rate);
    const absl::Duration length = absl::Seconds(20000 / rate);
    const std::vector<double> offsets = PoissonArrivals(rate, length, 17);
    REQUIRE(std::fabs(static_cast<double>(offsets.size()) - 20000) < Spread(20000));
    REQUIRE(std::is_sorted(offsets.begin(), offsets.end()));
    REQUIRE(offsets.front() >= 0);
    REQUIRE(offsets.back() < absl::ToDoubleSeconds(length));

    const std::vector<double> gaps = GapsOf(offsets);
    REQUIRE(KolmogorovSmirnov(gaps, [rate](double gap) { return -std::expm1(-rate * gap); }) <
            kKolmogorovBound);
    double correlation = 0;
    for (size_t i = 1; i < gaps.size(); ++i) {
      correlation += (gaps[i] * rate - 1) * (gaps[i - 1] * rate - 1);
    }
    REQUIRE(std::fabs(correlation) < 4 * std::sqrt(static_cast<double>(gaps.size())));
  }
}

TEST_CASE("counts of seconds vary as much as their mean") {
  const std::vector<double> offsets = PoissonArrivals(50, absl::Seconds(2000), 3);
  std::vector<double> counts(2000, 0);
  for (const double offset : offsets) ++counts[static_cast<size_t>(offset)];
  double squares = 0;
  for (const double count : counts) squares += (count - 50) * (count - 50);
  // The variance over 2000 counts is itself off by 3 % or so (one standard deviation).
  REQUIRE(squares / 2000 == Approx(50).epsilon(0.13));
}

TEST_CASE("a seed tells all arrivals, another tells others") {
  const auto first = PoissonArrivals(100, absl::Seconds(10), 5);
  REQUIRE(PoissonArrivals(100, absl::Seconds(10), 5) == first);
  REQUIRE(PoissonArrivals(100, absl::Seconds(10), 6) != first);
  // The engine is fixed by the standard and so is our use of it.
  REQUIRE(PoissonArrivals(1, absl::Seconds(100), 1).front() == Approx(0.14372793716));
}

TEST_CASE("constant arrivals stand where they should, however many there are") {
  const std::vector<double> offsets = AllOf(MakeConstantArrivals(3, absl::Seconds(100000)));
  REQUIRE(offsets.size() == 300000);
  REQUIRE(offsets.front() == 0);
  for (size_t i = 0; i < offsets.size(); i += 997) {
    REQUIRE(std::fabs(offsets[i] - static_cast<double>(i) / 3) < 1e-8);
  }
  REQUIRE(AllOf(MakeConstantArrivals(10, absl::Seconds(1))).size() == 10);
  REQUIRE(AllOf(MakeConstantArrivals(0.1, absl::Seconds(1))).size() == 1);
}

// Arrivals that a ramp expects before `t`.
double Expected(const Ramp& ramp, double t) {
  const double hold = absl::ToDoubleSeconds(ramp.hold);
  if (t <= hold) return ramp.rate * t;
  const double slope = (ramp.end_rate - ramp.rate) / absl::ToDoubleSeconds(ramp.length);
  const double ramped = t - hold;
  return ramp.rate * t + slope * ramped * ramped / 2;
}

std::vector<Ramp> Ramps() {
  return {
      {10, 500, absl::Seconds(20), absl::Seconds(100)},
      {500, 10, absl::Seconds(20), absl::Seconds(100)},
      {0, 400, absl::Seconds(20), absl::Seconds(100)},
      {400, 0, absl::ZeroDuration(), absl::Seconds(100)},
      {200, 200, absl::Seconds(5), absl::Seconds(100)},
  };
}

TEST_CASE("a ramp's arrivals add up to the integral of its rate, from start to end") {
  for (const Ramp& ramp : Ramps()) {
    INFO("from " << ramp.rate << " to " << ramp.end_rate);
    const std::vector<double> offsets = AllOf(MakeRampArrivals(ramp, 23));
    const double end = absl::ToDoubleSeconds(ramp.hold + ramp.length);
    const double all = Expected(ramp, end);
    REQUIRE(std::is_sorted(offsets.begin(), offsets.end()));
    REQUIRE(offsets.back() < end);
    for (double t = 1; t <= end; t += 1) {
      const auto arrived = std::lower_bound(offsets.begin(), offsets.end(), t) - offsets.begin();
      REQUIRE(std::fabs(static_cast<double>(arrived) - Expected(ramp, t)) <=
              Spread(Expected(ramp, t)) + 4);
    }
    // Given their number, the times are independent and spread as the rate is.
    REQUIRE(KolmogorovSmirnov(offsets, [&](double t) { return Expected(ramp, t) / all; }) <
            kKolmogorovBound);
  }
}

TEST_CASE("a ramp is stretched back to gaps of one rate by its integral") {
  for (const Ramp& ramp : Ramps()) {
    INFO("from " << ramp.rate << " to " << ramp.end_rate);
    std::vector<double> unit;
    for (const double offset : AllOf(MakeRampArrivals(ramp, 29))) {
      unit.push_back(Expected(ramp, offset));
    }
    REQUIRE(KolmogorovSmirnov(GapsOf(unit), [](double gap) { return -std::expm1(-gap); }) <
            kKolmogorovBound);
  }
}

TEST_CASE("a level ramp is Poisson arrivals") {
  REQUIRE(AllOf(MakeRampArrivals({50, 50, absl::ZeroDuration(), absl::Seconds(20)}, 4)) ==
          PoissonArrivals(50, absl::Seconds(20), 4));
}

TEST_CASE("at no rate, and in no time, nothing arrives") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double rate : {0.0, -1.0, nan}) {
    REQUIRE(PoissonArrivals(rate, absl::Seconds(10), 1).empty());
    REQUIRE(AllOf(MakeConstantArrivals(rate, absl::Seconds(10))).empty());
    REQUIRE(AllOf(MakeRampArrivals({rate, rate, absl::Seconds(1), absl::Seconds(10)}, 1)).empty());
  }
  REQUIRE(PoissonArrivals(10, absl::ZeroDuration(), 1).empty());
  REQUIRE(AllOf(MakeConstantArrivals(10, absl::ZeroDuration())).empty());
  REQUIRE(AllOf(MakeRampArrivals({10, 20, absl::ZeroDuration(), absl::ZeroDuration()}, 1)).empty());
}

TEST_CASE("a replay keeps its timing, divided by the speed, up to the run's end") {
  const std::vector<absl::Duration> offsets = {absl::ZeroDuration(), absl::Seconds(1),
                                               absl::Seconds(1), absl::Seconds(4)};
  const auto replay = [&offsets](double speed, double length) {
    return AllOf(MakeReplayArrivals(offsets, speed, absl::Seconds(length)));
  };
  REQUIRE(replay(1, 10) == std::vector<double>{0, 1, 1, 4});
  REQUIRE(replay(2, 10) == std::vector<double>{0, 0.5, 0.5, 2});
  REQUIRE(replay(0.5, 10) == std::vector<double>{0, 2, 2, 8});
  REQUIRE(replay(1, 4) == std::vector<double>{0, 1, 1});
  REQUIRE(AllOf(MakeReplayArrivals({}, 1, absl::Seconds(1))).empty());
}

TEST_CASE("a replay never goes back in time") {
  REQUIRE(AllOf(MakeReplayArrivals(
              {absl::Seconds(-1), absl::Seconds(2), absl::Seconds(1), absl::Seconds(3)}, 1,
              absl::Seconds(10))) == std::vector<double>{0, 2, 2, 3});
}

}  // namespace
}  // namespace sightline
