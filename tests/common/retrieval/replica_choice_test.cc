#include "common/retrieval/replica_choice.h"

#include <map>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr absl::Duration kAvoid = absl::Seconds(1);
const absl::Time kStart = absl::FromUnixSeconds(1000);

// How often each is chosen over the draws that differ in their low and high halves.
std::map<int, int> Chosen(const std::vector<Contender>& contenders) {
  std::map<int, int> times;
  for (uint64_t low = 0; low < 12; ++low) {
    for (uint64_t high = 0; high < 12; ++high) {
      ++times[ChooseReplica(contenders, low | high << 32)];
    }
  }
  return times;
}

Contender Is(Fitness fitness, bool avoided, int64_t work = 0) {
  return {fitness, avoided, work};
}

TEST_CASE("the better kind is chosen whatever its work") {
  const std::vector<Contender> worst_first = {
      Is(Fitness::kUnfit, true), Is(Fitness::kUnfit, false),  Is(Fitness::kSilent, true),
      Is(Fitness::kFit, true),   Is(Fitness::kSilent, false), Is(Fitness::kFit, false)};
  for (size_t i = 0; i < worst_first.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      Contender better = worst_first[i];
      better.work = 1000;
      CHECK(Chosen({better, worst_first[j]}) == std::map<int, int>{{0, 144}});
    }
  }
  CHECK(ChooseReplica({}, 0) == -1);
}

TEST_CASE("of equals each is chosen as often") {
  CHECK(Chosen(std::vector<Contender>(3)) == std::map<int, int>{{0, 48}, {1, 48}, {2, 48}});
}

TEST_CASE("the busiest is never chosen, the idlest most often") {
  const auto times = Chosen({Is(Fitness::kFit, false, 5), Is(Fitness::kFit, false, 9),
                             Is(Fitness::kFit, false, 2), Is(Fitness::kFit, true, 0)});
  CHECK(times == std::map<int, int>{{0, 48}, {2, 96}});
}

TEST_CASE("one that is down is avoided, then probed by one call at a time") {
  ReplicaHealth health(kAvoid);
  CHECK(health.state(kStart) == ReplicaHealth::State::kGood);
  CHECK(!health.ClaimProbe(kStart));
  health.NoteDown(kStart);
  CHECK(health.state(kStart + kAvoid - absl::Nanoseconds(1)) == ReplicaHealth::State::kAvoided);
  CHECK(health.state(kStart + kAvoid) == ReplicaHealth::State::kProbeDue);
  CHECK(health.ClaimProbe(kStart + kAvoid));
  CHECK(!health.ClaimProbe(kStart + kAvoid));
  CHECK(health.state(kStart + kAvoid) == ReplicaHealth::State::kAvoided);
  health.NoteAnswer();
  CHECK(health.state(kStart + kAvoid) == ReplicaHealth::State::kGood);
}

TEST_CASE("one late answer is an accident, two in a row are a sign") {
  ReplicaHealth health(kAvoid);
  health.NoteLate(kStart, kStart);
  health.NoteAnswer();
  health.NoteLate(kStart, kStart);
  CHECK(health.state(kStart) == ReplicaHealth::State::kGood);
  health.NoteLate(kStart, kStart);
  CHECK(health.state(kStart) == ReplicaHealth::State::kAvoided);
}

TEST_CASE("calls that were under way together count as one sign") {
  ReplicaHealth health(kAvoid);
  const absl::Time found = kStart + absl::Milliseconds(100);
  for (int i = 0; i < 50; ++i) health.NoteLate(kStart, found);
  CHECK(health.state(found + kAvoid) == ReplicaHealth::State::kProbeDue);
}

TEST_CASE("each probe that hangs doubles the time to the next, up to sixteen times") {
  ReplicaHealth health(kAvoid);
  absl::Time now = kStart;
  health.NoteLate(now, now);
  for (const int times : {1, 2, 4, 8, 16, 16}) {
    health.NoteLate(now, now);
    CHECK(health.state(now + times * kAvoid - absl::Nanoseconds(1)) ==
          ReplicaHealth::State::kAvoided);
    now += times * kAvoid;
    CHECK(health.ClaimProbe(now));
  }
}

}  // namespace
}  // namespace sightline
