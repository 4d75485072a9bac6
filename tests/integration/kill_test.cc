// kill -9 of any server under load: the others go on, every call ends with an answer or
// an honest code, and soon after its return the service is whole again.
#include <iostream>
#include <set>

#include "tests/integration/fleet.h"
#include "tests/integration/load.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

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
  for (const absl::StatusCode code : load.codes()) {
    INFO("code " << static_cast<int>(code));
    REQUIRE((code == absl::StatusCode::kOk || code == absl::StatusCode::kUnavailable));
  }
}

// One of two replicas goes and comes back, and no call fails for it.
void KillReplica(Fleet* fleet, Slot* victim) {
  INFO(victim->service);
  Load load(fleet->router().address(), /*clients=*/3);
  load.AwaitAnswers(10);
  victim->member->Kill();
  load.AwaitAnswers(100);
  fleet->Restart(victim);
  load.AwaitAnswers(20);
  load.Stop();
  CHECK(load.codes() == std::set<absl::StatusCode>{absl::StatusCode::kOk});
}

}  // namespace

TEST_CASE("kill -9 of one of two replicas fails no call") {
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
