#include "services/router/fleet_view.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1000);
constexpr absl::Duration kDeadAfter = absl::Seconds(10);
constexpr absl::Duration kRestoredAfter = absl::Minutes(2);
const GenerationRef kG1 = {"images", "g1", "space"};

Membership OneIndex() {
  Membership members;
  members.encoders = {"e:1"};
  members.indexes["images"] = {{"a:1", "b:1", "c:1"}};
  return members;
}

GenerationStatus Held(const GenerationRef& generation) {
  GenerationStatus status;
  status.state = GenerationState::kReady;
  status.sequence = 1;
  status.held_shards = {0};
  status.info.ref = generation;
  status.info.shard_count = 1;
  return status;
}

GenerationStatus NoRoom(const std::string& generation) {
  GenerationStatus status;
  status.state = GenerationState::kRefused;
  status.needs_room = true;
  status.sequence = 2;
  status.info.ref = {"images", generation, ""};
  return status;
}

ServerStatus Search(std::vector<GenerationStatus> generations) {
  ServerStatus status;
  status.service = "index_search";
  status.generations = std::move(generations);
  return status;
}

std::vector<std::string> Live(const FleetView& fleet) {
  std::vector<std::string> live;
  for (const ReplicaView& replica : fleet.index("images").shards[0].replicas) {
    if (replica.live) live.push_back(replica.address);
  }
  return live;
}

// The rosters that have changed, by "encoder", "reranker" or the number of the shard.
std::vector<std::pair<std::string, Roster>> Changed(FleetView* fleet) {
  std::vector<std::pair<std::string, Roster>> changed;
  fleet->TakeChangedRosters([&](const ReplicaSetId& set, Roster roster) {
    const std::string name = set.kind == ReplicaSetId::Kind::kEncoder    ? "encoder"
                             : set.kind == ReplicaSetId::Kind::kReranker ? "reranker"
                                                                         : "0";
    changed.emplace_back(name, std::move(roster));
  });
  return changed;
}

TEST_CASE("an answer that says nothing new changes nothing") {
  FleetView fleet(OneIndex(), kDeadAfter, kRestoredAfter, kStart);
  CHECK(Changed(&fleet).size() == 3);
  CHECK(fleet.TakeChanged("images"));
  fleet.Note("a:1", Search({Held(kG1)}), kStart);
  REQUIRE(Changed(&fleet).size() == 1);
  CHECK(fleet.TakeChanged("images"));
  fleet.Note("a:1", Search({Held(kG1)}), kStart);
  fleet.NoteTime(kStart);
  CHECK(Changed(&fleet).empty());
  CHECK(!fleet.TakeChanged("images"));
}

TEST_CASE("whoever is about to end is a last resort, until a server that is not has its address") {
  FleetView fleet(OneIndex(), kDeadAfter, kRestoredAfter, kStart);
  ServerStatus status = Search({Held(kG1)});
  fleet.Note("a:1", status, kStart);
  fleet.Note("b:1", status, kStart);
  Changed(&fleet);
  const auto roster_after = [&](const absl::StatusOr<ServerStatus>& answer) {
    fleet.Note("a:1", answer, kStart);
    const auto changed = Changed(&fleet);
    REQUIRE(changed.size() == 1);
    return changed[0].second.holders.at(0);
  };
  status.draining = true;
  const Roster::Holders ending = roster_after(status);
  CHECK(ending.fit == std::vector<int>{1});
  CHECK(ending.last_resort == std::vector<int>{0});
  CHECK(fleet.Describe()[0].error == "is about to end");
  CHECK(Live(fleet).size() == 3);
  fleet.Note("a:1", absl::UnavailableError("gone"), kStart);
  CHECK(Changed(&fleet).empty());
  status.draining = false;
  CHECK(roster_after(status).fit == std::vector<int>{0, 1});
}

TEST_CASE("a roster has who holds what, and the same list of addresses while members stay") {
  FleetView fleet(OneIndex(), kDeadAfter, kRestoredAfter, kStart);
  const auto before = Changed(&fleet);
  const GenerationRef g2 = {"images", "g2", "space"};
  fleet.Note("c:1", Search({Held(kG1), Held(g2)}), kStart);
  fleet.Note("a:1", Search({Held(g2)}), kStart);
  for (int i = 0; i < FleetView::kSilentAfter; ++i) {
    fleet.Note("c:1", absl::UnavailableError("down"), kStart);
  }
  const auto changed = Changed(&fleet);
  REQUIRE(changed.size() == 1);
  const Roster& roster = changed[0].second;
  CHECK(*roster.addresses == Addresses{"a:1", "b:1", "c:1"});
  REQUIRE(roster.holders.size() == 2);
  CHECK(roster.holders[0].generation.generation == "g2");
  CHECK(roster.holders[0].fit == std::vector<int>{0});
  CHECK(roster.holders[0].last_resort == std::vector<int>{2});
  CHECK(roster.holders[1].generation.generation == "g1");
  CHECK(roster.holders[1].fit.empty());
  CHECK(roster.holders[1].last_resort == std::vector<int>{2});

  Membership members = OneIndex();
  members.encoders = {"e:2"};
  fleet.SetMembers(members, kStart);
  for (const auto& [name, after] : Changed(&fleet)) {
    const auto same =
        std::find_if(before.begin(), before.end(), [&set = name, &now = after](const auto& b) {
          return b.first == set && b.second.addresses == now.addresses;
        });
    CAPTURE(name);
    CHECK((same != before.end()) == (name != "encoder"));
  }
}

