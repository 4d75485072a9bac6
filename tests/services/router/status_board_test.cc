#include "services/router/status_board.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "catch2/catch.hpp"
#include "common/base/error_details.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

// Index "images" in two shards, the first with two replicas; "captions" in one.
Membership TwoIndexes() {
  Membership members;
  members.encoders = {"e:1"};
  members.rerankers = {"r:1"};
  members.indexes["images"] = {{"s0:1", "s0:2"}, {"s1:1"}};
  members.indexes["captions"] = {{"c:1"}};
  return members;
}

// A board on a clock that the test moves.
struct Rig {
  explicit Rig(StatusBoardOptions options = {"router-1"})
      : board(TwoIndexes(), options, &clock, &metrics) {}

  FakeClock clock;
  MetricsRegistry metrics;
  StatusBoard board;
};

GenerationStatus Held(const std::string& generation, int64_t sequence, std::vector<int> shards,
                      const std::string& index = "images", int shard_count = 2) {
  GenerationStatus status;
  status.state = GenerationState::kReady;
  status.sequence = sequence;
  status.held_shards = std::move(shards);
  status.info.ref = {index, generation, "space"};
  status.info.shard_count = shard_count;
  status.info.dimension = 8;
  return status;
}

ServerStatus Server(const std::string& service, std::vector<GenerationStatus> generations) {
  ServerStatus status;
  status.service = service;
  status.generations = std::move(generations);
  return status;
}

ServerStatus Search(std::vector<GenerationStatus> generations) {
  return Server("index_search", std::move(generations));
}

std::string Pinned(const StatusBoard& board, const std::string& index = "images") {
  const auto info = board.Pin(index);
  return info.ok() ? (*info)->ref.generation : "";
}

BackendStatus BackendAt(const StatusBoard& board, const std::string& address) {
  for (const BackendStatus& backend : board.Describe().backends) {
    if (backend.address == address) return backend;
  }
  FAIL("no backend " << address);
  return {};
}

TEST_CASE("an index is pinned by the first shard that reports it") {
  Rig rig;
  StatusBoard& board = rig.board;
  CHECK(!board.any_known());
  board.Report("s1:1", Search({Held("g1", 1, {1})}));
  CHECK(Pinned(board) == "g1");
  CHECK(board.any_known());
  CHECK(!board.all_known());
  board.Report("c:1", Search({Held("c1", 4, {0}, "captions", 1)}));
  CHECK(board.all_known());
  REQUIRE(board.Known().size() == 2);
  CHECK(board.Known()[0]->ref.index == "captions");
}

TEST_CASE("a new generation is pinned once as many shards hold it as the old one") {
  Rig rig;
  StatusBoard& board = rig.board;
  board.Report("s0:1", Search({Held("g1", 1, {0})}));
  board.Report("s1:1", Search({Held("g1", 1, {1})}));
  board.Report("s0:2", Search({Held("g2", 2, {0})}));
  CHECK(Pinned(board) == "g1");
  board.Report("s1:1", Search({Held("g1", 1, {1}), Held("g2", 2, {1})}));
  CHECK(Pinned(board) == "g2");
}

TEST_CASE("what counts is when a generation was published, not its name") {
  Rig rig;
  StatusBoard& board = rig.board;
  board.Report("s0:1", Search({Held("g2", 2, {0})}));
  board.Report("s0:2", Search({Held("g1", 3, {0})}));  // published again
  CHECK(Pinned(board) == "g1");
}

TEST_CASE("replicas of one shard do not count as several shards") {
  Rig rig;
  StatusBoard& board = rig.board;
  board.Report("s0:1", Search({Held("g1", 1, {0})}));
  board.Report("s0:2", Search({Held("g1", 1, {0})}));
  board.Report("s1:1", Search({Held("g2", 2, {1})}));
  CHECK(Pinned(board) == "g2");
}

TEST_CASE("a generation in another number of shards would be searched in part") {
  Rig rig;
  StatusBoard& board = rig.board;
  board.Report("s0:1", Search({Held("g1", 1, {0}, "images", 3)}));
  CHECK(absl::IsUnavailable(board.Pin("images").status()));
}

TEST_CASE("only what is ready, at the shard's own address and of its index counts") {
  Rig rig;
  StatusBoard& board = rig.board;
  GenerationStatus loading = Held("g1", 1, {0});
  loading.state = GenerationState::kLoading;
  GenerationStatus refused = Held("g2", 1, {0});
  refused.state = GenerationState::kRefused;
  board.Report("s0:1", Search({loading, refused}));
  board.Report("s1:1", Search({Held("g3", 1, {0})}));                // shard 0 at shard 1's address
  board.Report("c:1", Search({Held("g4", 1, {0}, "captions", 2)}));  // of two shards
  board.Report("nobody:1", Search({Held("g5", 1, {0, 1})}));
  CHECK(!board.any_known());
}

