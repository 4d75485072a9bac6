#include "services/router/name_watcher.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/support/await.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

Membership OneName() {
  Membership members;
  members.encoders = {"dns:///e:1"};
  members.indexes["images"] = {{"s:1"}};
  return members;
}

// A name service that the test writes, and what the watcher made of it.
struct Rig {
  void Answer(absl::StatusOr<Addresses> addresses) {
    std::lock_guard<std::mutex> lock(mutex);
    answer = std::move(addresses);
  }
  void Start() {
    watcher = std::make_unique<NameWatcher>(
        OneName(), absl::Seconds(10), &clock,
        [this](const std::string& name) {
          std::lock_guard<std::mutex> lock(mutex);
          ++asked;
          return name == "dns:///e:1" ? answer : absl::InternalError("asked for another name");
        },
        [this](const Membership& members) {
          std::lock_guard<std::mutex> lock(mutex);
          seen.push_back(members);
        });
  }
  int Asked() {
    std::lock_guard<std::mutex> lock(mutex);
    return asked;
  }
  std::vector<Membership> Seen() {
    std::lock_guard<std::mutex> lock(mutex);
    return seen;
  }
  // Waits until there have been `count` look-ups and their consequences.
  void AwaitAsked(int count) {
    AwaitUntil([&] { return Asked() >= count; });
    clock.AwaitSleepers(1);
  }

  FakeClock clock;
  std::mutex mutex;
  absl::StatusOr<Addresses> answer = absl::UnavailableError("not yet");
  int asked = 0;
  std::vector<Membership> seen;
  std::unique_ptr<NameWatcher> watcher;
};

TEST_CASE("names are looked up at once and every interval, and news are told") {
  Rig rig;
  rig.Answer(Addresses{"1.1.1.1:1"});
  rig.Start();
  rig.AwaitAsked(1);
  REQUIRE(rig.Seen().size() == 1);
  CHECK(rig.Seen()[0].encoders == Addresses{"1.1.1.1:1"});
  CHECK(rig.Seen()[0].indexes == OneName().indexes);

  rig.clock.Advance(absl::Seconds(10));
  rig.AwaitAsked(2);
  CHECK(rig.Seen().size() == 1);  // nothing new

  rig.Answer(Addresses{"1.1.1.1:1", "1.1.1.2:1"});
  rig.clock.Advance(absl::Milliseconds(9999));
  rig.clock.AwaitSleepers(1);
  CHECK(rig.Asked() == 2);
  rig.clock.Advance(absl::Milliseconds(1));
  rig.AwaitAsked(3);
  REQUIRE(rig.Seen().size() == 2);
  CHECK(rig.Seen()[1].encoders.size() == 2);
}

TEST_CASE("a name that is not found keeps what it had") {
  Rig rig;
  rig.Answer(Addresses{"1.1.1.1:1"});
  rig.Start();
  rig.AwaitAsked(1);
  rig.Answer(absl::UnavailableError("the name server is down"));
  rig.clock.Advance(absl::Seconds(10));
  rig.AwaitAsked(2);
  CHECK(rig.Seen().size() == 1);
}

TEST_CASE("one that was never found is asked for every second") {
  Rig rig;
  rig.Start();
  rig.AwaitAsked(1);
  CHECK(rig.Seen().empty());
  rig.Answer(Addresses{"1.1.1.1:1"});
  rig.clock.Advance(absl::Seconds(1));
  rig.AwaitAsked(2);
  CHECK(rig.Seen().size() == 1);
}

TEST_CASE("what one name has become is told before the next one is looked up") {
  Membership members = OneName();
  members.rerankers = {"dns:///r:1"};
  FakeClock clock;
  std::mutex mutex;
  std::vector<std::string> events;
  const auto note = [&](std::string event) {
    std::lock_guard<std::mutex> lock(mutex);
    events.push_back(std::move(event));
  };
  NameWatcher watcher(
      members, absl::Seconds(1), &clock,
      [&](const std::string&) -> absl::StatusOr<Addresses> {
        note("asked");
        return Addresses{"1.1.1.1:1"};
      },
      [&](const Membership&) { note("told"); });
  clock.AwaitSleepers(1);
  std::lock_guard<std::mutex> lock(mutex);
  CHECK(events == std::vector<std::string>{"asked", "told", "asked", "told"});
}

TEST_CASE("without names nobody is asked") {
  FakeClock clock;
  Membership members;
  members.encoders = {"e:1"};
  NameWatcher watcher(
      members, absl::Seconds(1), &clock,
      [](const std::string&) -> absl::StatusOr<Addresses> { return Addresses{}; },
      [](const Membership&) { FAIL("nothing has changed"); });
  clock.Advance(absl::Hours(1));
}

}  // namespace
}  // namespace sightline
