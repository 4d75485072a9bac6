// What a fleet answers when parts of it are gone.
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "sightline/v1/reranker.grpc.pb.h"
#include "tests/integration/fleet.h"
#include "tests/integration/test_launch.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

const TinyStore& Store() {
  static TempDir* const directory = new TempDir;
  static const TinyStore* const store = new TinyStore(MakeTinyStore(directory->path(), 30));
  return *store;
}

bool Says(const SearchResult& result, DegradedReason reason) {
  return std::count(result.degraded.begin(), result.degraded.end(), reason) > 0;
}

SearchRequest TextRequest() {
  SearchRequest request;
  request.query = TextQuery{"a red fish"};
  request.top_k = 30;
  return request;
}

SearchRequest ItemRequest() {
  SearchRequest request;
  request.index = kTinyImages;
  request.query = ItemQuery{"", Store().items[1].image_id};
  request.depth = 0;
  return request;
}

SearchRequest EmbeddingRequest() {
  SearchRequest request;
  request.index = kTinyImages;
  const auto values = Store().items[1].image_embedding.values();
  request.query = EmbeddingQuery{{values.begin(), values.end()}, Store().model->space()};
  return request;
}

// A reranker that never answers by itself: it holds each call until the caller leaves.
class StalledReranker final : public v1::Reranker::Service {
 public:
  StalledReranker() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  grpc::Status RerankCandidates(grpc::ServerContext* context, const v1::RerankCandidatesRequest*,
                                v1::RerankCandidatesResponse*) override {
    // Polling is all that gRPC's synchronous API has to offer here.
    Clock* const clock = Clock::Real();
    while (!context->IsCancelled()) clock->SleepUntil(clock->Now() + absl::Milliseconds(1));
    return grpc::Status::CANCELLED;
  }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

TEST_CASE("a dead shard costs its own items only, and is named") {
  Fleet fleet(Store(), TestLaunch());
  fleet.shard(1).member->Kill();
  const auto result = fleet.Search(TextRequest());
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  REQUIRE(result->shard_count == 2);
  REQUIRE(result->answered_shard_count == 1);
  REQUIRE(result->unreachable ==
          std::vector<std::string>{absl::StrCat("indexes/", kTinyImages, "/shards/1")});
  REQUIRE(Says(*result, DegradedReason::kShardsMissing));
  REQUIRE_FALSE(result->hits.empty());
  for (const Hit& hit : result->hits) REQUIRE(hit.shard == 0);

  SECTION("and is back when it is back") {
    fleet.Restart(&fleet.shard(1));
    fleet.AwaitWhole();
  }
  SECTION("and without any shard there is no answer") {
    fleet.shard(0).member->Kill();
    REQUIRE(fleet.Search(TextRequest()).status().code() == absl::StatusCode::kUnavailable);
    REQUIRE(fleet.Search(EmbeddingRequest()).status().code() == absl::StatusCode::kUnavailable);
  }
}

TEST_CASE("a shard with two addresses is whole while one of them lives") {
  FleetOptions options;
  options.shard_replicas = 2;
  Fleet fleet(Store(), TestLaunch(), options);
  fleet.shard(0, 1).member->Kill();
  fleet.shard(1, 0).member->Kill();
  for (int i = 0; i < 10; ++i) {
    const auto result = fleet.Search(TextRequest());
    INFO(result.status().ToString());
    REQUIRE(result.ok());
    REQUIRE(result->answered_shard_count == 2);
    REQUIRE(result->unreachable.empty());
    REQUIRE_FALSE(Says(*result, DegradedReason::kShardsMissing));
  }
}

TEST_CASE("without an encoder, what needs none is still answered") {
  Fleet fleet(Store(), TestLaunch());
  fleet.encoder().member->Kill();
  REQUIRE(fleet.Search(TextRequest()).status().code() == absl::StatusCode::kUnavailable);
  SearchRequest image;
  image.query = ImageQuery{Store().items[0].picture};
  REQUIRE(fleet.Search(image).status().code() == absl::StatusCode::kUnavailable);
  for (const SearchRequest& request : {ItemRequest(), EmbeddingRequest()}) {
    const auto result = fleet.Search(request);
    INFO(result.status().ToString());
    REQUIRE(result.ok());
    REQUIRE(result->degraded.empty());
    REQUIRE(result->hits.size() == 10);
  }
}

TEST_CASE("a dead reranker leaves the retrieval order, and says so") {
  Fleet fleet(Store(), TestLaunch());
  SearchRequest plain = TextRequest();
  plain.depth = 0;
  const auto retrieved = fleet.Search(plain);
  REQUIRE(retrieved.ok());
  fleet.reranker().member->Kill();
  const auto result = fleet.Search(TextRequest());
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  REQUIRE(result->rerank == RerankOutcome::kFailed);
  REQUIRE(Says(*result, DegradedReason::kRerankerFailed));
  REQUIRE(result->achieved_depth == 0);
  REQUIRE(result->hits.size() == retrieved->hits.size());
  for (size_t i = 0; i < result->hits.size(); ++i) {
    REQUIRE(result->hits[i].item_id == retrieved->hits[i].item_id);
    REQUIRE(result->hits[i].stage == HitStage::kRetrieved);
  }
}

TEST_CASE("a reranker that never answers costs its share of the time, not the answer") {
  StalledReranker stalled;
  FleetOptions options;
  options.reranker_addresses = {stalled.address()};
  Fleet fleet(Store(), TestLaunch(), options);
  const auto result = fleet.Search(TextRequest(), absl::Seconds(3));
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  REQUIRE(result->rerank == RerankOutcome::kFailed);
  REQUIRE(Says(*result, DegradedReason::kRerankerLate));
  REQUIRE(result->hits.size() == 30);
}

}  // namespace sightline
