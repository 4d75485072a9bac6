#include "common/generations/generation_follower.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/read_pace.h"
#include "common/bundle/generation.h"
#include "common/bundle/publication.h"
#include "tests/common/generations/follower_rig.h"
#include "tests/support/captured_log.h"
#include "tests/support/catch.h"
#include "tests/support/gate.h"

namespace sightline {
namespace {

TEST_CASE("nothing published is waited for, and what is published then is served") {
  Rig rig;
  rig.Pass();
  CHECK(rig.ready_calls == 0);
  rig.MakeAndPublish("g1");
  rig.Pass();
  CHECK(rig.Ready("g1"));
  CHECK(rig.Get("g1")->sequence == 1);
  CHECK(rig.ready_calls == 1);
  rig.Pass();
  CHECK(rig.host.loaded == std::vector<std::string>{"g1"});
  CHECK(rig.ready_calls == 1);
}

TEST_CASE("the old generation stays until nobody has used it for a while") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.MakeAndPublish("g2");
  rig.follower->NoteUses("router", {{"images", "g1", false}});
  rig.Pass();
  CHECK(rig.Ready("g1"));
  CHECK(rig.Ready("g2"));

  SECTION("a router keeps it, however long, as long as it asks") {
    for (int i = 0; i < 10; ++i) {
      rig.follower->NoteUses("router", {{"images", "g1", false}});
      rig.Pass(absl::Seconds(5));
    }
    CHECK(rig.Ready("g1"));
    rig.follower->NoteUses("router", {{"images", "g2", false}});
    rig.Pass();
    CHECK(!rig.Ready("g1"));
    CHECK(rig.Ready("g2"));
  }
  SECTION("a router that is gone keeps nothing") {
    rig.Pass(absl::Seconds(10));
    CHECK(!rig.Ready("g1"));
  }
  SECTION("a request keeps it for as long as a router would") {
    rig.follower->NoteUses("router", {});
    const std::string space = rig.Get("g1")->manifest->embedding().space();
    rig.clock.Advance(absl::Seconds(9));
    CHECK(rig.table->Find("images", "g1", space).ok());
    rig.Pass(absl::Seconds(9));
    CHECK(rig.Ready("g1"));
    rig.Pass(absl::Seconds(1));
    CHECK(!rig.Ready("g1"));
  }
  SECTION("it is there for a while even when nobody names it yet") {
    rig.follower->NoteUses("router", {});
    rig.Pass(absl::Seconds(9));
    CHECK(rig.Ready("g1"));
  }
}

TEST_CASE("going back to a generation that is still held takes no loading") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.MakeAndPublish("g2");
  rig.Pass();
  REQUIRE(RollBackGeneration(rig.store.path(), "images").ok());
  rig.Pass();
  CHECK(rig.Get("g1")->sequence == 3);
  CHECK(rig.Get("g2")->sequence == 2);
  CHECK(rig.host.loaded == std::vector<std::string>{"g1", "g2"});
  rig.Pass(absl::Seconds(10));
  CHECK(rig.Ready("g1"));
  CHECK(!rig.Ready("g2"));
}

TEST_CASE("a refused generation leaves what is served alone and is not tried again") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.host.verify["g2"] = kDamaged;
  rig.MakeAndPublish("g2");
  for (int i = 0; i < 5; ++i) rig.Pass(absl::Minutes(1));
  CHECK(rig.State("g2") == reasons::kChecksumMismatch.name);
  CHECK(rig.Ready("g1"));
  CHECK(rig.host.verified == std::vector<std::string>{"g1", "g2"});
  CHECK(rig.metrics.Render().find("generation_loads_total{index=\"images\","
                                  "result=\"CHECKSUM_MISMATCH\"} 1") != std::string::npos);
  CHECK(rig.metrics.Render().find("generation_sequence{index=\"images\",which=\"desired\"} 2") !=
        std::string::npos);
  CHECK(rig.metrics.Render().find("generation_sequence{index=\"images\",which=\"ready\"} 1") !=
        std::string::npos);

  SECTION("not after a restart either, which serves the ancestor") {
    rig.Restart();
    rig.Pass();
    CHECK(rig.State("g2") == reasons::kChecksumMismatch.name);
    CHECK(rig.Ready("g1"));
    CHECK(rig.Get("g1")->sequence == 1);
    CHECK(rig.host.verified == std::vector<std::string>{"g1"});
    CHECK(rig.ready_calls == 2);
  }
  SECTION("until its files change") {
    rig.host.verify.clear();
    const std::string file = rig.host.Files(*rig.Get("g2")->manifest).front();
    REQUIRE(WriteFileAtomically(file, *ReadFile(file)).ok());
    rig.Pass();
    CHECK(rig.Ready("g2"));
  }
  SECTION("and it is forgotten when another one is published") {
    rig.MakeAndPublish("g3");
    rig.Pass();
    CHECK(rig.Ready("g3"));
    CHECK(rig.State("g2").empty());
  }
}

