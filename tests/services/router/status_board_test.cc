#include "services/router/status_board.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "tests/support/catch.h"
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

// A board that draws its consequences at once.
class PromptBoard : public StatusBoard {
 public:
  using StatusBoard::StatusBoard;
  void Report(const std::string& address, const absl::StatusOr<ServerStatus>& status) {
    StatusBoard::Report(address, status);
    Refresh();
  }
};

enum class Fitness { kUnfit, kLastResort, kFit };

// One on a clock that the test moves, and the rosters that it has made.
struct Rig {
  explicit Rig(StatusBoardOptions options = {"router-1"})
      : board(TwoIndexes(), options, &clock, &metrics,
              [this](const ReplicaSetId& set, Roster roster) {
                ++rosters_made;
                if (on_roster) on_roster();  // before anybody has it
                rosters[{set.kind, set.index, set.shard}] = std::move(roster);
              }) {}

  // What is known of a shard's replica, or, without `shard`, of an encoder.
  Fitness FitnessOf(const std::string& address, const GenerationRef& target, int shard) const {
    using Kind = ReplicaSetId::Kind;
    const auto key = shard < 0 ? std::make_tuple(Kind::kEncoder, std::string(), 0)
                               : std::make_tuple(Kind::kShard, target.index, shard);
    const Roster& roster = rosters.at(key);
    const auto listed = [&](const std::vector<int>& members) {
      return std::any_of(members.begin(), members.end(),
                         [&](int i) { return (*roster.addresses)[i] == address; });
    };
    for (const Roster::Holders& holders : roster.holders) {
      const GenerationRef& held = holders.generation;
      if (std::tie(held.index, held.generation, held.space) !=
          std::tie(target.index, target.generation, target.space)) {
        continue;
      }
      if (listed(holders.fit)) return Fitness::kFit;
      if (listed(holders.last_resort)) return Fitness::kLastResort;
    }
    return Fitness::kUnfit;
  }

  FakeClock clock;
  MetricsRegistry metrics;
  std::map<std::tuple<ReplicaSetId::Kind, std::string, int>, Roster> rosters;
  int rosters_made = 0;
  std::function<void()> on_roster;
  PromptBoard board;
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
  PromptBoard& board = rig.board;
  CHECK(!board.any_known());
  board.Report("s1:1", Search({Held("g1", 1, {1})}));
  CHECK(Pinned(board) == "g1");
  CHECK(board.any_known());
  CHECK(!board.all_known());
  board.Report("c:1", Search({Held("c1", 4, {0}, "captions", 1)}));
  CHECK(board.all_known());
}

TEST_CASE("an index that nobody has reported is known by its name") {
  Rig rig;
  rig.board.Report("s1:1", Search({Held("g1", 1, {1})}));
  const auto known = rig.board.Known();
  REQUIRE(known.size() == 2);
  CHECK(known[0]->ref.index == "captions");
  CHECK(known[0]->ref.generation.empty());
  CHECK(known[1]->ref.index == "images");
  CHECK(known[1]->ref.generation == "g1");
}

TEST_CASE("a new generation is pinned once as many shards hold it as the old one") {
  Rig rig;
  PromptBoard& board = rig.board;
  board.Report("s0:1", Search({Held("g1", 1, {0})}));
  board.Report("s1:1", Search({Held("g1", 1, {1})}));
  board.Report("s0:2", Search({Held("g2", 2, {0})}));
  CHECK(Pinned(board) == "g1");
  board.Report("s1:1", Search({Held("g1", 1, {1}), Held("g2", 2, {1})}));
  CHECK(Pinned(board) == "g2");
}

TEST_CASE("what counts is when a generation was published, not its name") {
  Rig rig;
  PromptBoard& board = rig.board;
  board.Report("s0:1", Search({Held("g2", 2, {0})}));
  board.Report("s0:2", Search({Held("g1", 3, {0})}));  // published again
  CHECK(Pinned(board) == "g1");
}

TEST_CASE("replicas of one shard do not count as several shards") {
  Rig rig;
  PromptBoard& board = rig.board;
  board.Report("s0:1", Search({Held("g1", 1, {0})}));
  board.Report("s0:2", Search({Held("g1", 1, {0})}));
  board.Report("s1:1", Search({Held("g2", 2, {1})}));
  CHECK(Pinned(board) == "g2");
}

TEST_CASE("a generation in another number of shards would be searched in part") {
  Rig rig;
  PromptBoard& board = rig.board;
  board.Report("s0:1", Search({Held("g1", 1, {0}, "images", 3)}));
  CHECK(absl::IsUnavailable(board.Pin("images").status()));
}

