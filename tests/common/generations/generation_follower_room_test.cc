// How the follower keeps to the memory that it may take.
#include <malloc.h>

#include <string>
#include <vector>

#include "common/base/error_details.h"
#include "tests/common/generations/follower_rig.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

TEST_CASE("what is larger than the limit is refused before it is read") {
  Rig rig(/*memory_limit=*/99);
  rig.MakeAndPublish("g1");
  rig.Pass();
  CHECK(rig.State("g1") == reasons::kTooBig.name);
  CHECK(!rig.Get("g1")->needs_room);
  CHECK(rig.host.verified.empty());
}

TEST_CASE("a lone server that cannot hold two refuses the second and says why") {
  Rig rig(/*memory_limit=*/199);
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.MakeAndPublish("g2");
  for (int i = 0; i < 5; ++i) {
    rig.follower->NoteUses("router", {{"images", "g1", false}});
    rig.Pass(absl::Seconds(5));
    CHECK(rig.State("g2") == reasons::kNeedsRoom.name);
    CHECK(rig.Get("g2")->needs_room);
    CHECK(rig.Ready("g1"));
  }
  // Whether it is good is known before anybody makes room for it; once is enough.
  CHECK(rig.host.verified == std::vector<std::string>{"g1", "g2"});
  CHECK(rig.host.loaded == std::vector<std::string>{"g1"});

  SECTION("it goes over when every router can do without it") {
    rig.follower->NoteUses("other", {{"images", "g1", false}});
    rig.follower->NoteUses("router", {{"images", "g1", true}});
    rig.Pass();
    CHECK(rig.Ready("g1"));
    rig.follower->NoteUses("other", {{"images", "g1", true}});
    rig.Pass();
    CHECK(!rig.Ready("g1"));
    CHECK(rig.Ready("g2"));
  }
  SECTION("but not before requests have let go of the old one") {
    auto request = rig.table->Find("images", "g1", rig.Get("g1")->manifest->embedding().space());
    REQUIRE(request.ok());
    rig.follower->NoteUses("router", {{"images", "g1", true}});
    rig.Pass();
    CHECK(rig.State("g1").empty());
    CHECK(rig.host.loaded == std::vector<std::string>{"g1"});
    for (int i = 0; i < 3; ++i) {  // nor is the old one taken back meanwhile
      rig.Pass(absl::Seconds(1));
      CHECK(rig.State("g2") == reasons::kNeedsRoom.name);
      CHECK(rig.State("g1").empty());
    }
    request = absl::CancelledError();
    rig.janitor.Flush();
    rig.Pass();
    CHECK(rig.Ready("g2"));
  }
  SECTION("and what is bad is told before anything is let go") {
    rig.host.verify["g3"] = kDamaged;
    rig.MakeAndPublish("g3");
    rig.follower->NoteUses("router", {{"images", "g1", true}});
    rig.Pass();
    CHECK(rig.State("g3") == reasons::kChecksumMismatch.name);
    CHECK(rig.Ready("g1"));
  }
  SECTION("what fails only when it is loaded gives way to the old one again") {
    rig.host.load["g2"] = MakeError(reasons::kRecallTooLow, "finds little");
    rig.follower->NoteUses("router", {{"images", "g1", true}});
    rig.Pass();
    CHECK(rig.State("g2") == reasons::kRecallTooLow.name);
    CHECK(rig.Ready("g1"));
  }
}

TEST_CASE("room on a device is made as room in memory is") {
  Rig rig;
  SECTION("what is larger than a device is refused") {
    rig.host.device = 99;
    rig.MakeAndPublish("g1");
    rig.Pass();
    CHECK(rig.State("g1") == reasons::kTooBig.name);
    CHECK_THAT(std::string(rig.Get("g1")->refusal.message()),
               Contains("100 bytes on device 3, of which 99 may be used"));
  }
  SECTION("where two do not fit, the old one goes when every router can do without it") {
    rig.host.device = 199;
    rig.MakeAndPublish("g1");
    rig.Pass();
    rig.MakeAndPublish("g2");
    rig.follower->NoteUses("router", {{"images", "g1", false}});
    rig.Pass();
    CHECK(rig.State("g2") == reasons::kNeedsRoom.name);
    CHECK(rig.Get("g2")->needs_room);
    CHECK_THAT(std::string(rig.Get("g2")->refusal.message()), Contains("200 bytes on device 3"));
    rig.follower->NoteUses("router", {{"images", "g1", true}});
    rig.Pass();
    CHECK(rig.State("g1").empty());
    CHECK(rig.Ready("g2"));
  }
  SECTION("where it cannot be asked, that is tried again") {
    rig.host.device = MakeError(reasons::kDeviceFailed, "fell off the bus");
    rig.MakeAndPublish("g1");
    rig.Pass();
    CHECK(rig.State("g1") == reasons::kDeviceFailed.name);
    rig.host.device = 100;
    rig.Pass(absl::Seconds(1));
    CHECK(rig.Ready("g1"));
  }
}

