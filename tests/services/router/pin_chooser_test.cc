#include "services/router/pin_chooser.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Names = std::set<std::string>;

constexpr absl::Duration kDeadAfter = absl::Seconds(10);

ReplicaView Live(Names ready) {
  return {"", /*live=*/true, std::move(ready), {}};
}

// Two shards and the encoder, and a clock.
struct Rig {
  Rig() {
    index.shards.resize(2);
    index.generations = {{"g1", {1, false}}, {"g2", {2, false}}};
  }

  void Set(std::vector<ReplicaView> shard0, std::vector<ReplicaView> shard1,
           std::vector<ReplicaView> encoders) {
    index.shards[0].replicas = std::move(shard0);
    index.shards[1].replicas = std::move(shard1);
    index.encoders.replicas = std::move(encoders);
  }
  // All of one replica, of which each holds these.
  void SetAll(const Names& ready) { Set({Live(ready)}, {Live(ready)}, {Live(ready)}); }
  void Silence(SetView* set) {
    for (ReplicaView& replica : set->replicas) replica.live = false;
  }
  std::string Choose(bool heard_enough = true) {
    return pinned = chooser.Choose(index, pinned, 0.5, heard_enough, now, kDeadAfter);
  }

  IndexView index;
  PinChooser chooser;
  std::string pinned;
  absl::Time now = absl::UnixEpoch();
};

TEST_CASE("what is pinned where nothing is whole gives way to what qualifies, be it older") {
  Rig rig;
  rig.Set({Live({"g2"})}, {Live({})}, {Live({})});
  CHECK(rig.Choose() == "g2");
  rig.Set({Live({"g2"}), Live({"g1"})}, {Live({"g1"})}, {Live({"g1"})});
  CHECK(rig.Choose() == "g1");
  SECTION("and from then on only to what is newer") {
    rig.SetAll({"g1", "g2"});
    CHECK(rig.Choose() == "g2");
    rig.Set({Live({"g1", "g2"}), Live({"g1"}), Live({"g1"})}, {Live({"g1", "g2"})},
            {Live({"g1", "g2"})});
    CHECK(rig.Choose() == "g2");
  }
  SECTION("until nothing is whole again") {
    rig.Set({Live({"g2"})}, {Live({"g2"})}, {Live({})});
    CHECK(rig.Choose() == "g2");
    rig.SetAll({"g1"});
    CHECK(rig.Choose() == "g1");
  }
}

TEST_CASE("what is whole without the share does not stay before anything had the share") {
  Rig rig;
  const auto set = [&](Names third) {
    rig.Set({Live({"g2"}), Live({"g1"}), Live(std::move(third))}, {Live({"g1", "g2"})},
            {Live({"g1", "g2"})});
  };
  set({});
  CHECK(rig.Choose() == "g2");
  set({"g1"});
  CHECK(rig.Choose() == "g1");
}

TEST_CASE("a pin is provisional until enough has been heard") {
  Rig rig;
  const bool heard_enough = GENERATE(true, false);
  rig.SetAll({"g2"});
  CHECK(rig.Choose(heard_enough) == "g2");
  rig.Set({Live({"g2"}), Live({"g1"}), Live({"g1"})}, {Live({"g1", "g2"})}, {Live({"g1", "g2"})});
  CHECK(rig.Choose(heard_enough) == (heard_enough ? "g2" : "g1"));
}

TEST_CASE("after an outage requests stay until each set is back, or has had its time") {
  Rig rig;
  rig.SetAll({"g1"});
  REQUIRE(rig.Choose() == "g1");
  const IndexView whole = rig.index;
  rig.Silence(&rig.index.shards[0]);
  rig.Silence(&rig.index.shards[1]);
  rig.Silence(&rig.index.encoders);
  REQUIRE(rig.Choose() == "g1");
  rig.now += absl::Hours(1);

  // The first to come back has had the time to load g2.
  rig.index.shards[0].replicas = {Live({"g1", "g2"})};
  CHECK(rig.Choose() == "g1");
  rig.now += kDeadAfter / 2;
  rig.index.encoders.replicas = {Live({"g1", "g2"})};
  CHECK(rig.Choose() == "g1");
  SECTION("all are back") {
    rig.index.shards[1] = whole.shards[1];
    CHECK(rig.Choose() == "g1");
    rig.index.shards[1].replicas = {Live({"g1", "g2"})};
    CHECK(rig.Choose() == "g2");
  }
  SECTION("one does not come back") {
    rig.now += kDeadAfter / 2 - absl::Nanoseconds(1);
    CHECK(rig.Choose() == "g1");
    rig.now += absl::Nanoseconds(1);
    CHECK(rig.Choose() == "g2");
  }
}

TEST_CASE("sets that stay silent do not stand in the way") {
  Rig rig;
  rig.SetAll({"g1"});
  REQUIRE(rig.Choose() == "g1");
  rig.Silence(&rig.index.shards[1]);
  rig.index.shards[0].replicas = {Live({"g1", "g2"})};
  rig.index.encoders.replicas = {Live({"g1", "g2"})};
  CHECK(rig.Choose() == "g2");
}

}  // namespace
}  // namespace sightline
