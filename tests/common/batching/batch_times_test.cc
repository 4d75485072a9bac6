#include "common/batching/batch_times.h"

#include <cmath>
#include <random>

#include "tests/support/catch.h"

namespace sightline {
namespace {

double MsOf(const BatchTimes& times, double cost) {
  return absl::ToDoubleMilliseconds(times.Estimate(cost));
}

void LearnMany(BatchTimes* times, int count, int64_t cost, double ms) {
  for (int i = 0; i < count; ++i) times->Learn(cost, absl::Milliseconds(ms));
}

TEST_CASE("of what was never done nothing is said") {
  REQUIRE(BatchTimes().Estimate(1000) == absl::ZeroDuration());
}

TEST_CASE("a batch of one size says that no other takes longer") {
  BatchTimes times;
  LearnMany(&times, 100, 10, 4);
  for (const double cost : {1, 10, 360, 100'000}) REQUIRE(MsOf(times, cost) == Approx(4));
}

TEST_CASE("sizes that hardly differ are one size") {
  BatchTimes times;
  times.Learn(63, absl::Milliseconds(4));
  times.Learn(64, absl::Milliseconds(5));
  REQUIRE(MsOf(times, 64) < 5);
  REQUIRE(MsOf(times, 1) > 4);
}

TEST_CASE("two sizes tell overhead from cost, up to the larger") {
  BatchTimes times;
  times.Learn(10, absl::Milliseconds(5));  // 4 ms, and 0.1 ms for each unit
  times.Learn(1000, absl::Milliseconds(104));
  REQUIRE(MsOf(times, 1) == Approx(4.1));
  REQUIRE(MsOf(times, 500) == Approx(54));
  REQUIRE(MsOf(times, 1000) == Approx(104));
  REQUIRE(MsOf(times, 5000) == Approx(104));
}

TEST_CASE("neither overhead nor cost is negative") {
  BatchTimes growing;
  growing.Learn(10, absl::Milliseconds(1));
  growing.Learn(1000, absl::Milliseconds(1000));
  for (const double cost : {1, 10, 1000}) REQUIRE(MsOf(growing, cost) > 0);
  REQUIRE(MsOf(growing, 1) < 1);
  BatchTimes falling;
  falling.Learn(10, absl::Milliseconds(10));
  falling.Learn(1000, absl::Milliseconds(5));
  REQUIRE(MsOf(falling, 1000) == Approx(MsOf(falling, 1)));
  REQUIRE(MsOf(falling, 1) >= 5);
  REQUIRE(MsOf(falling, 1) <= 10);
}

TEST_CASE("lone queries, however many, do not make the large batch forgotten") {
  BatchTimes times;
  times.Learn(1000, absl::Milliseconds(104));
  for (int i = 0; i < 100'000; ++i) times.Learn(8 + i % 8, absl::Milliseconds(5));
  REQUIRE(MsOf(times, 1000) == Approx(104).epsilon(0.1));
}

TEST_CASE("a stall is not felt where the size is known") {
  BatchTimes times;
  LearnMany(&times, 3, 10, 5);
  LearnMany(&times, 3, 1000, 104);
  LearnMany(&times, 2, 1000, 60'000);
  LearnMany(&times, 2, 10, 60'000);
  REQUIRE(MsOf(times, 1000) == Approx(104));
  REQUIRE(MsOf(times, 10) == Approx(5));
}

TEST_CASE("a stall that is all that is known of a size is bounded, and the next batch ends it") {
  BatchTimes times;
  times.Learn(10, absl::Milliseconds(5));
  times.Learn(1000, absl::Minutes(10));
  REQUIRE(MsOf(times, 1000) <= 2500 * 1.001);  // five times 100 times as long
  times.Learn(1000, absl::Milliseconds(104));
  REQUIRE(MsOf(times, 1000) == Approx(104));
}

TEST_CASE("the first batch of all may be a stall") {
  BatchTimes times;
  times.Learn(10, absl::Minutes(10));
  times.Learn(10, absl::Milliseconds(5));
  REQUIRE(MsOf(times, 10) == Approx(5));
}

TEST_CASE("a change of pace is known after three batches of each size") {
  for (const double factor : {4.0, 0.25}) {
    BatchTimes times;
    LearnMany(&times, 50, 10, 5);
    LearnMany(&times, 50, 1000, 104);
    LearnMany(&times, 3, 10, 5 * factor);
    LearnMany(&times, 3, 1000, 104 * factor);
    for (const double cost : {10, 1000}) {
      REQUIRE(MsOf(times, cost) == Approx((4 + 0.1 * cost) * factor).epsilon(0.01));
    }
  }
}

TEST_CASE("a clock that stood still does no lasting harm") {
  BatchTimes times;
  LearnMany(&times, 5, 10, 0);
  LearnMany(&times, 5, 1000, 0);
  REQUIRE(std::isfinite(MsOf(times, 1000)));
  for (int i = 0; i < 40; ++i) {
    times.Learn(10, absl::Milliseconds(5));
    times.Learn(1000, absl::Milliseconds(104));
  }
  REQUIRE(MsOf(times, 1000) == Approx(104));
}

TEST_CASE("noise, stalls and any mix of sizes leave the estimate within a third") {
  struct Machine {
    double overhead_ms, ms_per_cost;
  };
  for (const Machine& machine : {Machine{4, 0.03}, Machine{0, 0.2}, Machine{50, 0}, {1, 5}}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      std::mt19937 random(seed);
      std::uniform_real_distribution<double> uniform(0, 1);
      BatchTimes times;
      // Mostly small ones; each of ten sizes now and then.
      for (int i = 0; i < 2000; ++i) {
        const double octaves = 10 * std::pow(uniform(random), 3);
        const auto cost = static_cast<int64_t>(4 * std::exp2(octaves));
        double ms = machine.overhead_ms + machine.ms_per_cost * static_cast<double>(cost);
        ms *= 0.85 + 0.3 * uniform(random);
        if (uniform(random) < 0.05) ms *= 20;
        times.Learn(cost, absl::Milliseconds(ms));
      }
      for (const double cost : {4, 30, 200, 1000, 3000}) {
        const double truth = machine.overhead_ms + machine.ms_per_cost * cost;
        INFO("overhead " << machine.overhead_ms << " seed " << seed << " cost " << cost);
        REQUIRE(MsOf(times, cost) > truth / 1.35);
        REQUIRE(MsOf(times, cost) < truth * 1.35);
      }
    }
  }
}

}  // namespace
}  // namespace sightline
