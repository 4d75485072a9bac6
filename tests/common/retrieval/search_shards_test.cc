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

TEST_CASE("a shard has the time that is planned less a margin, and none if there is no plan") {
  const absl::Time now = absl::FromUnixSeconds(1000);
  const auto budget = [&](absl::Duration left) { return SearchBudget(now, now + left); };
  CHECK(budget(absl::Milliseconds(40)) == absl::Milliseconds(36));
  CHECK(budget(absl::Seconds(10)) == absl::Seconds(10) - absl::Milliseconds(10));
  CHECK(budget(absl::Milliseconds(3)) == absl::Milliseconds(2));
  CHECK(budget(absl::Microseconds(500)) == absl::ZeroDuration());
  CHECK(budget(-absl::Seconds(3)) == absl::ZeroDuration());
  CHECK(SearchBudget(now, absl::InfiniteFuture()) == absl::InfiniteDuration());
}

TEST_CASE("of two efforts the lesser is told") {
  const SearchEffort exact, measured{false, 0.9f, 20, false}, lower{false, 0.8f, 90, false},
      unmeasured{false, 0, 5, false};
  const auto effort = [](const SearchEffort& a, const SearchEffort& b) {
    const SearchEffort lesser = LesserEffort(a, b), other_way = LesserEffort(b, a);
    CHECK(lesser.effort == other_way.effort);
    CHECK(lesser.exact == other_way.exact);
    CHECK(lesser.reduced == other_way.reduced);
    return lesser;
  };
  CHECK(effort(exact, exact).exact);
  CHECK(effort(exact, measured).effort == 20);
  CHECK_FALSE(effort(exact, measured).exact);
  CHECK(effort(measured, lower).effort == 90);
  CHECK(effort(lower, unmeasured).effort == 5);
  SearchEffort reduced = measured;
  reduced.reduced = true;
  CHECK(effort(reduced, lower).reduced);
  CHECK(effort(reduced, lower).effort == 90);
  CHECK_FALSE(effort(measured, lower).reduced);
}

TEST_CASE("shards are asked what was asked, with the time that they have, and say what they did") {
  Rig rig;
  const TagFilter filter = {{"a"}, {}, {"b"}};
  const absl::Time now = rig.clock.Now();
  EmbeddingMatrix query(1, 1);
  const auto search = [&](bool lower_effort, absl::Time planned) {
    ShardQuery asked = {query, 10, filter, {0.75f, absl::nullopt}, lower_effort};
    return SearchShards(rig.index, asked, planned, now + kLatest,
                        CallContext(&rig.clock, absl::InfiniteFuture()));
  };
  rig.first->Approximate({nullptr, [](const SearchShardRequest&) {
                            return SearchEffort{false, 0.75f, 3, true};
                          }});
  const auto found = search(true, now + kPlanned);
  REQUIRE(found.ok());
  CHECK(found->best.empty());
  CHECK(found->matched == 0);
  CHECK(found->effort.effort == 3);
  CHECK(found->effort.reduced);
  REQUIRE(search(false, now + kPlanned).ok());
  REQUIRE(search(true, absl::InfiniteFuture()).ok());
  const std::vector<SearchShardRequest> asked = rig.other->searches();
  REQUIRE(asked.size() == 3);
  for (const SearchShardRequest& request : asked) {
    CHECK(request.filter.any == filter.any);
    CHECK(request.filter.none == filter.none);
    CHECK(request.effort.recall == 0.75f);
  }
  CHECK(asked[0].budget == SearchBudget(now, now + kPlanned));
  CHECK(asked[1].budget == absl::InfiniteDuration());
  CHECK(asked[2].budget == absl::InfiniteDuration());
}

}  // namespace
}  // namespace sightline
