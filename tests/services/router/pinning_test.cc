#include "services/router/pinning.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "services/router/release_grants.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Names = std::set<std::string>;

ReplicaView Live(std::string address, Names ready, Names no_room = {}) {
  return {std::move(address), /*live=*/true, std::move(ready), std::move(no_room)};
}

ReplicaView Dead(std::string address, Names ready) {
  return {std::move(address), /*live=*/false, std::move(ready), {}};
}

// One shard, one encoder, no reranker; g1, g2, g3 with sequences 1, 2, 3.
IndexView Index(std::vector<ReplicaView> shard, std::vector<ReplicaView> encoders) {
  IndexView index;
  index.shards = {{std::move(shard)}};
  index.encoders = {std::move(encoders)};
  index.generations = {{"g1", {1, false}}, {"g2", {2, false}}, {"g3", {3, false}}};
  return index;
}

TEST_CASE("requests move when a share of each set is ready") {
  struct Case {
    int ready, live;
    double share;
    bool moves;
  };
  for (const Case& c : std::vector<Case>{{0, 1, 0.5, false},
                                         {1, 1, 0.5, true},
                                         {1, 2, 0.5, true},
                                         {1, 3, 0.5, false},
                                         {2, 3, 0.5, true},
                                         {1, 2, 1.0, false},
                                         {2, 2, 1.0, true},
                                         {0, 2, 0.0, false},
                                         {1, 4, 0.0, true},
                                         {2, 5, 0.4, true},
                                         {1, 5, 0.4, false},
                                         {3, 10, 0.3, true}}) {
    CAPTURE(c.ready, c.live, c.share);
    std::vector<ReplicaView> replicas;
    for (int i = 0; i < c.live; ++i) {
      replicas.push_back(
          Live("r" + std::to_string(i), i < c.ready ? Names{"g1", "g2"} : Names{"g1"}));
    }
    const ReplicaView all = Live("x", {"g1", "g2"});
    const std::string expected = c.moves ? "g2" : "g1";
    CHECK(ChooseGeneration(Index(replicas, {all}), "g1", c.share) == expected);
    CHECK(ChooseGeneration(Index({all}, replicas), "g1", c.share) == expected);
    IndexView reranked = Index({all}, {all});
    reranked.rerankers = {replicas};
    CHECK(ChooseGeneration(reranked, "g1", c.share) == "g2");
    reranked.generations["g2"].reranked = true;
    CHECK(ChooseGeneration(reranked, "g1", c.share) == expected);
  }
}

TEST_CASE("rerankers that are not configured are not waited for") {
  IndexView index = Index({Live("s", {"g1", "g2"})}, {Live("e", {"g1", "g2"})});
  index.generations["g2"].reranked = true;
  CHECK(ChooseGeneration(index, "g1", 0.5) == "g2");
}

TEST_CASE("every shard counts for itself") {
  IndexView index = Index({Live("s0", {"g1", "g2"})}, {Live("e", {"g1", "g2"})});
  index.shards.push_back({{Live("s1", {"g1"})}});
  CHECK(ChooseGeneration(index, "g1", 0.5) == "g1");
  index.shards[1].replicas.push_back(Live("s1b", {"g2"}));
  CHECK(ChooseGeneration(index, "g1", 0.5) == "g2");
}

TEST_CASE("the dead neither help nor hinder") {
  const std::vector<ReplicaView> e = {Live("e", {"g1", "g2"})};
  CHECK(ChooseGeneration(Index({Live("a", {"g1"}), Dead("b", {"g2"})}, e), "g1", 0.5) == "g1");
  CHECK(ChooseGeneration(Index({Live("a", {"g2"}), Dead("b", {"g1"})}, e), "g1", 1) == "g2");
  IndexView index = Index({Live("a", {"g1", "g2"})}, e);
  index.shards.push_back({{Dead("c", {"g1"})}});
  CHECK(ChooseGeneration(index, "g1", 0.5) == "g2");
  SECTION("but a generation without a live shard is none") {
    CHECK(ChooseGeneration(Index({Dead("a", {"g2"})}, e), "g1", 0.5) == "g1");
  }
}