TEST_CASE("only what is ready, at the shard's own address and of its index counts") {
  Rig rig;
  PromptBoard& board = rig.board;
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
  PromptBoard& board = rig.board;
  board.Report("s0:1", Server("reranker", {Held("g1", 1, {0})}));
  CHECK(!board.any_known());
  const BackendStatus backend = BackendAt(board, "s0:1");
  CHECK(backend.reachable);
  CHECK(backend.error == "is a reranker, configured as index_search");
  board.Report("s0:1", Search({Held("g1", 1, {0})}));
  CHECK(BackendAt(board, "s0:1").error.empty());
}

TEST_CASE("an address that another server has taken holds nothing any more") {
  const bool ours = GENERATE(true, false);
  Rig rig;
  const GenerationRef g1 = {"images", "g1", "space"};
  rig.board.Report("s0:1", Search({Held("g1", 1, {0})}));
  REQUIRE(rig.FitnessOf("s0:1", g1, 0) == Fitness::kFit);
  if (ours) {
    rig.board.Report("s0:1", Server("reranker", {Held("g1", 1, {0})}));
  } else {
    rig.board.Report("s0:1", absl::UnimplementedError("unknown service sightline.v1.Admin"));
    const BackendStatus backend = BackendAt(rig.board, "s0:1");
    CHECK(!backend.reachable);
    CHECK(backend.error == "is no server of this fleet: unknown service sightline.v1.Admin");
  }
  CHECK(rig.FitnessOf("s0:1", g1, 0) == Fitness::kUnfit);
  // It counts as silent, and at last as dead.
  rig.clock.Advance(absl::Seconds(10));
  rig.board.Report("s1:1", Search({Held("g2", 2, {1})}));
  rig.board.Report("s0:2", Search({Held("g2", 2, {0})}));
  CHECK(Pinned(rig.board) == "g2");
}

TEST_CASE("a backend that does not answer keeps its last word") {
  Rig rig;
  PromptBoard& board = rig.board;
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
  PromptBoard& board = rig.board;
  board.Report("s0:1", Search({Held("g1", 1, {0})}));
  board.Report("s0:1", Search({}));
  CHECK(Pinned(board) == "g1");
  board.Report("s0:1", Search({Held("g0", 0, {0})}));
  CHECK(Pinned(board) == "g0");
}

TEST_CASE("how scores combine is the reranker's word, whoever reports first") {
  const bool reranker_first = GENERATE(true, false);
  Rig rig;
  PromptBoard& board = rig.board;
  GenerationStatus scored = Held("g1", 1, {});
  scored.info.rerankers = {{"fast", "m", {CombinationKind::kAddLambda, 0.25f}},
                           {"fine", "n", {CombinationKind::kNormAddLambda, 0.5f}}};
  GenerationStatus other = Held("g0", 1, {});
  other.info.rerankers = {{"fast", "m", {CombinationKind::kNormAddLambda, 0.75f}}};
  if (reranker_first) board.Report("r:1", Server("reranker", {other, scored}));
  GenerationStatus searched = Held("g1", 1, {0});
  searched.info.rerankers = {{"fast", "m", {}}, {"fine", "n", {}}};
  board.Report("s0:1", Search({searched}));
  if (!reranker_first) {
    CHECK((*board.Pin("images"))->rerankers[0].declared.combination.kind ==
          CombinationKind::kReplace);
    board.Report("r:1", Server("reranker", {other, scored}));
  }
  const auto info = board.Pin("images");
  REQUIRE(info.ok());
  REQUIRE((*info)->rerankers.size() == 2);
  CHECK((*info)->rerankers[0].declared.combination.kind == CombinationKind::kAddLambda);
  CHECK((*info)->rerankers[0].declared.combination.lambda == 0.25f);
  CHECK((*info)->rerankers[1].name == "fine");
  CHECK((*info)->rerankers[1].declared.combination.kind == CombinationKind::kNormAddLambda);
}

TEST_CASE("an unknown index and one that nobody has reported are told apart") {
  Rig rig;
  PromptBoard& board = rig.board;
  const absl::Status unknown = board.Pin("films").status();
  CHECK(absl::IsNotFound(unknown));
  CHECK(HasReason(unknown, reasons::kUnknownIndex));
  const absl::Status silent = board.Pin("images").status();
  CHECK(absl::IsUnavailable(silent));
  CHECK(HasReason(silent, reasons::kIndexNotReady));
}