TEST_CASE("a generation without a manifest, a broken and a newer one say so") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.MakeAndPublish("g2");
  const std::string manifest =
      JoinPath(GenerationDirectory(rig.store.path(), "images", "g2"), "manifest.json");
  const std::string whole = *ReadFile(manifest);

  REQUIRE(::unlink(manifest.c_str()) == 0);
  rig.Pass();
  CHECK(rig.State("g2") == reasons::kManifestMissing.name);
  REQUIRE(WriteFileAtomically(manifest, "{").ok());
  rig.Pass();
  CHECK(rig.State("g2") == reasons::kManifestInvalid.name);
  REQUIRE(WriteFileAtomically(manifest, "{\"format_version\": 99}").ok());
  rig.Pass();
  CHECK(rig.State("g2") == reasons::kNewerFormat.name);
  CHECK(rig.Ready("g1"));
  REQUIRE(WriteFileAtomically(manifest, whole).ok());
  rig.Pass();
  CHECK(rig.Ready("g2"));
}

TEST_CASE("the loads of each index are counted from zero") {
  Rig rig;
  const std::string ready = "generation_loads_total{index=\"images\",result=\"READY\"} ";
  CHECK(rig.metrics.Render().find(ready + "0") != std::string::npos);
  rig.MakeAndPublish("g1");
  rig.Pass();
  CHECK(rig.metrics.Render().find(ready + "1") != std::string::npos);
}

TEST_CASE("trouble of the machine is tried again, more and more slowly") {
  Rig rig;
  rig.host.load["g1"] = absl::UnavailableError("the disk is away");
  rig.MakeAndPublish("g1");
  rig.Pass();
  CHECK(rig.State("g1") == "UNAVAILABLE");
  rig.Pass(absl::Milliseconds(999));
  CHECK(rig.host.loaded.size() == 1);
  rig.Pass(absl::Milliseconds(1));
  CHECK(rig.host.loaded.size() == 2);
  rig.Pass(absl::Milliseconds(1999));
  CHECK(rig.host.loaded.size() == 2);
  rig.Pass(absl::Milliseconds(1));
  CHECK(rig.host.loaded.size() == 3);
  // What is loaded is read anew, and so it is checked anew.
  CHECK(rig.host.verified.size() == 3);
  // Told once.
  CHECK(rig.metrics.Render().find("result=\"UNAVAILABLE\"} 1") != std::string::npos);
  rig.host.load.clear();
  rig.Pass(absl::Minutes(1));
  CHECK(rig.Ready("g1"));
  CHECK(ListFilesBelow(rig.state.path())->empty());
}

TEST_CASE("the first load is as fast as the disk, and later ones leave room for others") {
  Rig rig;
  std::vector<absl::Duration> took;
  Gate loaded;
  rig.host.during_load = [&](const CallContext&) {
    const absl::Time begin = rig.clock.Now();
    ReadPace* const pace = ReadPace::OfThread();
    for (int i = 0; i < 2 && pace != nullptr; ++i) pace->Await(int64_t{1} << 30);
    took.push_back(rig.clock.Now() - begin);
    if (took.size() == 2) loaded.Open();
  };
  rig.MakeAndPublish("g1");
  rig.follower->Start();
  CHECK(rig.Ready("g1"));
  CHECK(took == std::vector<absl::Duration>{absl::ZeroDuration()});
  rig.MakeAndPublish("g2");
  rig.clock.AwaitSleepers(1);
  rig.clock.Advance(absl::Seconds(1));
  rig.clock.AwaitSleepers(2);  // who loads, and who looks at CURRENT meanwhile
  rig.clock.Advance(absl::Seconds(1));
  loaded.Wait();
  CHECK(took.back() == absl::Seconds(1));
}

TEST_CASE("a start that is told to stop gives its load up and follows nothing any more") {
  Rig rig;
  const auto stop = std::make_shared<Cancellation>();
  rig.indexes = {"images", "captions"};
  rig.Restart();
  rig.MakeAndPublish("g1");
  rig.MakeAndPublishCaptions("g2");
  bool cancelled = false;
  rig.host.during_load = [&](const CallContext& call) {
    stop->Cancel();
    cancelled = call.cancelled();
  };
  rig.host.load["g1"] = absl::CancelledError("the caller went away");
  CapturedLog log;
  rig.follower->Start(stop);
  CHECK(cancelled);
  CHECK(rig.host.loaded == std::vector<std::string>{"g1"});
  CHECK(rig.State("g1").empty());
  CHECK(rig.served.empty());
  CHECK(log.Take().empty());
}