TEST_CASE("a device that fails is no reason to read the files again") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.Fail("g1", MakeError(reasons::kDeviceFailed, "fell off the bus"));
  rig.Pass(absl::Minutes(2));
  CHECK(rig.Ready("g1"));
  CHECK(rig.host.verified == std::vector<std::string>{"g1"});
  CHECK(rig.host.distrusted.empty());
}

TEST_CASE("a load that is tried again and again leaves nothing behind") {
  const auto held = [] { return static_cast<int64_t>(::mallinfo2().uordblks); };
  constexpr int kTries = 500;
  SECTION("for want of room") {
    Rig rig(/*memory_limit=*/199);
    rig.MakeAndPublish("g1");
    rig.Pass();
    rig.MakeAndPublish("g2");
    rig.follower->NoteUses("router", {{"images", "g1", false}});
    for (int i = 0; i < 50; ++i) rig.Pass();  // what grows once has grown
    REQUIRE(rig.State("g2") == reasons::kNeedsRoom.name);
    const int64_t before = held();
    for (int i = 0; i < kTries; ++i) rig.Pass();
    CHECK(held() - before < kTries * 16);
  }
  SECTION("for its size") {
    Rig rig(/*memory_limit=*/99);
    rig.MakeAndPublish("g1");
    for (int i = 0; i < 50; ++i) rig.Pass();
    REQUIRE(rig.State("g1") == reasons::kTooBig.name);
    const int64_t before = held();
    for (int i = 0; i < kTries; ++i) rig.Pass();
    CHECK(held() - before < kTries * 16);
  }
}

TEST_CASE("what nobody uses makes room without anybody's leave") {
  Rig rig(/*memory_limit=*/299);
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.MakeAndPublish("g2");
  rig.Pass();
  // The routers stay on g1, since g2 is refused elsewhere; g3 is the repair.
  rig.MakeAndPublish("g3");
  rig.follower->NoteUses("router", {{"images", "g1", false}});
  rig.Pass();
  CHECK(rig.State("g3") == reasons::kNeedsRoom.name);
  rig.clock.Advance(absl::Seconds(10));
  rig.follower->NoteUses("router", {{"images", "g1", false}});
  rig.Pass();
  CHECK(rig.Ready("g1"));
  CHECK(!rig.Ready("g2"));
  CHECK(rig.Ready("g3"));
}

TEST_CASE("the only one held makes room when the routers have gone over to another replica") {
  Rig rig(/*memory_limit=*/199);
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.MakeAndPublish("g2");
  rig.Pass(absl::Seconds(20));
  CHECK(rig.State("g2") == reasons::kNeedsRoom.name);  // and there is no router
  rig.follower->NoteUses("router", {{"images", "g1", false}});
  rig.Pass();
  CHECK(rig.Ready("g1"));
  rig.follower->NoteUses("router", {{"images", "g2", false}});
  rig.Pass();
  CHECK(!rig.Ready("g1"));
  CHECK(rig.Ready("g2"));
}

TEST_CASE("what a request could not read a moment ago has its memory still") {
  Rig rig(/*memory_limit=*/199);
  rig.indexes = {"images", "captions"};
  rig.Restart();
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.MakeAndPublishCaptions("c1");
  const auto request =
      rig.table->Find("images", "g1", rig.Get("g1")->manifest->embedding().space());
  REQUIRE(request.ok());
  rig.host.during_check = [&] { rig.Fail("g1", kUnreadable); };
  rig.Pass();
  CHECK(rig.State("c1", "captions") == reasons::kTooBig.name);
}

}  // namespace
}  // namespace sightline