TEST_CASE("a request keeps what it was pinned to") {
  Rig rig;
  PromptBoard& board = rig.board;
  board.Report("s0:1", Search({Held("g1", 1, {0})}));
  const auto before = board.Pin("images");
  board.Report("s0:1", Search({Held("g2", 2, {0})}));
  CHECK((*before)->ref.generation == "g1");
  CHECK(Pinned(board) == "g2");
}

TEST_CASE("the description has the pinned generations and every backend") {
  Rig rig;
  PromptBoard& board = rig.board;
  board.Report("s0:1", Search({Held("g1", 5, {0})}));
  const ServerStatus status = board.Describe();
  CHECK(status.service == "router");
  REQUIRE(status.generations.size() == 1);
  CHECK(status.generations[0].sequence == 5);
  CHECK(status.backends.size() == 6);
  CHECK(BackendAt(board, "s1:1").shards == std::vector<std::string>{"indexes/images/shards/1"});
  CHECK(BackendAt(board, "e:1").service == "query_encoder");
}

TEST_CASE("a pinned generation is described as ready once servers hold all of it") {
  Rig rig;
  PromptBoard& board = rig.board;
  board.Report("s0:1", Search({Held("g1", 5, {0})}));
  GenerationStatus pinned = board.Describe().generations.at(0);
  CHECK(pinned.state == GenerationState::kLoading);
  CHECK(pinned.reason == "held by no live server: shard 1, the encoder");
  board.Report("s1:1", Search({Held("g1", 5, {1})}));
  board.Report("e:1", Server("query_encoder", {Held("g1", 5, {})}));
  pinned = board.Describe().generations.at(0);
  CHECK(pinned.state == GenerationState::kReady);
  CHECK(pinned.reason.empty());
}

// All of the fleet reports these of "images".
void ReportAll(Rig* rig, const std::vector<GenerationStatus>& generations) {
  const auto with_shards = [&](std::vector<int> shards) {
    std::vector<GenerationStatus> result = generations;
    for (GenerationStatus& generation : result) generation.held_shards = shards;
    return result;
  };
  rig->board.Report("e:1", Server("query_encoder", with_shards({})));
  rig->board.Report("r:1", Server("reranker", with_shards({})));
  for (const char* address : {"s0:1", "s0:2"}) rig->board.Report(address, Search(with_shards({0})));
  rig->board.Report("s1:1", Search(with_shards({1})));
}

GenerationStatus NoRoom(const std::string& generation, int64_t sequence) {
  GenerationStatus status;
  status.state = GenerationState::kRefused;
  status.needs_room = true;
  status.sequence = sequence;
  status.info.ref = {"images", generation, ""};
  return status;
}

TEST_CASE("a backend is described with what it refuses, as long as it does") {
  Rig rig;
  GenerationStatus refused = Held("g1", 5, {});
  refused.state = GenerationState::kRefused;
  refused.reason = "READ_FAILED: /store/x.features";
  rig.board.Report("r:1", Server("reranker", {Held("c1", 4, {}, "captions", 1), refused}));
  CHECK(BackendAt(rig.board, "r:1").reachable);
  CHECK(BackendAt(rig.board, "r:1").error == "refuses images/g1: READ_FAILED: /store/x.features");
  rig.board.Report("r:1", absl::UnavailableError("gone"));
  CHECK(BackendAt(rig.board, "r:1").error.find("gone") != std::string::npos);
  rig.board.Report("r:1", Server("reranker", {Held("g1", 5, {})}));
  CHECK(BackendAt(rig.board, "r:1").error.empty());
}

std::vector<std::string> Uses(StatusBoard& board, const std::string& address = "e:1") {
  std::vector<std::string> names;
  for (const StatusRequest::Use& use : board.RequestFor(address).uses) {
    names.push_back(use.generation.generation + (use.may_release ? " may go" : ""));
  }
  return names;
}

TEST_CASE("requests move when encoder and shards are ready, and the gauge says so") {
  Rig rig;
  const Gauge sequence =
      rig.metrics.AddGauge("pinned_generation_sequence", "", {{"index", "images"}});
  ReportAll(&rig, {Held("g1", 3, {})});
  CHECK(sequence.value() == 3);
  rig.board.Report("s0:1", Search({Held("g1", 3, {0}), Held("g2", 4, {0})}));
  rig.board.Report("s1:1", Search({Held("g1", 3, {1}), Held("g2", 4, {1})}));
  CHECK(Pinned(rig.board) == "g1");
  rig.board.Report("e:1", Server("query_encoder", {Held("g1", 3, {}), Held("g2", 4, {})}));
  CHECK(Pinned(rig.board) == "g2");
  CHECK(sequence.value() == 4);
}

