#include "common/index/calibration.h"

#include <algorithm>
#include <map>

#include "common/base/limits.h"
#include "tests/common/index/scripted_index.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

constexpr int kQueries = 20;
constexpr int kNeighbors = 100;

// Query q is (q, 0), and its neighbors are 100 rows of its own.
Probes MakeProbes() {
  Probes probes;
  probes.queries = EmbeddingMatrix(kQueries, 2);
  for (int q = 0; q < kQueries; ++q) {
    probes.queries.mutable_row(q)[0] = static_cast<float>(q);
    std::vector<int64_t>& rows = probes.neighbors.emplace_back();
    for (int i = 0; i < kNeighbors; ++i) rows.push_back(q * kNeighbors + i);
  }
  return probes;
}

struct Rig {
  Rig() {
    behaviour.neighbors = probes.neighbors;
    behaviour.size = kQueries * kNeighbors;
    behaviour.dimension = 2;
    behaviour.searched = [this](int effort) {
      ++searches[effort];
      clock.Advance(absl::Microseconds(10 * effort));
    };
  }
  absl::StatusOr<std::vector<bundle::v1::EffortPoint>> Measure() {
    const ScriptedIndex index(behaviour);
    auto recalls = FindRecalls(index, probes, options, &pool, call);
    if (!recalls.ok()) return recalls.status();
    return AddTimes(index, probes, options, call, *std::move(recalls));
  }

  FakeClock clock;
  CallContext call{&clock, absl::InfiniteFuture()};
  ComputePool pool{1};
  Probes probes = MakeProbes();
  ScriptedIndex::Behaviour behaviour;
  EffortCalibrationOptions options;
  std::map<int, int> searches;
};

TEST_CASE("efforts grow until enough is found, and tell what they find and take") {
  Rig rig;
  // An effort finds as many of the best, of ten a tenth of what it is.
  rig.behaviour.finds = [](int effort, int rank) { return rank % 10 < effort; };
  const auto points = rig.Measure();
  REQUIRE(points.ok());
  std::vector<int> efforts;
  for (const auto& point : *points) {
    efforts.push_back(point.effort());
    CHECK(point.recall_at_10() == Approx(std::min(point.effort(), 10) / 10.0));
    CHECK(point.recall_at_100() == Approx(std::min(point.effort(), 10) / 10.0));
    CHECK(point.seconds() == Approx(point.effort() * 10e-6));
  }
  CHECK(efforts == std::vector<int>{1, 2, 3, 4, 6, 8, 11});
  CHECK(rig.searches.rbegin()->first == 11);
}

TEST_CASE("efforts grow on while the hundred best are not found") {
  Rig rig;
  rig.behaviour.finds = [](int effort, int rank) { return rank < 10 * effort; };
  const auto points = rig.Measure();
  REQUIRE(points.ok());
  CHECK(points->front().recall_at_10() == 1);
  CHECK(points->front().recall_at_100() == Approx(0.1));
  CHECK(points->back().effort() == 11);
  CHECK(points->back().recall_at_100() == 1);
}

TEST_CASE("an index that never finds enough is measured up to all that there is") {
  Rig rig;
  rig.behaviour.all = 100;
  rig.behaviour.finds = [](int effort, int rank) { return rank > 0 && rank <= effort; };
  const auto points = rig.Measure();
  REQUIRE(points.ok());
  CHECK(points->back().recall_at_10() == Approx(0.9));
  CHECK(rig.searches.rbegin()->first >= 100);
  CHECK(rig.searches.rbegin()->first < 200);

  // Without an end of its own: up to the rows that there are.
  Rig endless;
  endless.behaviour.all = limits::kMaxEffort + 1;
  endless.behaviour.finds = [](int, int) { return false; };
  const auto none = endless.Measure();
  REQUIRE(none.ok());
  CHECK(none->size() == 1);
  CHECK(none->front().recall_at_10() == 0);
  CHECK(endless.searches.rbegin()->first >= kQueries * kNeighbors);
}

TEST_CASE("what finds less than a lesser effort, or takes longer than a greater one, is left out") {
  Rig rig;
  // 4 finds less than 3; 6 takes longer than 8.
  rig.behaviour.finds = [](int effort, int rank) { return rank % 10 < (effort == 4 ? 2 : effort); };
  rig.behaviour.searched = [&rig](int effort) {
    rig.clock.Advance(absl::Microseconds(effort == 6 ? 500 : 10 * effort));
  };
  const auto points = rig.Measure();
  REQUIRE(points.ok());
  std::vector<int> efforts;
  for (const auto& point : *points) efforts.push_back(point.effort());
  CHECK(efforts == std::vector<int>{1, 2, 3, 8, 11});
}

TEST_CASE("a time is the median, which single pauses do not move") {
  Rig rig;
  rig.behaviour.finds = [](int, int) { return true; };
  int count = 0;
  rig.behaviour.searched = [&](int) {
    rig.clock.Advance(++count % 3 == 0 ? absl::Seconds(1) : absl::Microseconds(30));
  };
  const auto points = rig.Measure();
  REQUIRE(points.ok());
  REQUIRE(points->size() == 1);
  CHECK(points->front().seconds() == Approx(30e-6));
}

TEST_CASE("slow searches are timed in fewer passes") {
  Rig rig;
  rig.options.timed_queries = 4;
  rig.behaviour.finds = [](int, int) { return true; };
  rig.behaviour.searched = [&](int) {
    ++rig.searches[1];
    rig.clock.Advance(absl::Seconds(20));
  };
  REQUIRE(MeasureSeconds(ScriptedIndex(rig.behaviour), rig.probes, 1, rig.options, rig.call).ok());
  CHECK(rig.searches[1] == 4);  // 80 seconds, of 60
  rig.searches.clear();
  rig.options.max_time = absl::Seconds(100);
  const auto seconds =
      MeasureSeconds(ScriptedIndex(rig.behaviour), rig.probes, 1, rig.options, rig.call);
  REQUIRE(seconds.ok());
  CHECK(*seconds == Approx(20));
  CHECK(rig.searches[1] == 8);
}

}  // namespace
}  // namespace sightline