TEST_CASE("the newest of several goes first, and a rollback is new") {
  IndexView index = Index({Live("s", {"g1", "g2", "g3"})}, {Live("e", {"g1", "g2", "g3"})});
  CHECK(ChooseGeneration(index, "", 0.5) == "g3");
  CHECK(ChooseGeneration(index, "g1", 0.5) == "g3");
  index.generations["g1"].sequence = 4;
  CHECK(ChooseGeneration(index, "g3", 0.5) == "g1");
  CHECK(ChooseGeneration(index, "g1", 0.5) == "g1");
}

TEST_CASE("the pinned one stays while it is whole, though an older one is held by more") {
  const IndexView index = Index({Live("a", {"g1", "g2"}), Live("b", {"g1"}), Live("c", {"g1"})},
                                {Live("e", {"g1", "g2"})});
  CHECK(ChooseGeneration(index, "g2", 0.5) == "g2");
  CHECK(ChooseGeneration(index, "g1", 0.5) == "g1");
}

TEST_CASE("when the pinned one is lost somewhere, the newest whole one takes its place") {
  // g1 and g2 are whole, but only g1 has the share.
  const std::vector<ReplicaView> shard = {Live("a", {"g1", "g2"}), Live("b", {"g1"}),
                                          Live("c", {"g1"})};
  const IndexView index = Index(shard, {Live("e", {"g1", "g2"})});
  CHECK(ChooseGeneration(index, "g3", 0.5) == "g2");
  CHECK(ChooseGeneration(index, "", 0.9) == "g1");
}

TEST_CASE("where nothing is whole, what no encoder holds is not asked for") {
  // The encoder has not heard of g2; one shard is left with that alone.
  IndexView index = Index({Live("a", {"g2"})}, {Live("e", {"g1"})});
  index.shards.push_back({{Live("b", {"g1", "g2"})}});
  CHECK(ChooseGeneration(index, "g1", 0.5) == "g1");
  CHECK(ChooseGeneration(index, "g2", 0.5) == "g1");
  // What no shard holds gives no answer either.
  index.shards[1].replicas[0].ready = {"g2"};
  CHECK(ChooseGeneration(index, "g1", 0.5) == "g2");
}

TEST_CASE("where nothing is whole, shards count before rerankers, and these before age") {
  IndexView index = Index({Live("a", {"g1", "g2"})}, {Live("e", {})});
  index.shards.push_back({{Live("b", {"g1"})}});
  CHECK(ChooseGeneration(index, "", 0.5) == "g1");
  index.shards[1].replicas[0].ready = {"g2", "g1"};
  CHECK(ChooseGeneration(index, "", 0.5) == "g2");
  index.shards.push_back({{Live("c", {})}});
  index.encoders.replicas[0].ready = {"g1"};
  CHECK(ChooseGeneration(index, "", 0.5) == "g1");
}

TEST_CASE("what no live replica holds of a generation is named, be its set silent or not") {
  IndexView index = Index({Live("a", {"g1"}), Live("b", {"g2"})}, {Live("e", {"g1"})});
  CHECK(NotHeld(index, "g1").empty());
  CHECK(NotHeld(index, "g2") == "the encoder");
  index.shards.push_back({{Dead("c", {"g1", "g2"})}});
  CHECK(HeldWhole(index, "g1"));
  CHECK(NotHeld(index, "g1") == "shard 1");
  index.rerankers = {{Live("r", {"g3"})}};
  CHECK(NotHeld(index, "g1") == "shard 1");  // it has no cross-encoder
  index.generations["g1"].reranked = true;
  CHECK(NotHeld(index, "g1") == "shard 1, the reranker");
  index.rerankers = {};  // none are configured
  CHECK(NotHeld(index, "g1") == "shard 1");
  CHECK(NotHeld(index, "g4") == "shard 0, shard 1, the encoder");
}

TEST_CASE("with nothing at all the pinned one stays") {
  const IndexView index = Index({Live("a", {})}, {Live("e", {"g1", "g2"})});
  CHECK(ChooseGeneration(index, "g1", 0.5) == "g1");
  CHECK(ChooseGeneration(index, "", 0.5).empty());
}

