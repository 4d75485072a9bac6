#include "common/replicas/replicas.h"

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "common/base/error_details.h"
#include "tests/common/replicas/encoder_fleet.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

absl::Status Refusal(const Reason& reason) {
  return MakeError(reason, "not here");
}

TEST_CASE("idle replicas share the calls") {
  EncoderFleet fleet(3);
  for (int i = 0; i < 300; ++i) REQUIRE(fleet.Ask().ok());
  for (int i = 0; i < 3; ++i) CHECK(fleet.replica(i).calls() > 60);
}

TEST_CASE("of two replicas the one with less work under way is asked") {
  EncoderFleet fleet(2);
  fleet.replica(0).Hold();
  fleet.replica(1).Hold();
  std::vector<EncoderAnswer> answers(10);
  for (EncoderAnswer& answer : answers) fleet.Start(fleet.Call(), &answer);
  CHECK(fleet.replica(0).held() == 5);
  CHECK(fleet.replica(1).held() == 5);

  // The one that has finished its work gets what comes next.
  fleet.replica(1).Release();
  std::vector<EncoderAnswer> more(5);
  for (EncoderAnswer& answer : more) fleet.Start(fleet.Call(), &answer);
  CHECK(fleet.replica(0).held() == 5);
  CHECK(fleet.replica(1).held() == 5);
  fleet.replica(0).Release();
  fleet.replica(1).Release();
}

TEST_CASE("without a replica calls are UNAVAILABLE") {
  EncoderFleet fleet(0);
  CHECK(absl::IsUnavailable(fleet.Ask().status()));
}

TEST_CASE("the length of a set does not keep the idle of it from being found") {
  constexpr int kReplicas = 1000;
  EncoderFleet fleet(kReplicas);
  std::vector<int> fit;
  for (int i = 0; i < kReplicas; i += 2) fit.push_back(i);
  fleet.Hold(fit);
  for (int i = 0; i < kReplicas; ++i) fleet.Kill(i);
  fleet.replica(500).AnswerNow();
  // Whoever has failed is passed over, and sooner or later one alone is left.
  int answered = 0;
  while (answered == 0) answered += fleet.Ask().ok() ? 1 : 0;
  for (int i = 0; i < 500; ++i) (void)fleet.Ask();
  for (int i = 0; i < 20; ++i) REQUIRE(*fleet.Ask() == 500);
  for (int i = 1; i < kReplicas; i += 2) REQUIRE(fleet.replica(i).calls() == 0);
}

TEST_CASE("a server of another kind is no replica, whatever it says of the call") {
  EncoderFleet fleet(2);
  fleet.replica(0).FailWith(absl::UnimplementedError("unknown service"));
  for (int i = 0; i < 50; ++i) REQUIRE(*fleet.Ask() == 1);
  CHECK(fleet.replica(0).calls() == 1);  // and passed over from then on

  fleet.replica(1).FailWith(absl::UnimplementedError("unknown service"));
  const absl::Status status = [&] {
    EncoderAnswer answer;
    fleet.Start(fleet.Call(), &answer);
    return answer.Get().status();
  }();
  CHECK(absl::IsUnavailable(status));
  CHECK(status.message() == "unknown service");
}

TEST_CASE("a single replica is asked once, whatever it says") {
  const auto status = GENERATE(absl::UnavailableError("down"), absl::ResourceExhaustedError("full"),
                               Refusal(reasons::kGenerationNotHeld));
  EncoderFleet fleet(1);
  fleet.replica(0).FailWith(status);
  CHECK(fleet.Ask().status().code() == status.code());
  CHECK(fleet.calls() == 1);
}

TEST_CASE("a call that one replica cannot answer goes to another") {
  const auto status =
      GENERATE(absl::UnavailableError("down"), absl::ResourceExhaustedError("full"),
               absl::CancelledError("the server stops"), Refusal(reasons::kGenerationNotHeld),
               Refusal(reasons::kShardNotHeld), Refusal(reasons::kServerLoading));
  for (int i = 0; i < 20; ++i) {
    EncoderFleet fleet(2);
    fleet.replica(0).FailWith(status);
    CHECK(*fleet.Ask() == 1);
  }
}

