#include "common/retrieval/replicas.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "catch2/catch.hpp"
#include "tests/support/fake_backends.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

// Some encoders, of which each answers with its own number, behind one client.
struct Fleet {
  explicit Fleet(int count, ReplicaOptions options = {}) {
    std::vector<std::shared_ptr<QueryEncoderClient>> replicas;
    for (int i = 0; i < count; ++i) {
      fakes.push_back(std::make_shared<FakeEncoder>(
          [i](const EncodableQuery&) { return std::vector<float>{static_cast<float>(i)}; }));
      replicas.push_back(fakes.back());
    }
    client = ReplicatedEncoder(std::move(replicas), options);
  }

  // The number of the replica that answered.
  absl::StatusOr<int> Ask() { return Ask(CallContext(&clock, clock.Now() + absl::Seconds(1))); }
  absl::StatusOr<int> Ask(const CallContext& call) {
    absl::StatusOr<int> answer = absl::UnknownError("not answered");
    EncodeRequest request;
    request.queries = {TextQuery{"a red fish"}};
    client->EncodeQueries(call, std::move(request),
                          [this, &answer](absl::StatusOr<EncodeResponse> response) {
                            ++answers;
                            if (response.ok()) {
                              answer = static_cast<int>(response->embeddings.row(0)[0]);
                            } else {
                              answer = response.status();
                            }
                          });
    return answer;
  }
  FakeBehaviour& replica(int i) { return fakes[i]->behaviour(); }
  void Kill(int i) { replica(i).FailWith(absl::UnavailableError("connection refused")); }

  FakeClock clock;
  std::vector<std::shared_ptr<FakeEncoder>> fakes;
  std::shared_ptr<QueryEncoderClient> client;
  std::atomic<int> answers{0};
};

TEST_CASE("calls go round robin, from the start that was given") {
  Fleet fleet(3, {absl::Seconds(1), /*start=*/2});
  std::vector<int> order;
  for (int i = 0; i < 6; ++i) order.push_back(*fleet.Ask());
  CHECK(order == std::vector<int>{2, 0, 1, 2, 0, 1});
}

TEST_CASE("a single replica is passed through, and none is null") {
  auto fake =
      std::make_shared<FakeEncoder>([](const EncodableQuery&) { return std::vector<float>{0}; });
  CHECK(ReplicatedEncoder({fake}) == fake);
  CHECK(ReplicatedEncoder({}) == nullptr);
}

TEST_CASE("a call that is UNAVAILABLE is tried once on another replica") {
  Fleet fleet(3);
  fleet.Kill(0);
  CHECK(*fleet.Ask() != 0);
  CHECK(fleet.replica(0).calls() == 1);
  CHECK(fleet.answers == 1);
}

TEST_CASE("the second replica gets the request whole") {
  Fleet fleet(2);
  fleet.Kill(0);
  REQUIRE(*fleet.Ask() == 1);
  const EncodeRequest request = fleet.fakes[1]->last_request();
  REQUIRE(request.queries.size() == 1);
  CHECK(std::get<TextQuery>(request.queries[0]).text == "a red fish");
}

TEST_CASE("two failures end a call, though a third replica is there") {
  Fleet fleet(3);
  for (int i = 0; i < 3; ++i) fleet.Kill(i);
  CHECK(absl::IsUnavailable(fleet.Ask().status()));
  int calls = 0;
  for (int i = 0; i < 3; ++i) {
    CHECK(fleet.replica(i).calls() <= 1);
    calls += fleet.replica(i).calls();
  }
  CHECK(calls == 2);
  CHECK(fleet.answers == 1);
}

TEST_CASE("no other failure is retried") {
  for (const absl::StatusCode code :
       {absl::StatusCode::kCancelled, absl::StatusCode::kUnknown,
        absl::StatusCode::kInvalidArgument, absl::StatusCode::kDeadlineExceeded,
        absl::StatusCode::kNotFound, absl::StatusCode::kResourceExhausted,
        absl::StatusCode::kFailedPrecondition, absl::StatusCode::kInternal,
        absl::StatusCode::kDataLoss}) {
    Fleet fleet(2);
    fleet.replica(0).FailWith(absl::Status(code, "no"));
    CHECK(fleet.Ask().status().code() == code);
    CHECK(fleet.replica(1).calls() == 0);
    CHECK(fleet.answers == 1);
  }
}

TEST_CASE("a replica that was UNAVAILABLE is passed over for a second and then probed") {
  Fleet fleet(2);
  fleet.Kill(0);
  for (int i = 0; i < 20; ++i) REQUIRE(*fleet.Ask() == 1);
  CHECK(fleet.replica(0).calls() == 1);

  fleet.clock.Advance(absl::Milliseconds(999));
  for (int i = 0; i < 4; ++i) REQUIRE(*fleet.Ask() == 1);
  CHECK(fleet.replica(0).calls() == 1);

  fleet.clock.Advance(absl::Milliseconds(1));
  for (int i = 0; i < 4; ++i) REQUIRE(*fleet.Ask() == 1);
  CHECK(fleet.replica(0).calls() == 2);  // dead still

  fleet.clock.Advance(absl::Seconds(1));
  fleet.replica(0).AnswerNow();
  int answered_by_first = 0;
  for (int i = 0; i < 10; ++i) answered_by_first += *fleet.Ask() == 0 ? 1 : 0;
  CHECK(answered_by_first == 5);
}