// Every set of three replicas, each in one of these states, from the view of each replica:
// the rule of pinning.h, written the other way round.
TEST_CASE("one may release when the others can spare it, in all sets of three") {
  const std::vector<ReplicaView> states = {
      Live("", {"g1"}),          // serves
      Live("", {"g1"}, {"g2"}),  // serves and wants room
      Live("", {"g1", "g2"}),    // has room for both
      Live("", {"g2"}),          // has moved on
      Live("", {}),              // is loading
      Dead("", {"g1"}),
  };
  int granted = 0;
  for (size_t i = 0; i < 216; ++i) {
    std::vector<ReplicaView> replicas = {states[i % 6], states[i / 6 % 6], states[i / 36]};
    for (int r = 0; r < 3; ++r) replicas[r].address = "r" + std::to_string(r);
    const IndexView index = Index(replicas, {Live("e", {"g1"})});
    int grants = 0;
    for (int r = 0; r < 3; ++r) {
      int live = 0, of_pinned = 0, of_either = 0, wanting_before = 0;
      for (int o = 0; o < 3; ++o) {
        if (o == r || !replicas[o].live) continue;
        ++live;
        of_pinned += static_cast<int>(replicas[o].ready.count("g1"));
        of_either += replicas[o].ready.empty() ? 0 : 1;
        wanting_before += o < r ? static_cast<int>(replicas[o].no_room.size()) : 0;
      }
      const bool expected = replicas[r].live && !replicas[r].no_room.empty() && of_either == live &&
                            of_pinned > 0 && wanting_before == 0;
      CAPTURE(i, r);
      CHECK(MayRelease(index, "g1", replicas[r].address) == expected);
      grants += expected ? 1 : 0;
    }
    CHECK(grants <= 1);
    granted += grants;
  }
  CHECK(granted > 10);
}

TEST_CASE("a lone replica never releases, nor one whose only fellow is dead") {
  const std::vector<ReplicaView> e = {Live("e", {"g1"})};
  CHECK(!MayRelease(Index({Live("a", {"g1"}, {"g2"})}, e), "g1", "a"));
  CHECK(!MayRelease(Index({Live("a", {"g1"}, {"g2"}), Dead("b", {"g1"})}, e), "g1", "a"));
  CHECK(MayRelease(Index({Live("a", {"g1"}, {"g2"}), Live("b", {"g1"})}, e), "g1", "a"));
  ReplicaView ending = Live("b", {"g1"});
  ending.draining = true;
  CHECK(!MayRelease(Index({Live("a", {"g1"}, {"g2"}), ending}, e), "g1", "a"));
}

TEST_CASE("nothing is released for an older generation, or for one that is pinned") {
  const std::vector<ReplicaView> e = {Live("e", {"g2"})};
  CHECK(!MayRelease(Index({Live("a", {"g2"}, {"g1"}), Live("b", {"g2"})}, e), "g2", "a"));
  CHECK(!MayRelease(Index({Live("a", {"g1"}, {"g2"}), Live("b", {"g2"})}, e), "g2", "a"));
}

TEST_CASE("a server of two shards asks both") {
  IndexView index = Index({Live("a", {"g1"}, {"g2"}), Live("b", {"g1"})}, {Live("e", {"g1"})});
  index.shards.push_back({{Live("a", {"g1"}, {"g2"}), Live("c", {"g1"})}});
  CHECK(MayRelease(index, "g1", "a"));
  index.shards[1].replicas[1].ready.clear();
  CHECK(!MayRelease(index, "g1", "a"));
}

TEST_CASE("encoders and rerankers release by the same rule") {
  IndexView index = Index({Live("s", {"g1"})}, {Live("a", {"g1"}, {"g2"}), Live("b", {"g1"})});
  CHECK(MayRelease(index, "g1", "a"));
  CHECK(!MayRelease(index, "g1", "s"));
  index.rerankers = {{Live("x", {"g1"}, {"g2"}), Live("y", {"g1"})}};
  CHECK(MayRelease(index, "g1", "x"));
}

// Servers with room for one generation each, and routers that see them as they were a round
// of polls ago.  Between the rounds servers find out that there is g2, let go of g1 for it
// and load it, in an order that is drawn.
struct Simulation {
  struct Router {
    std::vector<ReplicaView> seen, answers;
    std::vector<bool> grants;  // as the servers know them
    ReleaseGrants memory{absl::Seconds(1)};
    std::string pinned = "g1";

    IndexView View() const { return Index(seen, {Live("e", {"g1", "g2"})}); }
  };

