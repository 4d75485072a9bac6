#include "common/replicas/replica_choice.h"

#include <map>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr absl::Duration kAvoid = absl::Seconds(1);
const absl::Time kStart = absl::FromUnixSeconds(1000);

struct Contender {
  bool usable = true;
  int64_t work = 0;
};

// Who is drawn when `random` gives these numbers, over and over.
int Draw(const std::vector<Contender>& contenders, const std::vector<uint64_t>& random) {
  size_t next = 0;
  return DrawReplica(
      static_cast<int>(contenders.size()), [&](int i) { return contenders[i].usable; },
      [&](int i) { return contenders[i].work; }, [&] { return random[next++ % random.size()]; });
}

// How often each is chosen over all pairs of numbers.
std::map<int, int> Chosen(const std::vector<Contender>& contenders) {
  std::map<int, int> times;
  for (uint64_t one = 0; one < 12; ++one) {
    for (uint64_t other = 0; other < 12; ++other) ++times[Draw(contenders, {one, other})];
  }
  return times;
}

TEST_CASE("of equals each is chosen as often") {
  CHECK(Chosen(std::vector<Contender>(3)) == std::map<int, int>{{0, 48}, {1, 48}, {2, 48}});
}

TEST_CASE("the busiest is never chosen, the idlest most often, the unusable not at all") {
  CHECK(Chosen({{true, 5}, {true, 9}, {true, 2}, {false, 0}}) ==
        std::map<int, int>{{0, 48}, {2, 96}});
  CHECK(Chosen({{false, 0}, {true, 9}}) == std::map<int, int>{{1, 144}});
  CHECK(Chosen({{false, 0}, {false, 0}}) == std::map<int, int>{{-1, 144}});
  CHECK(Draw({}, {0}) == -1);
}

TEST_CASE("of many, two are looked at and no more") {
  std::vector<Contender> many(1000);
  many[7].work = 3;
  many[8].work = 2;
  int looks = 0;
  uint64_t next = 7;
  const int drawn = DrawReplica(
      1000,
      [&](int) {
        ++looks;
        return true;
      },
      [&](int i) { return many[i].work; }, [&] { return next++; });
  CHECK(drawn == 8);
  CHECK(looks == 2);
}

TEST_CASE("the few usable of many are found however the draws fall") {
  std::vector<Contender> many(1000, Contender{false, 0});
  many[3] = {true, 1};
  CHECK(Draw(many, {999}) == 3);  // drawn again and again, and unusable
  CHECK(Draw(many, {3}) == 3);    // drawn again and again, and nobody to compare with
  many[900] = {true, 0};
  CHECK(Draw(many, {3}) == 900);
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
