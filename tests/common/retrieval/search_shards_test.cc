// The calls of SearchShards and the replicas behind them.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/timer_thread.h"
#include "common/replicas/replicas.h"
#include "common/retrieval/search_shards.h"
#include "tests/support/await.h"
#include "tests/support/catch.h"
#include "tests/support/fake_backends.h"
#include "tests/support/fake_clock.h"
#include "tests/support/replicate.h"

namespace sightline {
namespace {

using Answers = absl::StatusOr<ShardAnswers>;

constexpr absl::Duration kPlanned = absl::Milliseconds(100);
constexpr absl::Duration kLatest = absl::Seconds(10);

// Two shards of one item each; the second has two replicas, of which the first is asked
// first as long as it is in good health.
struct Rig {
  Rig() {
    auto info = std::make_shared<GenerationInfo>();
    info->ref = {"pictures", "1", "space"};
    info->shard_count = 2;
    info->dimension = 1;
    const auto shard = [&](int number) {
      StoredItem item;
      item.item_id = "item-" + std::to_string(number);
      item.embedding = {1};
      return std::make_shared<FakeShard>(info->ref, number, std::vector<StoredItem>{item});
    };
    other = shard(0);
    first = shard(1);
    second = shard(1);
    ReplicaOptions options;
    options.timer = std::make_shared<TimerThread>(&clock);
    const auto set = Replicate<IndexSearchClient>(ReplicatedIndexSearch, {first, second}, options);
    set->SetRoster(RosterOf({"0", "1"}, info->ref, /*fit=*/{0}, /*silent=*/{1}));
    shards = {other, set};
    index = {std::move(info), &shards};
  }

  Answers Search() {
    const absl::Time now = clock.Now();
    EmbeddingMatrix query(1, 1);
    return SearchShards(index, {query, 10}, now + kPlanned, now + kLatest,
                        CallContext(&clock, absl::InfiniteFuture()));
  }

  FakeClock clock;
  std::shared_ptr<FakeShard> other, first, second;
  std::vector<std::shared_ptr<IndexSearchClient>> shards;
  PinnedIndex index;
};

TEST_CASE("a hanging replica costs no shard, and is soon passed over") {
  Rig rig;
  rig.first->search().Ignore();
  for (int search = 1; search <= 2; ++search) {
    Background<Answers> answers([&] { return rig.Search(); });
    rig.first->search().AwaitCalls(search);
    rig.clock.Advance(0.4 * kPlanned);
    // Whole, though the time that was planned is not over and never will be.
    const Answers got = answers.Get();
    REQUIRE(got.ok());
    CHECK(got->answered == 2);
    CHECK(got->unreachable.empty());
  }
  const Answers got = rig.Search();
  REQUIRE(got.ok());
  CHECK(got->answered == 2);
  CHECK(rig.first->search().calls() == 2);
}

}  // namespace
}  // namespace sightline