TEST_CASE("the second replica gets the request whole") {
  EncoderFleet fleet(2);
  fleet.Kill(0);
  while (fleet.replica(0).calls() == 0) REQUIRE(*fleet.Ask() == 1);
  const EncodeRequest request = fleet.fakes[1]->last_request();
  REQUIRE(request.queries.size() == 1);
  CHECK(std::get<TextQuery>(request.queries[0]).text == "a red fish");
  CHECK(request.target.index == "pictures");
}

TEST_CASE("attempts share an upload, and leave nothing in the call that made them") {
  EncoderFleet fleet(2);
  fleet.replica(0).FailWith(absl::UnavailableError("down"));
  fleet.replica(1).FailWith(absl::UnavailableError("down"));
  const Shared<std::string> picture = std::string(1 << 20, 'x');
  EncodeRequest request;
  request.target = {"pictures", "1", "space"};
  request.queries = {ImageQuery{picture}};
  const CallContext call = fleet.Call();
  EncoderAnswer answer;
  fleet.client->EncodeQueries(call, request, answer.done());
  CHECK(absl::IsUnavailable(answer.Get().status()));
  for (const auto& fake : fleet.fakes) {
    const EncodeRequest seen = fake->last_request();
    REQUIRE(seen.queries.size() == 1);
    CHECK(std::get<ImageQuery>(seen.queries[0]).bytes->data() == picture->data());
  }
  CHECK(call.cancellation()->callbacks() == 0);
}

TEST_CASE("failures end a call after three attempts, refusals only when all have refused") {
  EncoderFleet fleet(6);
  SECTION("failures") {
    for (int i = 0; i < 6; ++i) fleet.Kill(i);
    CHECK(absl::IsUnavailable(fleet.Ask().status()));
    CHECK(fleet.calls() == 3);
  }
  SECTION("refusals") {
    for (int i = 0; i < 6; ++i) fleet.replica(i).FailWith(Refusal(reasons::kGenerationNotHeld));
    CHECK(absl::IsFailedPrecondition(fleet.Ask().status()));
    CHECK(fleet.calls() == 6);
  }
  SECTION("a failure says more than a refusal") {
    for (int i = 0; i < 5; ++i) fleet.replica(i).FailWith(Refusal(reasons::kGenerationNotHeld));
    fleet.replica(5).FailWith(absl::ResourceExhaustedError("full"));
    CHECK(absl::IsResourceExhausted(fleet.Ask().status()));
    CHECK(fleet.calls() == 6);
  }
}

TEST_CASE("a failure that is the call's own is not retried") {
  for (const absl::StatusCode code :
       {absl::StatusCode::kInvalidArgument, absl::StatusCode::kDeadlineExceeded,
        absl::StatusCode::kNotFound, absl::StatusCode::kFailedPrecondition}) {
    EncoderFleet fleet(2);
    for (int i = 0; i < 2; ++i) fleet.replica(i).FailWith(absl::Status(code, "no"));
    CHECK(fleet.Ask().status().code() == code);
    CHECK(fleet.calls() == 1);
  }
}

TEST_CASE("a broken replica costs no answer and gets next to no calls, however fast it fails") {
  const auto code = GENERATE(absl::StatusCode::kInternal, absl::StatusCode::kUnknown,
                             absl::StatusCode::kDataLoss);
  EncoderFleet fleet(2);
  fleet.replica(0).FailWith(absl::Status(code, "broken"));
  for (int i = 0; i < 100; ++i) REQUIRE(*fleet.Ask() == 1);
  CHECK(fleet.replica(0).calls() == 3);

  // A probe that finds it broken still is followed by one after twice the time.
  fleet.clock.Advance(absl::Seconds(1));
  for (int i = 0; i < 20; ++i) REQUIRE(*fleet.Ask() == 1);
  CHECK(fleet.replica(0).calls() == 4);
  fleet.clock.Advance(absl::Seconds(1));
  for (int i = 0; i < 20; ++i) REQUIRE(*fleet.Ask() == 1);
  CHECK(fleet.replica(0).calls() == 4);

  fleet.clock.Advance(absl::Seconds(1));
  fleet.replica(0).AnswerNow();
  for (int i = 0; i < 50; ++i) REQUIRE(fleet.Ask().ok());
  CHECK(fleet.replica(0).calls() > 10);
}

