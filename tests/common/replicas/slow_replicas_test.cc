// Replicas that do not answer: who else is asked, when, and who wins.
#include <vector>

#include "absl/status/status.h"
#include "common/replicas/replicas.h"
#include "tests/common/replicas/encoder_fleet.h"
#include "tests/support/await.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// How long a call of a second waits for its first replica.
constexpr absl::Duration kPatience = absl::Milliseconds(400);

TEST_CASE("a hanging replica costs two calls some patience, and the others nothing") {
  EncoderFleet fleet(2);
  fleet.ZeroFirst();
  fleet.replica(0).Ignore();
  for (int i = 1; i <= 2; ++i) {
    EncoderAnswer answer;
    fleet.Start(fleet.Call(), &answer);
    CHECK(!answer.there());
    fleet.clock.Advance(kPatience);
    CHECK(*answer.Get() == 1);
    CHECK(fleet.replica(0).cancelled() == i);
  }
  for (int i = 0; i < 50; ++i) REQUIRE(*fleet.Ask() == 1);
  CHECK(fleet.replica(0).calls() == 2);

  // The probe finds it hanging still, so the next one comes after twice the time.
  fleet.clock.Advance(absl::Seconds(1));
  EncoderAnswer probe;
  fleet.Start(fleet.Call(), &probe);
  CHECK(fleet.replica(0).calls() == 3);
  for (int i = 0; i < 50; ++i) REQUIRE(*fleet.Ask() == 1);  // meanwhile
  fleet.clock.Advance(kPatience);
  CHECK(*probe.Get() == 1);
  fleet.clock.Advance(absl::Milliseconds(1999));
  CHECK(*fleet.Ask() == 1);
  CHECK(fleet.replica(0).calls() == 3);

  fleet.replica(0).AnswerNow();
  fleet.clock.Advance(absl::Milliseconds(1));
  for (int i = 0; i < 10; ++i) REQUIRE(*fleet.Ask() == 0);
}

TEST_CASE("the first may still win, and the second is cancelled") {
  EncoderFleet fleet(2);
  fleet.ZeroFirst();
  fleet.replica(0).Hold();
  fleet.replica(1).Ignore();
  EncoderAnswer answer;
  fleet.Start(fleet.Call(), &answer);
  fleet.clock.Advance(kPatience);
  fleet.replica(1).AwaitCalls(1);
  fleet.replica(0).Release();
  CHECK(*answer.Get() == 0);
  CHECK(fleet.replica(1).cancelled() == 1);
  CHECK(answer.count() == 1);
}

TEST_CASE("what the loser says later is not heard") {
  EncoderFleet fleet(2);
  fleet.ZeroFirst();
  fleet.replica(0).Hold();
  EncoderAnswer answer;
  fleet.Start(fleet.Call(), &answer);
  fleet.clock.Advance(kPatience);
  CHECK(*answer.Get() == 1);
  fleet.client.reset();
  fleet.replica(0).Release();
  CHECK(answer.count() == 1);
}

TEST_CASE("a failure of the second leaves the first its time") {
  EncoderFleet fleet(2);
  fleet.ZeroFirst();
  fleet.replica(0).Hold();
  fleet.Kill(1);
  EncoderAnswer answer;
  fleet.Start(fleet.Call(), &answer);
  fleet.clock.Advance(kPatience);
  fleet.replica(1).AwaitCalls(1);
  CHECK(!answer.there());
  fleet.replica(0).Release();
  CHECK(*answer.Get() == 0);
}

TEST_CASE("with no deadline to share, patience ends all the same") {
  EncoderFleet fleet(2);
  fleet.ZeroFirst();
  fleet.replica(0).Ignore();
  EncoderAnswer answer;
  fleet.Start(CallContext(&fleet.clock, absl::InfiniteFuture()), &answer);
  fleet.clock.Advance(absl::Seconds(1));
  CHECK(*answer.Get() == 1);
}

TEST_CASE("a third is asked when the second hangs too") {
  EncoderFleet fleet(3);
  fleet.ZeroFirst();
  for (int i = 0; i < 3; ++i) fleet.replica(i).Ignore();
  EncoderAnswer answer;
  fleet.Start(fleet.Call(), &answer);
  fleet.clock.Advance(kPatience);
  AwaitUntil([&] { return fleet.calls() == 2; });
  const int third = fleet.replica(1).calls() == 0 ? 1 : 2;
  fleet.replica(third).AnswerNow();
  // The same part of what is left then: of 600 ms.
  fleet.clock.Advance(absl::Milliseconds(240));
  CHECK(*answer.Get() == third);
  CHECK(fleet.replica(0).cancelled() == 1);
  CHECK(fleet.replica(3 - third).cancelled() == 1);
}

TEST_CASE("a caller who goes away takes all attempts along") {
  EncoderFleet fleet(2);
  fleet.ZeroFirst();
  for (int i = 0; i < 2; ++i) fleet.replica(i).Ignore();
  const CallContext call = fleet.Call();
  EncoderAnswer answer;
  fleet.Start(call, &answer);
  fleet.clock.Advance(kPatience);
  fleet.replica(1).AwaitCalls(1);
  call.cancellation()->Cancel();
  CHECK(absl::IsCancelled(answer.Get().status()));
  for (int i = 0; i < 2; ++i) CHECK(fleet.replica(i).cancelled() == 1);
  CHECK(answer.count() == 1);
}