TEST_CASE("a start that was told to stop before it began loads nothing and ends") {
  Rig rig;
  rig.MakeAndPublish("g1");
  const auto stop = std::make_shared<Cancellation>();
  stop->Cancel();
  rig.follower->Start(stop);
  CHECK(rig.host.loaded.empty());
  CHECK(rig.State("g1").empty());
  CHECK(rig.served.empty());
}

// Of the calling thread: its niceness, and class and level of its disk accesses.
struct Priorities {
  int nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)));
  int64_t io = ::syscall(SYS_ioprio_get, /*of a thread*/ 1, 0);
};

TEST_CASE("later loads come after who answers, for the CPU and for the disk") {
  Rig rig;
  std::vector<Priorities> priorities;
  Gate loaded;
  rig.host.during_load = [&](const CallContext&) {
    priorities.emplace_back();
    if (priorities.size() == 2) loaded.Open();
  };
  rig.MakeAndPublish("g1");
  const Priorities own;
  rig.follower->Start();
  rig.MakeAndPublish("g2");
  rig.clock.AwaitSleepers(1);
  rig.clock.Advance(absl::Seconds(1));
  loaded.Wait();
  CHECK(priorities[0].nice == own.nice);
  CHECK(priorities[0].io == own.io);
  CHECK(priorities[1].nice == std::min(own.nice + 10, 19));
  CHECK(priorities[1].io == (2 << 13 | 7));  // best effort, last of eight
}

TEST_CASE("a load that CURRENT no longer asks for is given up") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.Make("g2");
  rig.Make("g3");
  rig.Publish("g2");
  rig.host.load["g2"] = absl::CancelledError("given up");
  rig.host.during_load = [&](const CallContext& call) {
    rig.host.during_load = nullptr;
    rig.Publish("g3");
    rig.clock.AwaitSleepers(1);
    rig.clock.Advance(absl::Seconds(1));
    while (!call.cancelled()) std::this_thread::yield();
  };
  rig.Pass();
  CHECK(rig.State("g2").empty());
  CHECK(rig.Ready("g1"));
  rig.Pass();
  CHECK(rig.Ready("g3"));
  CHECK(rig.State("g2").empty());
}

TEST_CASE("a follower that goes gives up what it is loading") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.follower->Start();
  std::atomic<bool> loading{false};
  rig.host.load["g2"] = absl::CancelledError("given up");
  rig.host.during_load = [&](const CallContext& call) {
    loading = true;
    while (!call.cancelled()) std::this_thread::yield();
  };
  rig.MakeAndPublish("g2");
  rig.clock.AwaitSleepers(1);
  rig.clock.Advance(absl::Seconds(1));
  while (!loading) std::this_thread::yield();
  rig.follower.reset();
  CHECK(rig.Ready("g1"));
}

TEST_CASE("going back to what is held waits for no other index's load") {
  Rig rig;
  rig.indexes = {"images", "captions"};
  rig.Restart();
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.MakeAndPublish("g2");
  rig.Pass();
  rig.MakeAndPublishCaptions("c1");
  absl::optional<HeldGeneration> meanwhile;
  rig.host.during_load = [&](const CallContext& call) {
    REQUIRE(RollBackGeneration(rig.store.path(), "images").ok());
    rig.LetWatchLook();
    meanwhile = rig.Get("g1");
    CHECK(!call.cancelled());
  };
  rig.Pass();
  REQUIRE(meanwhile.has_value());
  CHECK(meanwhile->sequence == 3);  // which is all that routers need to go there
  CHECK(rig.host.loaded == std::vector<std::string>{"g1", "g2", "c1"});
}

TEST_CASE("going back to what has to be loaded puts another index's load off, once") {
  Rig rig;
  rig.indexes = {"captions", "images"};
  rig.Restart();
  rig.MakeAndPublish("g1");
  rig.MakeAndPublish("g2");
  rig.Pass();
  rig.MakeAndPublishCaptions("c1");
  const bool refused = GENERATE(false, true);  // what was gone back to is
  if (refused) rig.host.verify["g1"] = kDamaged;
  int loads = 0;
  rig.host.load["c1"] = absl::CancelledError("given up");
  rig.host.during_load = [&](const CallContext& call) {
    ++loads;
    if (loads == 1) REQUIRE(RollBackGeneration(rig.store.path(), "images").ok());
    if (loads > 1) rig.host.load.clear();
    rig.LetWatchLook();
    CHECK(call.cancelled() == (loads == 1));
  };
  rig.Pass();
  CHECK(rig.State("g1") == (refused ? reasons::kChecksumMismatch.name : "READY"));
  CHECK(rig.table->Get("captions", "c1")->state == HoldState::kReady);
  CHECK(rig.host.loaded == (refused ? std::vector<std::string>{"g2", "c1", "c1"}
                                    : std::vector<std::string>{"g2", "c1", "g1", "c1"}));
}