TEST_CASE("a replica that could not read one file is not taken for one that is down") {
  const absl::Status unread = MakeError(reasons::kReadFailed, "read: I/O error");
  EncoderFleet fleet(2);
  fleet.replica(0).FailWith(unread);
  while (fleet.replica(0).calls() == 0) REQUIRE(*fleet.Ask() == 1);
  // Calls for what it can read go on, however often one fails among them.
  fleet.replica(0).AnswerNow();
  for (int i = 0; i < 50; ++i) REQUIRE(fleet.Ask().ok());
  CHECK(fleet.replica(0).calls() > 10);

  // One that can read nothing is left alone like any that is broken.
  const int before = fleet.replica(0).calls();
  fleet.replica(0).FailWith(unread);
  for (int i = 0; i < 100; ++i) REQUIRE(*fleet.Ask() == 1);
  CHECK(fleet.replica(0).calls() == before + 3);
}

TEST_CASE("retries of faults are paid for") {
  ReplicaOptions options;
  options.budget = {/*share=*/0, /*per_second=*/0, /*burst=*/0};
  EncoderFleet fleet(2, options);
  for (int i = 0; i < 2; ++i) fleet.replica(i).FailWith(absl::InternalError("broken"));
  CHECK(absl::IsInternal(fleet.Ask().status()));
  CHECK(fleet.calls() == 1);
}

TEST_CASE("a retry that cannot be paid leaves the probe to the next call") {
  ReplicaOptions options;
  options.budget = {/*share=*/0, /*per_second=*/0, /*burst=*/1};
  EncoderFleet fleet(2, options);
  fleet.ZeroFirst();
  fleet.Kill(1);
  fleet.replica(0).FailWith(absl::ResourceExhaustedError("full"));
  REQUIRE(!fleet.Ask().ok());  // spends what there is, and finds 1 down
  fleet.clock.Advance(absl::Seconds(1));
  fleet.replica(1).AnswerNow();
  REQUIRE(!fleet.Ask().ok());  // 1 is due, but not paid for
  fleet.Kill(0);
  REQUIRE(!fleet.Ask().ok());
  CHECK(*fleet.Ask() == 1);
}

TEST_CASE("a dead replica of two costs no answer and is asked once a second") {
  EncoderFleet fleet(2);
  fleet.Kill(0);
  for (int i = 0; i < 100; ++i) REQUIRE(*fleet.Ask() == 1);
  CHECK(fleet.replica(0).calls() == 1);

  fleet.clock.Advance(absl::Milliseconds(999));
  for (int i = 0; i < 20; ++i) REQUIRE(*fleet.Ask() == 1);
  CHECK(fleet.replica(0).calls() == 1);

  fleet.clock.Advance(absl::Milliseconds(1));
  for (int i = 0; i < 20; ++i) REQUIRE(*fleet.Ask() == 1);
  CHECK(fleet.replica(0).calls() == 2);  // dead still

  fleet.clock.Advance(absl::Seconds(1));
  fleet.replica(0).AnswerNow();
  for (int i = 0; i < 50; ++i) REQUIRE(fleet.Ask().ok());
  CHECK(fleet.replica(0).calls() > 10);
}

TEST_CASE("a replica that dies with calls under way costs no answer") {
  EncoderFleet fleet(2);
  for (int i = 0; i < 2; ++i) fleet.replica(i).Hold();
  // They fail only when they are let go.
  fleet.replica(0).Follow([](int) {
    return FakeAnswer{FakeAnswer::When::kHeld, absl::UnavailableError("connection lost")};
  });
  std::vector<EncoderAnswer> answers(40);
  for (EncoderAnswer& answer : answers) fleet.Start(fleet.Call(), &answer);
  fleet.replica(1).AnswerNow();
  fleet.replica(0).Release();
  fleet.replica(1).Release();
  for (EncoderAnswer& answer : answers) {
    CHECK(*answer.Get() == 1);
    CHECK(answer.count() == 1);
  }
}

TEST_CASE("when all were UNAVAILABLE all are tried") {
  EncoderFleet fleet(2);
  fleet.Kill(0);
  fleet.Kill(1);
  REQUIRE(absl::IsUnavailable(fleet.Ask().status()));
  fleet.replica(0).AnswerNow();
  fleet.replica(1).AnswerNow();
  CHECK(fleet.Ask().ok());
}