TEST_CASE("the reranker is waited for only by generations that are reranked") {
  const bool is_reranked = GENERATE(true, false);
  Rig rig;
  GenerationStatus second = Held("g2", 2, {});
  if (is_reranked) second.info.rerankers = {{"default", "model", {}}};
  ReportAll(&rig, {Held("g1", 1, {})});
  rig.board.Report("e:1", Server("query_encoder", {Held("g1", 1, {}), second}));
  second.held_shards = {0};
  rig.board.Report("s0:1", Search({Held("g1", 1, {0}), second}));
  second.held_shards = {1};
  rig.board.Report("s1:1", Search({Held("g1", 1, {1}), second}));
  CHECK(Pinned(rig.board) == (is_reranked ? "g1" : "g2"));
  rig.board.Report("r:1", Server("reranker", {Held("g1", 1, {}), second}));
  CHECK(Pinned(rig.board) == "g2");
}

TEST_CASE("one missed poll of a lone replica moves nothing, ten seconds of silence do") {
  Rig rig;
  ReportAll(&rig, {Held("g1", 1, {})});
  const std::vector<GenerationStatus> both = {Held("g1", 1, {0}), Held("g2", 2, {0})};
  // s1:1, alone on its shard, has gone before it could load g2.
  const auto others_report = [&] {
    rig.board.Report("s1:1", absl::UnavailableError("connection refused"));
    rig.board.Report("e:1", Server("query_encoder", both));
    rig.board.Report("s0:1", Search(both));
    rig.board.Report("s0:2", Search(both));
  };
  others_report();
  CHECK(Pinned(rig.board) == "g1");
  rig.clock.Advance(absl::Milliseconds(9999));
  others_report();
  CHECK(Pinned(rig.board) == "g1");
  rig.clock.Advance(absl::Milliseconds(1));
  others_report();
  CHECK(Pinned(rig.board) == "g2");
}

TEST_CASE("a rollback is a new publication, also once its reporter is gone") {
  Rig rig;
  ReportAll(&rig, {Held("g1", 1, {}), Held("g2", 2, {})});
  REQUIRE(Pinned(rig.board) == "g2");
  rig.board.Report("s0:1", Search({Held("g1", 3, {0}), Held("g2", 2, {0})}));
  CHECK(Pinned(rig.board) == "g1");
  rig.board.Report("s0:1", Search({Held("g1", 1, {0}), Held("g2", 2, {0})}));
  CHECK(Pinned(rig.board) == "g1");
}

// What a fleet says that held g5 when the store was put back to g1.
std::vector<GenerationStatus> Restored() {
  return {Held("g1", 1, {}), Held("g5", 0, {})};
}

TEST_CASE("a restored store is followed once every server has said so for a while") {
  StatusBoardOptions options = {"router-1"};
  Rig rig(options);
  ReportAll(&rig, {Held("g1", 1, {}), Held("g5", 5, {})});
  REQUIRE(Pinned(rig.board) == "g5");
  const Gauge sequence =
      rig.metrics.AddGauge("pinned_generation_sequence", "", {{"index", "images"}});

  // One of them still sees the store as it was.
  for (int second = 0; second < 300; ++second) {
    ReportAll(&rig, Restored());
    rig.board.Report("e:1", Server("query_encoder", {Held("g1", 1, {}), Held("g5", 5, {})}));
    rig.clock.Advance(absl::Seconds(1));
  }
  CHECK(Pinned(rig.board) == "g5");
  CHECK(sequence.value() == 5);

  SECTION("all of them do") {
    ReportAll(&rig, Restored());
    rig.clock.Advance(options.restored_after - absl::Nanoseconds(1));
    ReportAll(&rig, Restored());
    CHECK(Pinned(rig.board) == "g5");
    rig.clock.Advance(absl::Nanoseconds(1));
    ReportAll(&rig, Restored());
    CHECK(Pinned(rig.board) == "g1");
    CHECK(sequence.value() == 1);
    // It stays so, and what is published from now on is new, whatever its number was.
    ReportAll(&rig, Restored());
    CHECK(Pinned(rig.board) == "g1");
    ReportAll(&rig, {Held("g1", 1, {}), Held("g2", 2, {})});
    CHECK(Pinned(rig.board) == "g2");
  }
  SECTION("who still sees it as it was is dead") {
    for (int second = 0; second < 129; ++second) {
      rig.board.Report("e:1", absl::UnavailableError("connection refused"));
      rig.board.Report("r:1", Server("reranker", Restored()));
      for (const char* address : {"s0:1", "s0:2"}) {
        rig.board.Report(address, Search({Held("g1", 1, {0}), Held("g5", 0, {0})}));
      }
      rig.board.Report("s1:1", Search({Held("g1", 1, {1}), Held("g5", 0, {1})}));
      rig.clock.Advance(absl::Seconds(1));
    }
    CHECK(Pinned(rig.board) == "g5");
    rig.board.Report("s1:1", Search({Held("g1", 1, {1}), Held("g5", 0, {1})}));
    CHECK(Pinned(rig.board) == "g1");
  }
}

