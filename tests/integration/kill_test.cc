// kill -9 of any server under load: the others go on, every call ends with an answer or
// an honest code, and soon after its return the service is whole again.
#include <iostream>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/integration/fleet.h"
#include "tests/integration/load.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// Every answer is all that was asked for.
std::string Complaint(const SearchResult& result) {
  if (!result.degraded.empty())
    return absl::StrCat("degraded: ", static_cast<int>(result.degraded.front()));
  return result.hits.empty() ? "no hits" : "";
}

// Without the reranker or one of the shards there are answers all the same.
bool IsIndispensable(const Slot& slot) {
  return slot.service == "router" || slot.service == "query_encoder";
}

void KillAndRecover(Fleet* fleet, Slot* victim) {
  INFO(victim->service);
  Load load(fleet->router().address(), /*clients=*/3);
  load.AwaitCalls(10);
  victim->member->Kill();
  load.AwaitCalls(20);
  for (Slot* slot : fleet->all()) {
    INFO(slot->service << " at " << slot->address());
    REQUIRE(slot->member->alive() == (slot != victim));
  }
  fleet->Restart(victim);
  const absl::Duration whole = fleet->AwaitWhole();
  std::cerr << victim->service << ": whole " << absl::ToInt64Milliseconds(whole)
            << " ms after SERVING\n";
  load.AwaitAnswers(10);
  load.Stop();
  std::set<absl::StatusCode> codes = load.codes();
  if (IsIndispensable(*victim)) codes.erase(absl::StatusCode::kUnavailable);
  REQUIRE(codes == std::set<absl::StatusCode>{absl::StatusCode::kOk});
}

// One of two replicas goes and comes back, and no call fails or gets less for it.
void KillReplica(Fleet* fleet, Slot* victim) {
  INFO(victim->service);
  Load load(fleet->router().address(), /*clients=*/3, Complaint);
  load.AwaitAnswers(10);
  victim->member->Kill();
  load.AwaitAnswers(100);
  fleet->Restart(victim);
  load.AwaitAnswers(20);
  load.Stop();
  CHECK(load.codes() == std::set<absl::StatusCode>{absl::StatusCode::kOk});
  CHECK(load.complaints() == std::set<std::string>());
}

}  // namespace

TEST_CASE("kill -9 of one of two replicas fails no call, and every answer is whole") {
  TempDir directory;
  const TinyStore store = MakeTinyStore(directory.path(), 20);
  FleetOptions options;
  options.shard_replicas = options.encoder_replicas = options.reranker_replicas = 2;
  Fleet fleet(store, LaunchProcess, options);
  for (Slot* victim :
       {&fleet.encoder(1), &fleet.reranker(0), &fleet.shard(0, 1), &fleet.shard(1)}) {
    KillReplica(&fleet, victim);
  }
}

TEST_CASE("kill -9 of any server under load takes nobody along") {
  TempDir directory;
  const TinyStore store = MakeTinyStore(directory.path(), 20);
  Fleet fleet(store, LaunchProcess);
  for (Slot* victim : fleet.all()) KillAndRecover(&fleet, victim);
}

}  // namespace sightline
