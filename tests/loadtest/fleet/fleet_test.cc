#include "loadtest/fleet/fleet.h"

#include <signal.h>
#include <sys/stat.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "common/api/query.h"
#include "common/api/search.h"
#include "common/base/files.h"
#include "common/clients/search_client.h"
#include "loadtest/faults/fleet_faults.h"
#include "loadtest/fleet/free_ports.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_store.h"

namespace sightline {
namespace {

using Catch::Contains;

const TinyStore& Store() {
  static TempDir directory;
  static const TinyStore store = MakeTinyStore(directory.path(), 20);
  return store;
}

// A fleet of the smallest sizes that the store allows, with its files in `directory`.
ProcessFleetOptions Options(const TempDir& directory) {
  ProcessFleetOptions options;
  options.store = Store().path;
  options.sizes.shards = Store().shard_count;
  options.binaries = "services";
  options.directory = directory.File("fleet");
  options.compute_threads = 1;
  options.start_timeout = absl::Minutes(10);  // a busy machine fails no test
  return options;
}

std::unique_ptr<ProcessFleet> Started(const ProcessFleetOptions& options) {
  auto fleet = ProcessFleet::Start(options);
  INFO(fleet.status());
  REQUIRE(fleet.ok());
  return *std::move(fleet);
}

absl::StatusOr<SearchResult> Ask(const std::string& address) {
  SearchRequest request;
  request.query = TextQuery{"a red fish"};
  return MakeGrpcSearchClient(address)->SearchItems(
      CallContext(Clock::Real(), Clock::Real()->Now() + absl::Seconds(20)), request);
}

// Asks until an answer is whole; the test's own time limit is the only one.
SearchResult AwaitWhole(const std::string& address) {
  for (;;) {
    absl::StatusOr<SearchResult> result = Ask(address);
    if (result.ok() && result->degraded.empty() && result->rerank == RerankOutcome::kComplete) {
      return *std::move(result);
    }
  }
}

int PortOf(const std::string& address) {
  int port = 0;
  REQUIRE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
  return port;
}

// In place of the servers, scripts that do what `script` says.
void WriteScripts(const std::string& binaries, const std::string& script) {
  for (const std::string service : {"router", "query_encoder", "reranker", "index_search"}) {
    const std::string path = JoinPath(binaries, JoinPath(service, service));
    REQUIRE(MakeDirectories(JoinPath(binaries, service)).ok());
    REQUIRE(WriteFileAtomically(path, "#!/bin/sh\n" + script + "\n").ok());
    REQUIRE(::chmod(path.c_str(), 0755) == 0);
  }
}

}  // namespace

TEST_CASE("a fleet answers, loses its reranker, and is whole again when that is back") {
  TempDir directory;
  const auto fleet = Started(Options(directory));
  REQUIRE(fleet->names() == std::vector<std::string>{"query_encoder/0", "reranker/0",
                                                     "index_search/0/0", "index_search/1/0",
                                                     "router"});
  REQUIRE(AwaitWhole(fleet->address()).answered_shard_count == 2);
  const std::string address = *fleet->AddressOf("reranker/0");

  REQUIRE(fleet->Kill("reranker/0").ok());
  const absl::StatusOr<SearchResult> without = Ask(fleet->address());
  INFO(without.status());
  REQUIRE(without.ok());
  REQUIRE(without->degraded == std::vector<DegradedReason>{DegradedReason::kRerankerFailed});
  REQUIRE(fleet->Kill("reranker/0").code() == absl::StatusCode::kFailedPrecondition);
  REQUIRE(fleet->Check("reranker/0").code() == absl::StatusCode::kUnavailable);
  REQUIRE(fleet->CheckAll().ok());

  REQUIRE(fleet->Launch("reranker/0").ok());
  REQUIRE(fleet->AwaitServing("reranker/0", absl::Minutes(10)).ok());
  REQUIRE(*fleet->AddressOf("reranker/0") == address);
  REQUIRE(fleet->Launch("reranker/0").code() == absl::StatusCode::kFailedPrecondition);
  AwaitWhole(fleet->address());
  REQUIRE(fleet->Check("reranker/0").ok());
}

TEST_CASE("faults reach the process they name, a delay through its relay alone") {
  TempDir directory;
  ProcessFleetOptions options = Options(directory);
  const auto fault = [](FaultKind kind, const std::string& target, int delay_ms = 0) {
    FaultSpec spec;
    spec.kind = kind;
    spec.target = target;
    spec.delay = absl::Milliseconds(delay_ms);
    return spec;
  };
  const FaultSpec delay = fault(FaultKind::kDelay, "reranker", 150);
  const FaultSpec pause = fault(FaultKind::kPause, "index_search/1");
  const FaultSpec kill = fault(FaultKind::kKill, "index_search/1");
  const std::vector<FaultSpec> faults = {delay, pause};
  options.relayed = *RelayedProcesses(options.sizes, faults);
  REQUIRE(options.relayed == std::vector<std::string>{"reranker/0"});
  const auto fleet = Started(options);
  FleetFaults actions(fleet.get());
  AwaitWhole(fleet->address());

  REQUIRE(actions.Do(delay).ok());
  const SearchResult slow = AwaitWhole(fleet->address());
  REQUIRE(slow.times.rerank >= absl::Milliseconds(300));
  REQUIRE(actions.Undo(delay).ok());
  REQUIRE(actions.Do(fault(FaultKind::kDelay, "query_encoder", 1)).code() ==
          absl::StatusCode::kFailedPrecondition);

  REQUIRE(actions.Do(pause).ok());
  REQUIRE(actions.Undo(pause).ok());
  REQUIRE(actions.Do(kill).ok());
  REQUIRE(actions.Check("index_search/1").code() == absl::StatusCode::kUnavailable);
  REQUIRE(actions.Check("index_search/0").ok());
  REQUIRE(actions.Undo(kill).ok());
  REQUIRE(fleet->AwaitServing("index_search/1/0", absl::Minutes(10)).ok());
  REQUIRE(actions.Do(fault(FaultKind::kKill, "index_search/2")).code() ==
          absl::StatusCode::kInvalidArgument);

  REQUIRE(RelayedProcesses(options.sizes, {fault(FaultKind::kDelay, "reranker/1"), pause})
              .status()
              .code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a server that dies by itself is told, and nothing listens after the fleet") {
  TempDir directory;
  std::vector<int> ports;
  {
    const auto fleet = Started(Options(directory));
    for (const std::string& name : fleet->names()) ports.push_back(PortOf(*fleet->AddressOf(name)));
    REQUIRE(fleet->CheckAll().ok());
    REQUIRE(fleet->Signal("index_search/0/0", SIGSEGV).ok());
    absl::Status lives;
    while ((lives = fleet->CheckAll()).ok()) continue;
    REQUIRE(lives.code() == absl::StatusCode::kUnavailable);
    REQUIRE_THAT(std::string(lives.message()), Contains("index_search/0/0 ended with signal 11"));
    REQUIRE(fleet->Signal("router", SIGSTOP).ok());  // keeps nobody from stopping it
  }
  for (const int port : ports) REQUIRE(IsPortFree(port));
}

TEST_CASE("a server that ends instead of serving is told with the end of its log") {
  TempDir directory;
  ProcessFleetOptions options = Options(directory);
  options.binaries = directory.File("binaries");
  WriteScripts(options.binaries, "echo \"no store at $2\" >&2; exit 3");
  const absl::Status failed = ProcessFleet::Start(options).status();
  REQUIRE(failed.code() == absl::StatusCode::kUnavailable);
  REQUIRE_THAT(std::string(failed.message()), Contains("query_encoder/0 ended with exit status 3"));
  REQUIRE_THAT(std::string(failed.message()),
               Contains("no store at " + directory.File("fleet/query_encoder-0.yaml")));
}

TEST_CASE("a server that does not serve in time is told") {
  TempDir directory;
  ProcessFleetOptions options = Options(directory);
  options.binaries = directory.File("binaries");
  options.start_timeout = absl::Milliseconds(50);
  WriteScripts(options.binaries, "exec sleep 1000");
  const absl::Status failed = ProcessFleet::Start(options).status();
  REQUIRE(failed.code() == absl::StatusCode::kDeadlineExceeded);
  REQUIRE_THAT(std::string(failed.message()), Contains("query_encoder/0 does not serve"));
}

TEST_CASE("a fleet that cannot be is refused before anything is started") {
  TempDir directory;
  ProcessFleetOptions options = Options(directory);
  const auto status = [&] { return ProcessFleet::Start(options).status(); };
  SECTION("other shards than the store's") {
    options.sizes.shards = 3;
    REQUIRE(status().code() == absl::StatusCode::kInvalidArgument);
    REQUIRE_THAT(std::string(status().message()), Contains("set shards to 2"));
  }
  SECTION("no query encoder") {
    options.sizes.query_encoders = 0;
    REQUIRE(status().code() == absl::StatusCode::kInvalidArgument);
  }
  SECTION("a relay to nobody") {
    options.relayed = {"reranker/7"};
    REQUIRE(status().code() == absl::StatusCode::kInvalidArgument);
  }
  SECTION("no store") {
    options.store = directory.File("none");
    REQUIRE(status().code() == absl::StatusCode::kNotFound);
  }
  SECTION("nothing published") {
    options.store = directory.File("empty");
    REQUIRE(MakeDirectories(JoinPath(options.store, "indexes")).ok());
    REQUIRE(status().code() == absl::StatusCode::kNotFound);
  }
  SECTION("no binaries") {
    options.binaries = directory.File("none");
    REQUIRE(status().code() == absl::StatusCode::kNotFound);
  }
}

}  // namespace sightline