TEST_CASE("where requests go while a store is restored, the old generation may go for the new") {
  Rig rig({"router-1"});
  ReportAll(&rig, {Held("g5", 5, {})});
  const auto wants = [](int shard) { return Search({Held("g5", 0, {shard}), NoRoom("g1", 1)}); };
  const auto report = [&] {
    rig.board.Report("e:1", Server("query_encoder", Restored()));
    rig.board.Report("r:1", Server("reranker", Restored()));
    rig.board.Report("s1:1", Search({Held("g1", 1, {1}), Held("g5", 0, {1})}));
    rig.board.Report("s0:1", wants(0));
    rig.board.Report("s0:2", wants(0));
  };
  report();
  CHECK(Uses(rig.board, "s0:1") == std::vector<std::string>{"g5"});
  rig.clock.Advance(absl::Minutes(2));
  report();
  CHECK(Pinned(rig.board) == "g5");
  CHECK(Uses(rig.board, "s0:1") == std::vector<std::string>{"g5 may go"});
}

TEST_CASE("servers are told what is pinned and what requests still work on") {
  Rig rig({"router-7"});
  CHECK(rig.board.RequestFor("e:1").router == "router-7");
  CHECK(Uses(rig.board).empty());
  ReportAll(&rig, {Held("g1", 1, {})});
  auto request = *rig.board.Pin("images");
  ReportAll(&rig, {Held("g1", 1, {}), Held("g2", 2, {})});
  CHECK(Uses(rig.board) == std::vector<std::string>{"g2", "g1"});
  CHECK(rig.board.RequestFor("e:1").uses[1].generation.space == "space");
  request.reset();
  CHECK(Uses(rig.board) == std::vector<std::string>{"g2"});
}

TEST_CASE("a page holds on to its generation like any request") {
  Rig rig;
  ReportAll(&rig, {Held("g1", 1, {})});
  ReportAll(&rig, {Held("g1", 1, {}), Held("g2", 2, {})});
  auto page = rig.board.PinGeneration("images", "g1");
  REQUIRE(page.ok());
  CHECK((*page)->ref.generation == "g1");
  CHECK(Uses(rig.board) == std::vector<std::string>{"g2", "g1"});
  page = absl::CancelledError();
  CHECK(Uses(rig.board) == std::vector<std::string>{"g2"});
}

TEST_CASE("a page of a generation that is not whole any more is refused") {
  Rig rig;
  ReportAll(&rig, {Held("g1", 1, {})});
  ReportAll(&rig, {Held("g1", 1, {}), Held("g2", 2, {})});
  rig.board.Report("s1:1", Search({Held("g2", 2, {1})}));
  const absl::Status gone = rig.board.PinGeneration("images", "g1").status();
  CHECK(absl::IsFailedPrecondition(gone));
  CHECK(HasReason(gone, reasons::kGenerationNotHeld));
  CHECK(absl::IsFailedPrecondition(rig.board.PinGeneration("images", "never").status()));
  CHECK(absl::IsNotFound(rig.board.PinGeneration("films", "g1").status()));
  // What is pinned can be had as far as it goes.
  rig.board.Report("s1:1", Search({}));
  CHECK(rig.board.PinGeneration("images", "g2").ok());
}

TEST_CASE("pages can be had of what was pinned here, and only for a while") {
  Rig rig;
  ReportAll(&rig, {Held("g1", 1, {}), Held("g2", 2, {}), Held("g3", 3, {})});
  REQUIRE(Pinned(rig.board) == "g3");
  // Held whole, but nobody can have a token of it.
  CHECK(absl::IsFailedPrecondition(rig.board.PinGeneration("images", "g2").status()));
  CHECK(rig.board.PinGeneration("images", "g3").ok());

  const std::vector<GenerationStatus> all = {Held("g3", 3, {}), Held("g4", 4, {})};
  ReportAll(&rig, all);
  REQUIRE(Pinned(rig.board) == "g4");
  rig.clock.Advance(absl::Minutes(10) - absl::Nanoseconds(1));
  ReportAll(&rig, all);
  CHECK(rig.board.PinGeneration("images", "g3").ok());
  rig.clock.Advance(absl::Nanoseconds(1));
  CHECK(absl::IsFailedPrecondition(rig.board.PinGeneration("images", "g3").status()));
  CHECK(rig.board.PinGeneration("images", "g4").ok());
}