TEST_CASE("another kind of server at an address is said and not believed") {
  Rig rig;
  StatusBoard& board = rig.board;
  board.Report("s0:1", Server("reranker", {Held("g1", 1, {0})}));
  CHECK(!board.any_known());
  const BackendStatus backend = BackendAt(board, "s0:1");
  CHECK(backend.reachable);
  CHECK(backend.error == "is a reranker, configured as index_search");
  board.Report("s0:1", Search({Held("g1", 1, {0})}));
  CHECK(BackendAt(board, "s0:1").error.empty());
}

TEST_CASE("a backend that does not answer keeps its last word") {
  Rig rig;
  StatusBoard& board = rig.board;
  CHECK(BackendAt(board, "s0:1").error == "not asked yet");
  board.Report("s0:1", Search({Held("g1", 1, {0})}));
  CHECK(BackendAt(board, "s0:1").reachable);
  board.Report("s0:1", absl::UnavailableError("connection refused"));
  board.Report("e:1", Server("query_encoder", {}));
  CHECK(Pinned(board) == "g1");
  CHECK(!BackendAt(board, "s0:1").reachable);
  CHECK(BackendAt(board, "s0:1").error == "connection refused");
}

TEST_CASE("a generation that all have let go stays pinned until there is another") {
  Rig rig;
  StatusBoard& board = rig.board;
  board.Report("s0:1", Search({Held("g1", 1, {0})}));
  board.Report("s0:1", Search({}));
  CHECK(Pinned(board) == "g1");
  board.Report("s0:1", Search({Held("g0", 0, {0})}));
  CHECK(Pinned(board) == "g0");
}

TEST_CASE("how scores combine is the reranker's word, whoever reports first") {
  const bool reranker_first = GENERATE(true, false);
  Rig rig;
  StatusBoard& board = rig.board;
  GenerationStatus scored = Held("g1", 1, {});
  scored.info.combination = {CombinationKind::kAddLambda, 0.25f};
  GenerationStatus other = Held("g0", 1, {});
  other.info.combination = {CombinationKind::kNormAddLambda, 0.75f};
  if (reranker_first) board.Report("r:1", Server("reranker", {other, scored}));
  board.Report("s0:1", Search({Held("g1", 1, {0})}));
  if (!reranker_first) {
    CHECK((*board.Pin("images"))->combination.kind == CombinationKind::kReplace);
    board.Report("r:1", Server("reranker", {other, scored}));
  }
  const auto info = board.Pin("images");
  REQUIRE(info.ok());
  CHECK((*info)->combination.kind == CombinationKind::kAddLambda);
  CHECK((*info)->combination.lambda == 0.25f);
}

TEST_CASE("an unknown index and one that nobody has reported are told apart") {
  Rig rig;
  StatusBoard& board = rig.board;
  const absl::Status unknown = board.Pin("films").status();
  CHECK(absl::IsNotFound(unknown));
  REQUIRE(GetReason(unknown).has_value());
  CHECK(GetReason(unknown)->reason == "UNKNOWN_INDEX");
  const absl::Status silent = board.Pin("images").status();
  CHECK(absl::IsUnavailable(silent));
  REQUIRE(GetReason(silent).has_value());
  CHECK(GetReason(silent)->reason == "INDEX_NOT_READY");
}

TEST_CASE("a request keeps what it was pinned to") {
  Rig rig;
  StatusBoard& board = rig.board;
  board.Report("s0:1", Search({Held("g1", 1, {0})}));
  const auto before = board.Pin("images");
  board.Report("s0:1", Search({Held("g2", 2, {0})}));
  CHECK((*before)->ref.generation == "g1");
  CHECK(Pinned(board) == "g2");
}

TEST_CASE("the description has the pinned generations and every backend") {
  Rig rig;
  StatusBoard& board = rig.board;
  board.Report("s0:1", Search({Held("g1", 5, {0})}));
  const ServerStatus status = board.Describe();
  CHECK(status.service == "router");
  REQUIRE(status.generations.size() == 1);
  CHECK(status.generations[0].sequence == 5);
  CHECK(status.generations[0].state == GenerationState::kReady);
  CHECK(status.backends.size() == 6);
  CHECK(BackendAt(board, "s1:1").shards == std::vector<std::string>{"indexes/images/shards/1"});
  CHECK(BackendAt(board, "e:1").service == "query_encoder");
}

}  // namespace
}  // namespace sightline
