#include "services/router/name_watcher.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/mutex.h"
#include "tests/support/await.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/gate.h"

namespace sightline {
namespace {

Membership OneName() {
  Membership members;
  members.encoders = {"dns:///e:1"};
  members.indexes["images"] = {{"10.0.0.9:1"}};
  return members;
}

// A name service that the test writes, and what the watcher made of it.
struct Rig {
  void Answer(absl::StatusOr<Addresses> addresses) {
    MutexLock lock(mutex);
    answer = std::move(addresses);
  }
  // The only name of `members` is `name`.
  void Start(const Membership& members = OneName(), const std::string& name = "dns:///e:1") {
    watcher = std::make_unique<NameWatcher>(
        members, absl::Seconds(10), &clock,
        [this, name](const std::string& looked_up) {
          MutexLock lock(mutex);
          ++asked;
          return looked_up == name ? answer : absl::InternalError("asked for another name");
        },
        [this](const Membership& news) {
          MutexLock lock(mutex);
          seen.push_back(news);
        });
  }
  int Asked() {
    MutexLock lock(mutex);
    return asked;
  }
  std::vector<Membership> Seen() {
    MutexLock lock(mutex);
    return seen;
  }
  // Waits until there have been `count` look-ups, of which the last may not have ended.
  void AwaitAsked(int count) {
    AwaitUntil([&] { return Asked() >= count; });
  }
  void AwaitSeen(size_t count) {
    AwaitUntil([&] { return Seen().size() >= count; });
  }

  FakeClock clock;
  Mutex mutex;
  absl::StatusOr<Addresses> answer GUARDED_BY(mutex) = absl::UnavailableError("not yet");
  int asked GUARDED_BY(mutex) = 0;
  std::vector<Membership> seen GUARDED_BY(mutex);
  std::unique_ptr<NameWatcher> watcher;
};

TEST_CASE("names are looked up at once and every interval, and news are told") {
  Rig rig;
  rig.Answer(Addresses{"1.1.1.1:1"});
  rig.Start();
  rig.AwaitSeen(1);
  CHECK(rig.Seen()[0].encoders == Addresses{"1.1.1.1:1"});
  CHECK(rig.Seen()[0].indexes == OneName().indexes);

  rig.clock.Advance(absl::Seconds(10));
  rig.AwaitAsked(2);
  rig.Answer(Addresses{"1.1.1.1:1", "1.1.1.2:1"});
  rig.clock.Advance(absl::Milliseconds(9999));
  CHECK(rig.Asked() == 2);
  rig.clock.Advance(absl::Milliseconds(1));
  rig.AwaitSeen(2);
  CHECK(rig.Asked() == 3);
  CHECK(rig.Seen()[1].encoders.size() == 2);  // so nothing was told of what was not new
}

TEST_CASE("a name that is not found keeps what it had") {
  Rig rig;
  rig.Answer(Addresses{"1.1.1.1:1"});
  rig.Start();
  rig.AwaitSeen(1);
  rig.Answer(absl::UnavailableError("the name server is down"));
  rig.clock.Advance(absl::Seconds(10));
  rig.AwaitAsked(2);
  rig.clock.Advance(absl::Seconds(10));
  rig.AwaitAsked(3);  // so the second look-up has ended
  CHECK(rig.Seen().size() == 1);
}

TEST_CASE("one that was never found is asked for every second") {
  Rig rig;
  rig.Start();
  rig.AwaitAsked(1);
  rig.Answer(Addresses{"1.1.1.1:1"});
  rig.clock.Advance(absl::Seconds(1));
  rig.AwaitSeen(1);
  CHECK(rig.Asked() == 2);
}

TEST_CASE("a server by its name and port is found where it has moved to") {
  Membership members;
  members.encoders = {"10.0.0.9:7401"};
  members.indexes["images"] = {{"shard-0.search:7402"}};
  Rig rig;
  rig.Answer(Addresses{"10.0.0.1:7402"});
  rig.Start(members, "shard-0.search:7402");
  rig.AwaitSeen(1);
  rig.Answer(Addresses{"10.0.0.2:7402"});
  rig.clock.Advance(absl::Seconds(10));
  rig.AwaitSeen(2);
  std::vector<Membership> seen = rig.Seen();
  CHECK(seen[0].indexes["images"][0] == Addresses{"10.0.0.1:7402"});
  CHECK(seen[1].indexes["images"][0] == Addresses{"10.0.0.2:7402"});
  CHECK(seen[1].encoders == Addresses{"10.0.0.9:7401"});
}

// The names before the others hang, unknown to do so at first, then known to.
TEST_CASE("names that hang do not keep others from being looked up, however many hang") {
  constexpr int kHanging = 2 * static_cast<int>(NameWatcher::kThreads);
  constexpr int kAtOnceSlow = static_cast<int>(NameWatcher::kAtOnceSlow);
  Membership members;
  members.encoders = {"z:1"};
  for (int i = 0; i < kHanging; ++i) {
    members.rerankers.push_back("hangs-" + std::to_string(i) + ":1");
  }
  FakeClock clock;
  Gate first_answers, later_answers;
  std::atomic<int> quick{0}, slow{0};
  struct {
    Mutex mutex;
    Addresses encoders GUARDED_BY(mutex);
  } told_last;
  const auto told = [&](int answer) {
    MutexLock lock(told_last.mutex);
    return told_last.encoders == Addresses{"10.0.0.1:" + std::to_string(answer)};
  };
  NameWatcher watcher(
      members, absl::Seconds(2), &clock,
      [&](const std::string& name) -> absl::StatusOr<Addresses> {
        if (name == "z:1") return Addresses{"10.0.0.1:" + std::to_string(++quick)};
        (++slow <= kHanging ? first_answers : later_answers).Wait();
        return Addresses{"10.0.0.2:1"};
      },
      [&](const Membership& news) {
        MutexLock lock(told_last.mutex);
        told_last.encoders = news.encoders;
      });
  AwaitUntil([&] { return slow == kHanging / 2; });
  clock.Advance(NameWatcher::kSlow);
  AwaitUntil([&] { return slow == kHanging; });
  CHECK(quick == 0);
  clock.Advance(NameWatcher::kSlow);
  AwaitUntil([&] { return told(1); });

  first_answers.Open();
  AwaitUntil([&] { return slow == kHanging + kAtOnceSlow; });
  for (int round = 2; round < 5; ++round) {
    clock.Advance(absl::Seconds(2));
    AwaitUntil([&] { return told(round); });
  }
  CHECK(slow == kHanging + kAtOnceSlow);
  later_answers.Open();
}

TEST_CASE("without names nobody is asked") {
  FakeClock clock;
  Membership members;
  members.encoders = {"10.0.0.1:1", "[::1]:1"};
  NameWatcher watcher(
      members, absl::Seconds(1), &clock,
      [](const std::string&) -> absl::StatusOr<Addresses> { return Addresses{}; },
      [](const Membership&) { FAIL("nothing has changed"); });
  clock.Advance(absl::Hours(1));
}

}  // namespace
}  // namespace sightline