TEST_CASE("what the router met first binds it only once all have been asked or waited for") {
  const bool asked = GENERATE(true, false);
  const bool waited = GENERATE(true, false);
  StatusBoardOptions options = {"router-1", /*ready_share=*/1, /*dead_after=*/absl::Seconds(1)};
  Rig rig(options);
  rig.clock.Advance(waited ? options.start_grace : options.dead_after);
  if (asked) rig.board.Report("s0:2", absl::UnavailableError("connection refused"));
  const auto both = [](int shard) {
    return Search({Held("g1", 1, {shard}), Held("g2", 2, {shard})});
  };
  rig.board.Report("e:1", Server("query_encoder", {Held("g1", 1, {}), Held("g2", 2, {})}));
  rig.board.Report("r:1", Server("reranker", {}));
  rig.board.Report("s0:1", both(0));
  rig.board.Report("s1:1", both(1));
  REQUIRE(Pinned(rig.board) == "g2");
  // Now g2 is whole still, but only g1 has the share.
  rig.board.Report("s0:2", Search({Held("g1", 1, {0})}));
  CHECK(Pinned(rig.board) == (asked || waited ? "g2" : "g1"));
}

TEST_CASE("one server at a time may let go of what is pinned") {
  Rig rig;
  ReportAll(&rig, {Held("g1", 1, {})});
  for (const char* address : {"s0:1", "s0:2"}) {
    rig.board.Report(address, Search({Held("g1", 1, {0}), NoRoom("g2", 2)}));
  }
  rig.board.Report("s1:1", Search({Held("g1", 1, {1}), NoRoom("g2", 2)}));
  CHECK(Uses(rig.board, "s0:1") == std::vector<std::string>{"g1 may go"});
  CHECK(Uses(rig.board, "s0:2") == std::vector<std::string>{"g1"});
  CHECK(Uses(rig.board, "s1:1") == std::vector<std::string>{"g1"});
  CHECK(Uses(rig.board, "e:1") == std::vector<std::string>{"g1"});
}

TEST_CASE("a grant that is out keeps others from theirs until the server has shown its state") {
  Rig rig;
  ReportAll(&rig, {Held("g1", 1, {})});
  const ServerStatus wants = Search({Held("g1", 1, {0}), NoRoom("g2", 2)});
  rig.board.Report("s0:2", wants);
  REQUIRE(Uses(rig.board, "s0:2") == std::vector<std::string>{"g1 may go"});
  // The first of the list wants room now.  What s0:2 has said is as old as its grant.
  rig.board.Report("s0:1", wants);
  rig.board.Report("s0:2", wants);
  CHECK(Uses(rig.board, "s0:1") == std::vector<std::string>{"g1"});
  CHECK(Uses(rig.board, "s0:2") == std::vector<std::string>{"g1"});
  rig.clock.Advance(absl::Milliseconds(501));
  SECTION("it had let go") {
    for (int answer = 0; answer < 3; ++answer) {
      rig.board.Report("s0:2", Search({}));
      CHECK(Uses(rig.board, "s0:1") == std::vector<std::string>{"g1"});
    }
  }
  SECTION("it had not") {
    rig.board.Report("s0:2", wants);
    CHECK(Uses(rig.board, "s0:1") == std::vector<std::string>{"g1"});
    rig.board.Report("s0:2", wants);
    CHECK(Uses(rig.board, "s0:1") == std::vector<std::string>{"g1 may go"});
  }
}

TEST_CASE("who holds what: generation, space and shard") {
  Rig rig;
  const GenerationRef g1 = {"images", "g1", "space"};
  CHECK(rig.FitnessOf("s0:1", g1, 0) == Fitness::kUnfit);
  ReportAll(&rig, {Held("g1", 1, {})});
  CHECK(rig.FitnessOf("s0:1", g1, 0) == Fitness::kFit);
  CHECK(rig.FitnessOf("s0:1", g1, 1) == Fitness::kUnfit);
  CHECK(rig.FitnessOf("e:1", g1, -1) == Fitness::kFit);
  CHECK(rig.FitnessOf("e:1", {"images", "g2", "space"}, -1) == Fitness::kUnfit);
  CHECK(rig.FitnessOf("e:1", {"images", "g1", "other"}, -1) == Fitness::kUnfit);
  CHECK(rig.FitnessOf("nobody:1", g1, -1) == Fitness::kUnfit);
}

