#include "common/index/effort_curve.h"

#include <cmath>
#include <vector>

#include "common/base/limits.h"
#include "common/index/vector_index.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

struct Point {
  int effort;
  double recall_at_10;
  double recall_at_100;
  double seconds;
};

EffortCurve CurveOf(const std::vector<Point>& points) {
  bundle::v1::ShardManifest shard;
  for (const Point& point : points) {
    bundle::v1::EffortPoint& added = *shard.add_efforts();
    added.set_effort(point.effort);
    added.set_recall_at_10(point.recall_at_10);
    added.set_recall_at_100(point.recall_at_100);
    added.set_seconds(point.seconds);
  }
  return EffortCurve(shard);
}

// Numbers that float exactly.
EffortCurve Sample() {
  return CurveOf({{8, 0.5, 0.25, 1}, {16, 0.75, 0.5, 2}, {64, 1, 0.75, 8}});
}

TEST_CASE("the least effort that finds what is asked for, straight between points") {
  const EffortCurve curve = Sample();
  REQUIRE(!curve.empty());
  REQUIRE(curve.EffortFor(0.1, 10) == 8);
  REQUIRE(curve.EffortFor(0.5, 10) == 8);
  REQUIRE(curve.EffortFor(0.625, 10) == 12);
  REQUIRE(curve.EffortFor(0.75, 10) == 16);
  REQUIRE(curve.EffortFor(0.875, 10) == 40);
  REQUIRE(curve.EffortFor(0.999, 10) == 64);
  // All of them are found by everything alone, whatever the probes say.
  REQUIRE(curve.EffortFor(1, 10) == limits::kMaxEffort);
  REQUIRE(EffortCurve().EffortFor(1, 10) == limits::kMaxEffort);
  // A part of an effort is a whole one.
  REQUIRE(curve.EffortFor(0.63, 10) == 13);
  // What nothing finds, the greatest comes nearest to.
  REQUIRE(curve.EffortFor(0.9, 100) == 64);
}

TEST_CASE("recall among more than ten runs to that among a hundred, by the logarithm") {
  const EffortCurve curve = Sample();
  REQUIRE(curve.RecallAt(8, 1) == 0.5);
  REQUIRE(curve.RecallAt(8, 10) == 0.5);
  REQUIRE(curve.RecallAt(8, 100) == 0.25);
  REQUIRE(curve.RecallAt(8, 1000) == Approx(0).margin(1e-9));
  REQUIRE(curve.RecallAt(8, 32) == Approx(0.375).margin(0.002));
  REQUIRE(curve.EffortFor(0.5, 100) == 16);
  REQUIRE(curve.EffortFor(0.5, 1) == 8);
}

TEST_CASE("beyond a hundred misses grow, even where those among ten and a hundred are as many") {
  const EffortCurve curve = CurveOf({{8, 0.75, 0.75, 1}, {64, 0.99, 0.99, 8}});
  REQUIRE(curve.RecallAt(64, 100) == Approx(0.99));
  REQUIRE(curve.RecallAt(64, 1000) == Approx(1 - 0.01 * std::pow(10, 0.7)));
  REQUIRE(curve.RecallAt(8, 1000) == Approx(0).margin(1e-9));
  REQUIRE(curve.RecallAt(64, 101) < 0.99);
  // Where they grow faster before, they go on so.
  REQUIRE(CurveOf({{8, 0.9, 0.7, 1}}).RecallAt(8, 1000) == Approx(0).margin(1e-9));
  REQUIRE(CurveOf({{8, 1, 0.99, 1}}).RecallAt(8, 1000) == Approx(1 - 0.01 * std::pow(10, 0.7)));
}

TEST_CASE("what an effort finds and costs, straight between points and level beyond") {
  const EffortCurve curve = Sample();
  // Less than the least that was measured finds no more than its part.
  REQUIRE(curve.RecallAt(1, 10) == 0.0625);
  REQUIRE(curve.RecallAt(4, 10) == 0.25);
  REQUIRE(curve.RecallAt(12, 10) == 0.625);
  REQUIRE(curve.RecallAt(64, 10) == 1);
  REQUIRE(curve.RecallAt(1000, 10) == 1);
  REQUIRE(curve.SecondsAt(1) == 1);
  REQUIRE(curve.SecondsAt(8) == 1);
  REQUIRE(curve.SecondsAt(12) == 1.5);
  REQUIRE(curve.SecondsAt(40) == 5);
  // Beyond all that was measured, time grows with what is looked at.
  REQUIRE(curve.SecondsAt(128) == 16);
}

TEST_CASE("what is asked for is what the effort finds") {
  const EffortCurve curve = CurveOf(
      {{3, 0.61, 0.5, 0.1}, {10, 0.83, 0.71, 0.2}, {11, 0.9, 0.8, 0.3}, {200, 0.993, 0.99, 3}});
  for (const int top_k : {1, 10, 20, 77, 100, 1000}) {
    for (double recall = 0; recall < curve.RecallAt(200, top_k); recall += 0.01) {
      const int effort = curve.EffortFor(recall, top_k);
      REQUIRE(curve.RecallAt(effort, top_k) >= recall - 1e-9);
      if (effort > 3) REQUIRE(curve.RecallAt(effort - 1, top_k) < recall);
    }
  }
}

TEST_CASE("a curve that dips, as measured ones do, is still followed to enough") {
  const EffortCurve curve = CurveOf({{1, 0.5, 0.5, 1}, {2, 0.4, 0.4, 2}, {10, 0.8, 0.8, 3}});
  REQUIRE(curve.EffortFor(0.5, 10) == 1);
  REQUIRE(curve.EffortFor(0.6, 10) == 6);
  REQUIRE(curve.RecallAt(2, 10) == 0.4);
}

TEST_CASE("the greatest effort that time allows, and the least one where none does") {
  const EffortCurve curve = Sample();
  REQUIRE(curve.EffortWithin(0) == 8);
  REQUIRE(curve.EffortWithin(1) == 8);
  REQUIRE(curve.EffortWithin(1.5) == 12);
  REQUIRE(curve.EffortWithin(2) == 16);
  REQUIRE(curve.EffortWithin(5) == 40);
  REQUIRE(curve.EffortWithin(8) == 64);
  // Beyond all that was measured, as SecondsAt has it.
  REQUIRE(curve.EffortWithin(16) == 128);
  REQUIRE(curve.EffortWithin(1e12) == limits::kMaxEffort);
  // The time of one point twice, as of a clock that is coarse.
  const EffortCurve level = CurveOf({{4, 0.5, 0.5, 1}, {9, 0.6, 0.6, 1}, {20, 0.7, 0.7, 2}});
  REQUIRE(level.EffortWithin(1) == 9);
  REQUIRE(level.EffortWithin(0.5) == 4);
}

TEST_CASE("nothing is known of a shard that nobody has measured") {
  const EffortCurve curve;
  REQUIRE(curve.empty());
  REQUIRE(EffortCurve(bundle::v1::ShardManifest()).empty());
  REQUIRE(curve.EffortFor(0.9, 10) == kDefaultEffort);
  REQUIRE(curve.EffortWithin(1) == kDefaultEffort);
  REQUIRE(curve.RecallAt(5, 10) == 0);
  REQUIRE(curve.SecondsAt(5) == 0);
}

}  // namespace
}  // namespace sightline