TEST_CASE("a publication of another index waits its turn") {
  Rig rig;
  rig.indexes = {"captions", "images"};
  rig.Restart();
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.MakeAndPublishCaptions("c1");
  rig.host.during_load = [&](const CallContext& call) {
    rig.host.during_load = nullptr;
    rig.MakeAndPublish("g2");
    rig.LetWatchLook();
    CHECK(!call.cancelled());
  };
  rig.Pass();
  CHECK(rig.host.loaded == std::vector<std::string>{"g1", "c1", "g2"});
}

TEST_CASE("a restored store is followed once its CURRENT has stood for a while") {
  Rig rig;
  rig.MakeAndPublish("g1");
  const std::string restored = *ReadFile(rig.CurrentPath());
  rig.MakeAndPublish("g2");
  rig.MakeAndPublish("g3");
  const std::string present = *ReadFile(rig.CurrentPath());
  rig.Pass();
  REQUIRE(WriteFileAtomically(rig.CurrentPath(), restored).ok());
  rig.Pass();
  rig.Pass(absl::Minutes(2) - absl::Nanoseconds(1));
  CHECK(rig.host.loaded == std::vector<std::string>{"g3"});
  CHECK(rig.Get("g3")->sequence == 3);

  SECTION("it stands") {
    rig.follower->NoteUses("router", {{"images", "g3", false}});
    rig.Pass(absl::Nanoseconds(1));
    CHECK(rig.Ready("g1"));
    CHECK(rig.Get("g1")->sequence == 1);
    CHECK(rig.Ready("g3"));  // requests still go there
    CHECK(rig.Get("g3")->sequence == 0);
    CHECK(rig.metrics.Render().find("generation_sequence{index=\"images\",which=\"desired\"} 1") !=
          std::string::npos);
    // What is published from now on is new, whatever its number was before.
    rig.MakeAndPublish("g4");
    rig.Pass();
    CHECK(rig.Ready("g4"));
    CHECK(rig.Get("g4")->sequence == 2);
    CHECK(rig.Get("g1")->sequence == 1);
    rig.Pass(absl::Seconds(10));
    CHECK(!rig.Ready("g3"));
  }
  SECTION("it was an old one that a network file system had shown") {
    REQUIRE(WriteFileAtomically(rig.CurrentPath(), present).ok());
    rig.Pass();
    REQUIRE(WriteFileAtomically(rig.CurrentPath(), restored).ok());
    rig.Pass(absl::Nanoseconds(1));
    rig.Pass(absl::Minutes(1));
    CHECK(rig.host.loaded == std::vector<std::string>{"g3"});
    CHECK(rig.Get("g3")->sequence == 3);
  }
  SECTION("a server that starts believes what it sees") {
    rig.Restart();
    rig.Pass();
    CHECK(rig.host.loaded == std::vector<std::string>{"g1"});
  }
}

TEST_CASE("an old CURRENT gives no load up") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  const std::string old = *ReadFile(rig.CurrentPath());
  rig.MakeAndPublish("g2");
  rig.host.during_load = [&](const CallContext& call) {
    REQUIRE(WriteFileAtomically(rig.CurrentPath(), old).ok());
    rig.LetWatchLook();
    CHECK(!call.cancelled());
  };
  rig.Pass();
  CHECK(rig.Ready("g2"));
}

TEST_CASE("a malformed CURRENT changes nothing") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  REQUIRE(WriteFileAtomically(JoinPath(IndexDirectory(rig.store.path(), "images"), "CURRENT"), "{")
              .ok());
  rig.Pass(absl::Minutes(1));
  CHECK(rig.Ready("g1"));
}

TEST_CASE("the thread follows, and ends in the middle of anything") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.follower->Start();
  CHECK(rig.Ready("g1"));
  rig.MakeAndPublish("g2");
  rig.clock.AwaitSleepers(1);
  rig.clock.Advance(absl::Seconds(1));
  while (!rig.Ready("g2")) std::this_thread::yield();
  rig.follower.reset();
  CHECK(rig.Ready("g1"));
}

}  // namespace
}  // namespace sightline