TEST_CASE("two missed polls make a backend silent, an answer fit again") {
  Rig rig;
  const GenerationRef g1 = {"images", "g1", "space"};
  ReportAll(&rig, {Held("g1", 1, {})});
  rig.board.Report("e:1", absl::DeadlineExceededError("late"));
  CHECK(rig.FitnessOf("e:1", g1, -1) == Fitness::kFit);
  rig.board.Report("e:1", absl::DeadlineExceededError("late"));
  CHECK(rig.FitnessOf("e:1", g1, -1) == Fitness::kLastResort);
  ReportAll(&rig, {Held("g1", 1, {})});
  CHECK(rig.FitnessOf("e:1", g1, -1) == Fitness::kFit);
}

TEST_CASE("members that stay keep what they said, the others are forgotten") {
  Rig rig;
  ReportAll(&rig, {Held("g1", 1, {})});
  Membership members = TwoIndexes();
  members.indexes["images"][0] = {"s0:2", "s0:3"};
  rig.board.SetMembers(members);
  CHECK(Pinned(rig.board) == "g1");
  CHECK(rig.FitnessOf("s0:1", {"images", "g1", "space"}, 0) == Fitness::kUnfit);
  CHECK(rig.FitnessOf("s0:2", {"images", "g1", "space"}, 0) == Fitness::kFit);
  CHECK(BackendAt(rig.board, "s0:3").error == "not asked yet");
  rig.board.Report("s0:1", Search({Held("g9", 9, {0})}));  // a late answer
  CHECK(Pinned(rig.board) == "g1");
}

TEST_CASE("answers are put down, and have their consequences together") {
  Rig rig;
  StatusBoard& board = rig.board;
  CHECK(board.Report("s0:1", Search({Held("g1", 1, {0})})));
  CHECK(!board.Report("s0:2", Search({Held("g1", 1, {0})})));
  CHECK(Pinned(board).empty());
  const int before = rig.rosters_made;
  board.Refresh();
  CHECK(Pinned(board) == "g1");
  CHECK(rig.rosters_made == before + 1);  // both are in one set
  CHECK(board.Report("s0:1", Search({Held("g1", 1, {0})})));
  board.Refresh();
  CHECK(rig.rosters_made == before + 1);  // nothing new
}

TEST_CASE("of answers that wait together each counts, in order and at its own time") {
  Rig rig;
  ReportAll(&rig, {Held("g1", 1, {})});
  StatusBoard& board = rig.board;
  for (int i = 0; i < 2; ++i) board.Report("e:1", absl::UnavailableError("down"));
  board.Refresh();
  const GenerationRef g1 = {"images", "g1", "space"};
  CHECK(rig.FitnessOf("e:1", g1, -1) == Fitness::kLastResort);
  rig.clock.Advance(absl::Seconds(9));
  board.Report("s1:1", Search({Held("g1", 1, {1})}));
  rig.clock.Advance(absl::Milliseconds(999));
  board.Refresh();  // heard of a second ago, though it is looked at now
  // All but s1:1 hold g2 as well.
  const auto others_report = [&] {
    const std::vector<GenerationStatus> both = {Held("g1", 1, {0}), Held("g2", 2, {0})};
    rig.board.Report("e:1", Server("query_encoder", both));
    rig.board.Report("r:1", Server("reranker", both));
    for (const char* address : {"s0:1", "s0:2"}) rig.board.Report(address, Search(both));
  };
  others_report();
  rig.clock.Advance(absl::Seconds(9));
  others_report();
  CHECK(Pinned(rig.board) == "g1");
  rig.clock.Advance(absl::Milliseconds(1));
  others_report();
  CHECK(Pinned(rig.board) == "g2");
}

TEST_CASE("requests wait neither for polls nor for members, however long those take") {
  Rig rig;
  ReportAll(&rig, {Held("g1", 1, {})});
  ReportAll(&rig, {Held("g2", 2, {})});
  int asked = 0;
  // While the board's own lock is held.
  rig.on_roster = [&] {
    ++asked;
    CHECK(Pinned(rig.board) == "g2");
    CHECK(rig.board.Known().size() == 2);
    CHECK(rig.board.PinGeneration("images", "g2").ok());
    CHECK(rig.board.any_known());
  };
  rig.board.Report("s0:1", Search({Held("g3", 3, {0})}));
  rig.board.SetMembers(TwoIndexes());
  CHECK(asked > 1);
}