TEST_CASE("a late UNAVAILABLE is handed on without another try, client or no client") {
  EncoderFleet fleet(2);
  for (int i = 0; i < 2; ++i) {
    fleet.replica(i).Follow([](int) {
      return FakeAnswer{FakeAnswer::When::kHeld, absl::UnavailableError("connection lost")};
    });
  }
  const CallContext call = fleet.Call();
  EncoderAnswer answer;
  fleet.Start(call, &answer);
  fleet.client.reset();
  call.cancellation()->Cancel();
  for (int i = 0; i < 2; ++i) fleet.replica(i).Release();
  CHECK(absl::IsUnavailable(answer.Get().status()));
  CHECK(fleet.calls() == 1);
}

TEST_CASE("a call in flight outlives its client and still fails over") {
  EncoderFleet fleet(2);
  for (int i = 0; i < 2; ++i) {
    fleet.replica(i).Follow([](int) {
      return FakeAnswer{FakeAnswer::When::kHeld, absl::UnavailableError("connection lost")};
    });
  }
  EncoderAnswer answer;
  fleet.Start(fleet.Call(), &answer);
  fleet.client.reset();
  const int asked = fleet.replica(0).calls() == 1 ? 0 : 1;
  fleet.replica(1 - asked).AnswerNow();
  fleet.replica(asked).Release();
  CHECK(*answer.Get() == 1 - asked);
}

TEST_CASE("a request goes to those that hold its generation") {
  EncoderFleet fleet(3);
  fleet.Hold({2});
  for (int i = 0; i < 20; ++i) REQUIRE(*fleet.Ask() == 2);
  SECTION("and to no others when they fail") {
    fleet.Kill(2);
    CHECK(absl::IsUnavailable(fleet.Ask().status()));
    CHECK(fleet.calls() == 21);
  }
  SECTION("to any when nobody is known to") {
    fleet.client->SetRoster(
        RosterOf({"0", "1", "2"}, {"pictures", "another", "space"}, /*fit=*/{2}));
    std::set<int> answered;
    for (int i = 0; i < 50; ++i) answered.insert(*fleet.Ask());
    CHECK(answered.size() == 3);
  }
}

TEST_CASE("one that has not been heard of lately comes after those that have") {
  EncoderFleet fleet(2);
  fleet.Hold({1}, /*last_resort=*/{0});
  for (int i = 0; i < 20; ++i) REQUIRE(*fleet.Ask() == 1);
  fleet.Kill(1);
  CHECK(*fleet.Ask() == 0);
}

TEST_CASE("no more is retried than calls have earned") {
  ReplicaOptions options;
  options.budget = {/*share=*/0.2, /*per_second=*/1, /*burst=*/10};
  MetricsRegistry registry;
  options.metrics = AddReplicaMetrics(&registry, "encoder");
  EncoderFleet fleet(4, options);
  for (int i = 0; i < 4; ++i) fleet.replica(i).FailWith(absl::ResourceExhaustedError("full"));
  for (int i = 0; i < 1000; ++i) {
    CHECK(absl::IsResourceExhausted(fleet.Ask().status()));
  }
  CHECK(fleet.calls() <= 1000 + 200 + 10);
  CHECK(fleet.calls() >= 1000 + 190);
  CHECK(options.metrics.calls.value() == 1000);
  CHECK(options.metrics.after_failure.value() == fleet.calls() - 1000);
  CHECK(options.metrics.unpaid.value() > 700);
}

TEST_CASE("members come and go with calls under way") {
  EncoderFleet fleet(3);
  fleet.client->SetRoster(RosterOf({"0", "1"}));
  for (int i = 0; i < 3; ++i) fleet.replica(i).Hold();
  std::vector<EncoderAnswer> answers(4);
  for (EncoderAnswer& answer : answers) fleet.Start(fleet.Call(), &answer);
  CHECK(fleet.replica(2).calls() == 0);

  fleet.client->SetRoster(RosterOf({"1", "2"}));
  fleet.replica(0).Release();
  fleet.replica(1).Release();
  for (EncoderAnswer& answer : answers) CHECK(answer.Get().ok());
  for (int i = 1; i < 3; ++i) fleet.replica(i).AnswerNow();
  const int before = fleet.replica(0).calls();
  std::set<int> answered;
  for (int i = 0; i < 50; ++i) answered.insert(*fleet.Ask());
  CHECK(answered == std::set<int>{1, 2});
  CHECK(fleet.replica(0).calls() == before);
}