  Simulation(int replicas, int router_count, uint32_t seed) : random(seed) {
    for (int i = 0; i < replicas; ++i) truth.push_back(Live("r" + std::to_string(i), {"g1"}));
    routers.resize(router_count);
    for (Router& router : routers) {
      router.seen = router.answers = truth;
      router.grants.resize(replicas);
    }
  }

  void Step() {
    if (random() % 4 == 0) {
      Poll(&routers[random() % routers.size()]);
    } else {
      Serve(random() % truth.size());
    }
  }

  // The answers of the round before come in, and the next round goes out.
  void Poll(Router* router) {
    now += absl::Seconds(1);
    for (size_t i = 0; i < truth.size(); ++i) {
      router->seen[i] = router->answers[i];
      router->memory.NoteAnswer(truth[i].address, now);
    }
    router->pinned = ChooseGeneration(router->View(), router->pinned, 0.5);
    for (size_t i = 0; i < truth.size(); ++i) {
      // Whoever has moved on does not name g1 any more.
      router->grants[i] = router->pinned != "g1" ||
                          router->memory.Grant(router->View(), "g1", truth[i].address, now);
      if (random() % 2 == 0) Serve(i);
      router->answers[i] = truth[i];
    }
  }

  void Serve(size_t i) {
    ReplicaView& server = truth[i];
    const bool granted = std::all_of(routers.begin(), routers.end(),
                                     [i](const Router& router) { return router.grants[i]; });
    if (server.ready.empty()) {
      server.ready = {"g2"};
    } else if (server.ready.count("g1") > 0 && server.no_room.empty()) {
      if (random() % 8 == 0) server.no_room = {"g2"};
    } else if (server.ready.count("g1") > 0 && granted) {
      server.ready.clear();
      server.no_room.clear();
    }
  }

  bool Done() const {
    return std::all_of(truth.begin(), truth.end(),
                       [](const ReplicaView& server) { return server.ready.count("g2") > 0; });
  }
  bool Covered() const {
    return std::all_of(routers.begin(), routers.end(), [&](const Router& router) {
      return std::any_of(truth.begin(), truth.end(), [&](const ReplicaView& server) {
        return server.ready.count(router.pinned) > 0;
      });
    });
  }

  std::mt19937 random;
  absl::Time now = absl::UnixEpoch();
  std::vector<ReplicaView> truth;
  std::vector<Router> routers;
};

TEST_CASE("replicas with room for one generation go over one by one, and coverage stays whole") {
  const int replicas = GENERATE(2, 3, 4);
  const int routers = GENERATE(1, 2, 3);
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Simulation simulation(replicas, routers, seed);
    int steps = 0;
    CAPTURE(replicas, routers, seed, steps);
    while (!simulation.Done() && ++steps < 5000) {
      simulation.Step();
      if (!simulation.Covered()) FAIL("nobody holds what is pinned after step " << steps);
    }
    REQUIRE(simulation.Done());
  }
}

TEST_CASE("the grant of a server that has left is forgotten after a while") {
  const std::vector<ReplicaView> shard = {Live("a", {"g1"}, {"g2"}), Live("b", {"g1"}, {"g2"})};
  const IndexView wants = Index(shard, {Live("e", {"g1", "g2"})});
  IndexView back = wants;  // "a" is there again, content with what it has
  back.shards[0].replicas[0].no_room.clear();
  const absl::Time start = absl::UnixEpoch();
  ReleaseGrants grants(absl::Seconds(1));
  REQUIRE(grants.Grant(wants, "g1", "a", start));
  grants.ForgetOthers({"b"}, start + ReleaseGrants::kMayReturn - absl::Nanoseconds(1));
  grants.ForgetOthers({"a", "b"}, start + 2 * ReleaseGrants::kMayReturn);
  CHECK(!grants.Grant(back, "g1", "b", start + 2 * ReleaseGrants::kMayReturn));
  grants.ForgetOthers({"b"}, start + 2 * ReleaseGrants::kMayReturn);
  CHECK(grants.Grant(back, "g1", "b", start + 2 * ReleaseGrants::kMayReturn));
}

TEST_CASE("a lone replica with room for one generation keeps the one it has") {
  Simulation simulation(1, 1, 7);
  for (int step = 0; step < 1000; ++step) simulation.Step();
  CHECK(simulation.truth[0].ready == Names{"g1"});
  CHECK(simulation.routers[0].pinned == "g1");
}

}  // namespace
}  // namespace sightline