TEST_CASE("the others share what a dead replica would have had") {
  Fleet fleet(3);
  fleet.Kill(0);
  REQUIRE(fleet.Ask().ok());
  const int before[] = {0, fleet.replica(1).calls(), fleet.replica(2).calls()};
  for (int i = 0; i < 10; ++i) REQUIRE(fleet.Ask().ok());
  CHECK(fleet.replica(1).calls() - before[1] == 5);
  CHECK(fleet.replica(2).calls() - before[2] == 5);
}

TEST_CASE("when all were UNAVAILABLE all are tried") {
  Fleet fleet(2);
  fleet.Kill(0);
  fleet.Kill(1);
  REQUIRE(absl::IsUnavailable(fleet.Ask().status()));
  fleet.replica(0).AnswerNow();
  fleet.replica(1).AnswerNow();
  CHECK(fleet.Ask().ok());
}

TEST_CASE("a late UNAVAILABLE is handed on without another try") {
  FakeClock clock;
  auto first =
      std::make_shared<FakeEncoder>([](const EncodableQuery&) { return std::vector<float>{0}; });
  auto second =
      std::make_shared<FakeEncoder>([](const EncodableQuery&) { return std::vector<float>{1}; });
  auto client = ReplicatedEncoder({first, second});
  first->behaviour().Follow([](int) {
    return FakeAnswer{FakeAnswer::When::kHeld, absl::UnavailableError("connection lost")};
  });
  const CallContext call(&clock, clock.Now() + absl::Milliseconds(100));
  EncodeRequest request;
  request.queries = {TextQuery{"x"}};
  absl::Status status;
  client->EncodeQueries(
      call, request, [&](absl::StatusOr<EncodeResponse> response) { status = response.status(); });
  client.reset();  // a call outlives the client that made it
  SECTION("after the deadline") {
    clock.Advance(absl::Milliseconds(100));
  }
  SECTION("after the caller has gone") {
    call.cancellation()->Cancel();
  }
  first->behaviour().Release();
  CHECK(absl::IsUnavailable(status));
  CHECK(second->behaviour().calls() == 0);
}

TEST_CASE("a call in flight outlives its client and still fails over") {
  FakeClock clock;
  auto first =
      std::make_shared<FakeEncoder>([](const EncodableQuery&) { return std::vector<float>{0}; });
  auto second =
      std::make_shared<FakeEncoder>([](const EncodableQuery&) { return std::vector<float>{1}; });
  auto client = ReplicatedEncoder({first, second});
  first->behaviour().Follow([](int) {
    return FakeAnswer{FakeAnswer::When::kHeld, absl::UnavailableError("connection lost")};
  });
  EncodeRequest request;
  request.queries = {TextQuery{"x"}};
  float answer = -1;
  client->EncodeQueries(
      CallContext(&clock, absl::InfiniteFuture()), request,
      [&](absl::StatusOr<EncodeResponse> response) { answer = response->embeddings.row(0)[0]; });
  client.reset();
  first->behaviour().Release();
  CHECK(answer == 1);
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
  auto search = ReplicatedIndexSearch({dead, live});
  bool searched = false, fetched = false, reranked = false;
  SearchShardRequest query;
  query.target = generation;
  query.queries = EmbeddingMatrix(1, 1);
  search->SearchShard(call, query, [&](absl::StatusOr<SearchShardResponse> response) {
    searched = response.ok() && response->candidates[0][0].item_id == "a";
  });
  // A client of its own, because this one passes the dead replica over by now.
  search = ReplicatedIndexSearch({dead, live});
  FetchItemsRequest fetch;
  fetch.target = generation;
  fetch.item_ids = {"a"};
  search->FetchItems(call, fetch, [&](absl::StatusOr<FetchItemsResponse> response) {
    fetched = response.ok() && response->items[0]->item_id == "a";
  });
  const auto score = [](const RerankSide&, const RerankSide&) { return 0.5f; };
  auto dead_reranker = std::make_shared<FakeReranker>(score);
  auto live_reranker = std::make_shared<FakeReranker>(score);
  dead_reranker->behaviour().FailWith(absl::UnavailableError("down"));
  ReplicatedReranker({dead_reranker, live_reranker})
      ->RerankCandidates(call, RerankRequest(), [&](absl::StatusOr<RerankResponse> response) {
        reranked = response.ok();
      });
  CHECK(searched);
  CHECK(fetched);
  CHECK(reranked);
  CHECK(dead->search().calls() == 1);
  CHECK(dead->fetch().calls() == 1);
  CHECK(dead_reranker->behaviour().calls() == 1);
}

TEST_CASE("many threads each get exactly one answer while replicas come and go") {
  Fleet fleet(3);
  for (int i = 0; i < 3; ++i) {
    fleet.replica(i).Follow([i](int call) {
      FakeAnswer answer;
      if ((call / 7 + i) % 3 == 0) answer.status = absl::UnavailableError("restarting");
      return answer;
    });
  }
  std::vector<std::thread> threads;
  std::atomic<int> failed_otherwise{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const auto answer = fleet.Ask();
        if (!answer.ok() && !absl::IsUnavailable(answer.status())) ++failed_otherwise;
        if (i % 50 == 0) fleet.clock.Advance(absl::Seconds(1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(fleet.answers == 8 * 200);
  CHECK(failed_otherwise == 0);
}

}  // namespace
}  // namespace sightline