TEST_CASE("a replica that stays keeps its health") {
  EncoderFleet fleet(2);
  fleet.Kill(0);
  while (fleet.replica(0).calls() == 0) REQUIRE(fleet.Ask().ok());
  fleet.client->SetRoster(RosterOf({"1", "0"}));
  for (int i = 0; i < 50; ++i) REQUIRE(*fleet.Ask() == 1);
  CHECK(fleet.replica(0).calls() == 1);
}

TEST_CASE("shards and rerankers fail over like encoders") {
  FakeClock clock;
  const CallContext call(&clock, absl::InfiniteFuture());
  const GenerationRef generation{"pictures", "1", "space"};
  StoredItem item;
  item.item_id = "a";
  item.embedding = {1};
  auto dead = std::make_shared<FakeShard>(generation, 0, std::vector<StoredItem>{item});
  auto live = std::make_shared<FakeShard>(generation, 0, std::vector<StoredItem>{item});
  dead->search().FailWith(absl::UnavailableError("down"));
  dead->fetch().FailWith(absl::UnavailableError("down"));
  const auto score = [](const RerankSide&, const RerankSide&) { return 0.5f; };
  auto dead_reranker = std::make_shared<FakeReranker>(score);
  auto live_reranker = std::make_shared<FakeReranker>(score);
  dead_reranker->behaviour().FailWith(absl::UnavailableError("down"));
  SearchShardRequest query;
  query.target = generation;
  query.queries = EmbeddingMatrix(1, 1);
  FetchItemsRequest fetch;
  fetch.target = generation;
  fetch.item_ids = {"a"};
  // New sets each time, because one that has met the dead replica passes it over.
  for (int i = 0; i < 20; ++i) {
    ReplicaOptions options;
    options.seed = i;
    const auto shards = [&] {
      return Replicate<IndexSearchClient>(ReplicatedIndexSearch, {dead, live}, options);
    };
    bool searched = false, fetched = false, reranked = false;
    shards()->SearchShard(call, query, [&](absl::StatusOr<SearchShardResponse> response) {
      searched = response.ok() && response->candidates[0][0].item_id == "a";
    });
    shards()->FetchItems(call, fetch, [&](absl::StatusOr<FetchItemsResponse> response) {
      fetched = response.ok() && response->items[0]->item_id == "a";
    });
    Replicate<RerankerClient>(ReplicatedReranker, {dead_reranker, live_reranker}, options)
        ->RerankCandidates(call, RerankRequest(), [&](absl::StatusOr<RerankResponse> response) {
          reranked = response.ok();
        });
    CHECK(searched);
    CHECK(fetched);
    CHECK(reranked);
  }
  CHECK(dead->search().calls() > 0);
  CHECK(dead->fetch().calls() > 0);
  CHECK(dead_reranker->behaviour().calls() > 0);
}

TEST_CASE("many threads each get exactly one answer while replicas come and go") {
  ReplicaOptions options;
  options.budget.burst = 1e6;
  options.hedge = true;
  EncoderFleet fleet(4, options);
  for (int i = 0; i < 4; ++i) {
    fleet.replica(i).Follow([i](int call) {
      FakeAnswer answer;
      if ((call / 7 + i) % 3 == 0) answer.status = absl::UnavailableError("restarting");
      return answer;
    });
  }
  std::atomic<int> failed_otherwise{0}, answered{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        EncoderAnswer answer;
        fleet.Start(fleet.Call(), &answer);
        const auto got = answer.Get();
        if (!got.ok() && !absl::IsUnavailable(got.status())) ++failed_otherwise;
        answered += answer.count();
        if (i % 50 == 0) fleet.clock.Advance(absl::Seconds(1));
        if (t == 0 && i % 20 == 0) {
          fleet.client->SetRoster(i % 40 == 0 ? RosterOf({"0", "1", "2"}, fleet.asked, {0, 2}, {1})
                                              : RosterOf({"3", "1"}));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(answered == 8 * 200);
  CHECK(failed_otherwise == 0);
}

}  // namespace
}  // namespace sightline