TEST_CASE("the sets know of a generation before requests are pinned to it") {
  Rig rig;
  rig.on_roster = [&] {
    const std::string pinned = Pinned(rig.board);
    const GenerationRef target = {"images", pinned, "space"};
    const bool known = rig.FitnessOf("s0:1", target, 0) == Fitness::kFit;
    CHECK((pinned.empty() || known));
  };
  rig.board.Report("s0:1", Search({Held("g1", 1, {0})}));
  REQUIRE(Pinned(rig.board) == "g1");
  rig.board.Report("s0:1", Search({Held("g1", 1, {0}), Held("g2", 2, {0})}));
  CHECK(Pinned(rig.board) == "g2");
}

TEST_CASE("a grant is over only when the state of its holder is seen") {
  Rig rig;
  ReportAll(&rig, {Held("g1", 1, {})});
  const ServerStatus wants = Search({Held("g1", 1, {0}), NoRoom("g2", 2)});
  rig.board.Report("s0:2", wants);
  REQUIRE(Uses(rig.board, "s0:2") == std::vector<std::string>{"g1 may go"});
  rig.board.Report("s0:1", wants);
  rig.clock.Advance(absl::Milliseconds(501));
  // It has let go, but that is not looked at yet: s0:1 is the last to hold g1.
  StatusBoard& board = rig.board;
  for (int i = 0; i < 2; ++i) board.Report("s0:2", Search({}));
  CHECK(Uses(rig.board, "s0:1") == std::vector<std::string>{"g1"});
  board.Refresh();
  CHECK(Uses(rig.board, "s0:1") == std::vector<std::string>{"g1"});
}

TEST_CASE("a generation in use is told to servers, also after it was pinned again meanwhile") {
  Rig rig;
  ReportAll(&rig, {Held("g1", 1, {}), Held("g2", 1, {})});
  ReportAll(&rig, {Held("g1", 1, {}), Held("g2", 2, {})});
  ReportAll(&rig, {Held("g1", 3, {}), Held("g2", 2, {})});
  REQUIRE(Pinned(rig.board) == "g1");
  auto page = rig.board.PinGeneration("images", "g2");
  REQUIRE(page.ok());
  ReportAll(&rig, {Held("g1", 3, {}), Held("g2", 4, {})});
  ReportAll(&rig, {Held("g1", 5, {}), Held("g2", 4, {})});
  REQUIRE(Pinned(rig.board) == "g1");
  CHECK(Uses(rig.board) == std::vector<std::string>{"g1", "g2"});
  page = absl::CancelledError();
  CHECK(Uses(rig.board) == std::vector<std::string>{"g1"});
}

TEST_CASE("requests on many threads while everything about the fleet changes") {
  Rig rig;
  ReportAll(&rig, {Held("g1", 1, {})});
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> requests;
  for (int i = 0; i < 4; ++i) {
    requests.emplace_back([&] {
      int64_t last = 0;
      while (!stop) {
        const auto info = rig.board.Pin("images");
        if (!info.ok() || (*info)->item_count < last) ++wrong;
        if (!info.ok()) continue;
        last = (*info)->item_count;
        const auto page = rig.board.PinGeneration("images", (*info)->ref.generation);
        if (page.ok() && (*page)->item_count != last) ++wrong;
        (void)rig.board.Known();
      }
    });
  }
  std::thread polls([&] {
    while (!stop) (void)rig.board.RequestFor("s0:1");
  });
  for (int round = 2; round <= 50; ++round) {
    GenerationStatus next = Held(absl::StrCat("g", round), round, {});
    next.info.item_count = round;
    ReportAll(&rig, {next});
    rig.board.SetMembers(TwoIndexes());
  }
  stop = true;
  for (std::thread& request : requests) request.join();
  polls.join();
  CHECK(wrong == 0);
  CHECK(Pinned(rig.board) == "g50");
}

TEST_CASE("how scores combine stays while rerankers are away") {
  Rig rig;
  GenerationStatus g1 = Held("g1", 1, {});
  g1.info.rerankers = {{"default", "m", {CombinationKind::kAddLambda, 0.25f}}};
  ReportAll(&rig, {Held("g1", 1, {})});
  rig.board.Report("r:1", Server("reranker", {g1}));
  rig.board.Report("r:1", Server("reranker", {}));
  CHECK((*rig.board.Pin("images"))->rerankers.at(0).declared.combination.kind ==
        CombinationKind::kAddLambda);
}

}  // namespace
}  // namespace sightline