TEST_CASE("a fleet that hangs as a whole is not asked twice") {
  ReplicaOptions options;
  options.budget = {/*share=*/0, /*per_second=*/0, /*burst=*/5, /*reserve=*/0};
  MetricsRegistry registry;
  options.metrics = AddReplicaMetrics(&registry, "encoder");
  EncoderFleet fleet(2, options);
  for (int i = 0; i < 2; ++i) fleet.replica(i).Ignore();
  std::vector<EncoderAnswer> answers(50);
  const CallContext call = fleet.Call();
  for (EncoderAnswer& answer : answers) fleet.Start(call, &answer);
  fleet.clock.Advance(kPatience);
  AwaitUntil([&] { return options.metrics.unpaid.value() == 45; });
  CHECK(fleet.calls() == 55);
  CHECK(options.metrics.after_silence.value() == 5);
  call.cancellation()->Cancel();
  for (EncoderAnswer& answer : answers) CHECK(absl::IsCancelled(answer.Get().status()));
}

TEST_CASE("a single replica is not asked again, however slow it is") {
  EncoderFleet fleet(1);
  fleet.replica(0).Hold();
  EncoderAnswer answer;
  fleet.Start(fleet.Call(), &answer);
  fleet.clock.Advance(absl::Milliseconds(999));
  fleet.replica(0).Release();
  CHECK(*answer.Get() == 0);
  CHECK(fleet.calls() == 1);
}

TEST_CASE("a hedge is sent after what most calls take, and may win") {
  ReplicaOptions options;
  options.hedge = true;
  MetricsRegistry registry;
  options.metrics = AddReplicaMetrics(&registry, "encoder");
  EncoderFleet fleet(2, options);
  fleet.ZeroFirst();
  fleet.replica(0).BeforeEach([&] { fleet.clock.Advance(absl::Milliseconds(10)); });
  for (int i = 0; i < 32; ++i) REQUIRE(*fleet.Ask() == 0);
  fleet.replica(0).BeforeEach(nullptr);
  CHECK(options.metrics.hedges.value() == 0);

  fleet.replica(0).Ignore();
  EncoderAnswer answer;
  fleet.Start(fleet.Call(), &answer);
  CHECK(fleet.replica(1).calls() == 0);
  fleet.clock.Advance(absl::Milliseconds(10));
  CHECK(*answer.Get() == 1);
  CHECK(fleet.replica(0).cancelled() == 1);
  CHECK(options.metrics.hedges.value() == 1);

  // Being slower than most is no sign of illness.
  fleet.replica(0).AnswerNow();
  CHECK(*fleet.Ask() == 0);
}

TEST_CASE("what fetches take is no measure of when a search is hedged") {
  FakeClock clock;
  const GenerationRef generation{"pictures", "1", "space"};
  StoredItem item;
  item.item_id = "a";
  item.embedding = {1};
  std::vector<std::shared_ptr<FakeShard>> shards;
  for (int i = 0; i < 2; ++i) {
    shards.push_back(std::make_shared<FakeShard>(generation, 0, std::vector<StoredItem>{item}));
    shards[i]->fetch().BeforeEach([&] { clock.Advance(absl::Milliseconds(1)); });
    shards[i]->search().BeforeEach([&] { clock.Advance(absl::Milliseconds(100)); });
  }
  ReplicaOptions options;
  options.hedge = true;
  options.timer = std::make_shared<TimerThread>(&clock);
  const auto set =
      Replicate<IndexSearchClient>(ReplicatedIndexSearch, {shards[0], shards[1]}, options);
  const auto call = [&] { return CallContext(&clock, clock.Now() + absl::Seconds(1)); };
  SearchShardRequest query;
  query.target = generation;
  query.queries = EmbeddingMatrix(1, 1);
  FetchItemsRequest fetch;
  fetch.target = generation;
  fetch.item_ids = {"a"};
  for (int i = 0; i < 32; ++i) {
    set->SearchShard(call(), query, [](absl::StatusOr<SearchShardResponse>) {});
  }
  for (int i = 0; i < 256; ++i) {
    set->FetchItems(call(), fetch, [](absl::StatusOr<FetchItemsResponse>) {});
  }
  for (const auto& shard : shards) {
    shard->search().BeforeEach(nullptr);
    shard->search().Hold();
  }
  const auto searches = [&] { return shards[0]->search().calls() + shards[1]->search().calls(); };
  const int before = searches();
  set->SearchShard(call(), query, [](absl::StatusOr<SearchShardResponse>) {});
  clock.AwaitSleepers(1);
  clock.Advance(absl::Milliseconds(99));
  clock.AwaitSleepers(1);
  CHECK(searches() == before + 1);
  clock.Advance(absl::Milliseconds(1));
  AwaitUntil([&] { return searches() == before + 2; });
  for (const auto& shard : shards) shard->search().Release();
}

TEST_CASE("replicas that keep answering late are given their time") {
  EncoderFleet fleet(2);
  fleet.ZeroFirst();
  fleet.replica(0).Hold();
  fleet.replica(1).Ignore();
  for (int i = 1; i <= 5; ++i) {
    EncoderAnswer answer;
    fleet.Start(fleet.Call(), &answer);
    fleet.clock.Advance(kPatience);
    fleet.replica(1).AwaitCalls(i);
    fleet.replica(0).Release();
    CHECK(*answer.Get() == 0);
  }
}

}  // namespace
}  // namespace sightline