TEST_CASE("whoever has not answered for a while is dead, and alive when it does") {
  FleetView fleet(OneIndex(), kDeadAfter, kRestoredAfter, kStart);
  fleet.NoteTime(kStart + kDeadAfter - absl::Nanoseconds(1));
  CHECK(Live(fleet).size() == 3);
  fleet.NoteTime(kStart + kDeadAfter);
  CHECK(Live(fleet).empty());
  // The only one alive may die again.
  fleet.Note("b:1", Search({}), kStart + kDeadAfter);
  CHECK(Live(fleet) == std::vector<std::string>{"b:1"});
  fleet.NoteTime(kStart + 2 * kDeadAfter - absl::Nanoseconds(1));
  CHECK(Live(fleet) == std::vector<std::string>{"b:1"});
  (void)fleet.TakeChanged("images");
  fleet.NoteTime(kStart + 2 * kDeadAfter);
  CHECK(Live(fleet).empty());
  CHECK(fleet.TakeChanged("images"));
}

TEST_CASE("a generation is forgotten that nobody reports and that is not pinned") {
  FleetView fleet(OneIndex(), kDeadAfter, kRestoredAfter, kStart);
  const auto known = [&] {
    std::vector<std::string> names;
    for (const auto& [name, view] : fleet.index("images").generations) names.push_back(name);
    return names;
  };
  const auto ref = [](const std::string& generation) {
    return GenerationRef{"images", generation, "space"};
  };
  for (int i = 1; i < 100; ++i) {
    fleet.Note("a:1", Search({Held(ref("g" + std::to_string(i)))}), kStart);
    fleet.Settle("images", "g1", kStart);
  }
  CHECK(known() == std::vector<std::string>{"g1", "g99"});
  CHECK(fleet.Info("images", "g1") != nullptr);
  CHECK(fleet.Info("images", "g50") == nullptr);
  CHECK(fleet.index("images").generations.at("g1").sequence == 1);

  // The last word of the dead is kept, that of whoever has left is not.
  fleet.Note("b:1", Search({Held(ref("g100"))}), kStart + kDeadAfter);
  fleet.NoteTime(kStart + kDeadAfter);
  fleet.Settle("images", "g1", kStart + kDeadAfter);
  CHECK(known() == std::vector<std::string>{"g1", "g100", "g99"});
  Membership members = OneIndex();
  members.indexes["images"] = {{"b:1"}};
  fleet.SetMembers(members, kStart + kDeadAfter);
  fleet.Settle("images", "g100", kStart + kDeadAfter);
  CHECK(known() == std::vector<std::string>{"g100"});
}

TEST_CASE("the first in want of room is found among the live") {
  FleetView fleet(OneIndex(), kDeadAfter, kRestoredAfter, kStart);
  fleet.Note("a:1", Search({Held(kG1)}), kStart);
  fleet.Note("b:1", Search({Held(kG1), NoRoom("g2")}), kStart);
  fleet.Note("c:1", Search({Held(kG1), NoRoom("g3")}), kStart + absl::Seconds(1));
  CHECK(!fleet.WantsRoomFirst("a:1", "images"));
  CHECK(fleet.WantsRoomFirst("b:1", "images"));
  CHECK(!fleet.WantsRoomFirst("c:1", "images"));
  fleet.NoteTime(kStart + kDeadAfter);
  CHECK(fleet.WantsRoomFirst("c:1", "images"));
  CHECK(!fleet.WantsRoomFirst("nobody:1", "images"));
}

TEST_CASE("an error without a word is an error") {
  FleetView fleet(OneIndex(), kDeadAfter, kRestoredAfter, kStart);
  fleet.Note("a:1", absl::UnavailableError(""), kStart + kDeadAfter);
  fleet.NoteTime(kStart + kDeadAfter);
  CHECK(Live(fleet).empty());
}

// A reranker that holds g1 and computes its model in that.
ServerStatus Rerank(const std::string& precision) {
  ServerStatus status;
  status.service = "reranker";
  status.generations = {Held(kG1)};
  ModelStatus model;
  model.model = "cross";
  model.precision = precision;
  status.models = {model};
  return status;
}

TEST_CASE("what models are computed in stands in the rosters of those who compute") {
  Membership members = OneIndex();
  members.rerankers = {"r:1", "s:1"};
  FleetView fleet(members, kDeadAfter, kRestoredAfter, kStart);
  Changed(&fleet);
  using Models = std::map<std::string, std::string>;
  const auto reported = [&](const std::string& address, absl::StatusOr<ServerStatus> status) {
    fleet.Note(address, status, kStart);
    auto changed = Changed(&fleet);
    return changed.empty() ? std::vector<Models>() : changed[0].second.precisions;
  };
  CHECK(reported("r:1", Rerank("int8")) == std::vector<Models>{{{"cross", "int8"}}, {}});
  CHECK(reported("s:1", Rerank("float32")) ==
        std::vector<Models>{{{"cross", "int8"}}, {{"cross", "float32"}}});
  // The same again is nothing new; another precision of the same generations is.
  CHECK(reported("r:1", Rerank("int8")).empty());
  CHECK(reported("r:1", Rerank("float32")) ==
        std::vector<Models>{{{"cross", "float32"}}, {{"cross", "float32"}}});
  // A server of an earlier release, and one that says more than a name, do not tell.
  CHECK(reported("r:1", Rerank("")) == std::vector<Models>{{}, {{"cross", "float32"}}});
  CHECK(reported("r:1", Rerank(std::string(33, 'p'))).empty());
  // Who does not answer keeps its last word; another server has none.
  CHECK(reported("s:1", absl::UnavailableError("restarting")).empty());
  CHECK(reported("s:1", Search({})) == std::vector<Models>{{}, {}});
  fleet.Note("a:1", Search({Held(kG1)}), kStart);
  CHECK(Changed(&fleet)[0].second.precisions.empty());  // of a shard
}

}  // namespace
}  // namespace sightline
