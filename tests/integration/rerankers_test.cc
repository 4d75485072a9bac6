// A generation with two cross-encoders, of which requests name one: each reranks as a direct
// computation with it does, and the generation that answers decides which names there are.
#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "common/base/error_details.h"
#include "common/bundle/publication.h"
#include "tests/integration/fleet.h"
#include "tests/integration/referee.h"
#include "tests/integration/test_launch.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kItems = 40;
constexpr int kDepth = 15;
constexpr char kFine[] = "fine";
constexpr char kOfTwo[] = "g2";
constexpr absl::Duration kPatience = absl::Seconds(30);

// g1 is of one reranker, as manifests were before there were names; g2, of the same items,
// has another model's beside it.
struct Stores {
  TempDir directory;
  TinyStore store = MakeTinyStore(directory.path(), kItems);
  TinyStore other = WithOtherModel(store);
  Stores() { WriteTinyGenerationOfTwo(store, other, kFine, kOfTwo); }
  const TinyStore& Of(const std::string& reranker) const {
    return reranker == kFine ? other : store;
  }
};

FleetOptions Quickly() {
  FleetOptions options;
  options.backend_yaml = "generations: {poll_interval: 20ms, release_after: 1s}\n";
  return options;
}

void Publish(const Fleet& fleet, const std::string& generation) {
  for (const char* index : {kTinyImages, kTinyCaptions}) {
    REQUIRE(PublishGeneration(fleet.store().path, index, generation).ok());
  }
}

// Asks until both indexes are served from `generation`.
void Await(Fleet& fleet, const std::string& generation) {
  const absl::Time patience = Clock::Real()->Now() + kPatience;
  for (const char* index : {kTinyImages, kTinyCaptions}) {
    SearchRequest request;
    request.index = index;
    request.query = TextQuery{"a red fish"};
    for (;;) {
      const auto result = fleet.Search(request, kPatience);
      if (result.ok() && result->target.generation == generation) break;
      if (Clock::Real()->Now() > patience) FAIL(generation << " is not served");
      std::this_thread::yield();
    }
  }
}

SearchResult Ask(Fleet& fleet, Query query, const std::string& reranker) {
  SearchRequest request;
  request.query = std::move(query);
  request.reranker = reranker;
  request.top_k = kItems;
  request.depth = kDepth;
  const auto result = fleet.Search(request, kPatience);
  INFO(result.status());
  REQUIRE(result.ok());
  REQUIRE(result->rerank == RerankOutcome::kComplete);
  REQUIRE(result->degraded.empty());
  REQUIRE(result->reranker == (reranker.empty() ? "default" : reranker));
  return *result;
}

void RequireUnknown(const absl::Status& status, const std::string& known) {
  INFO(status);
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(HasReason(status, reasons::kUnknownReranker));
  REQUIRE(std::string(status.message()).find(known) != std::string::npos);
}

bool Close(float a, float b) {
  return std::abs(a - b) <= 1e-5 * std::max(1.0f, std::abs(a));
}

void RequireRanking(const SearchResult& result, const std::vector<RefereeHit>& expected) {
  REQUIRE(result.hits.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    INFO("rank " << i << ": " << result.hits[i].item_id << ", expected " << expected[i].item_id);
    REQUIRE(result.hits[i].rerank_score.has_value() == expected[i].reranked);
    REQUIRE(Close(result.hits[i].score,
                  expected[i].reranked ? expected[i].rerank_score : expected[i].retrieval_score));
  }
}

std::vector<std::string> Ids(const SearchResult& result) {
  std::vector<std::string> ids;
  for (const Hit& hit : result.hits) ids.push_back(hit.item_id);
  return ids;
}

}  // namespace

TEST_CASE("each reranker of a generation ranks as a direct computation with it does") {
  const Stores stores;
  Fleet fleet(stores.store, TestLaunch(), Quickly());
  Publish(fleet, kOfTwo);
  Await(fleet, kOfTwo);
  const TinyItem& item = stores.store.items[7];
  std::vector<std::vector<std::string>> texts, images;
  for (const std::string reranker : {"", "default", kFine}) {
    const TinyStore& own = stores.Of(reranker);
    const TinyItem& prepared = own.items[7];
    const SearchResult found = Ask(fleet, TextQuery{item.caption}, reranker);
    RequireRanking(
        found, RefereeSearch(stores.store, /*images=*/true,
                             {item.caption_embedding, &prepared.caption_features, nullptr}, kDepth,
                             "", &own));
    texts.push_back(Ids(found));
    const auto by_image =
        RefereeSearch(stores.store, /*images=*/false,
                      {item.image_embedding, nullptr, &prepared.image_features}, kDepth, "", &own);
    const SearchResult uploaded = Ask(fleet, ImageQuery{item.picture}, reranker);
    RequireRanking(uploaded, by_image);
    images.push_back(Ids(uploaded));
    // A stored picture brings the features along that were made for this reranker.
    SearchRequest stored;
    stored.index = kTinyCaptions;
    stored.query = ItemQuery{kTinyImages, item.image_id};
    stored.reranker = reranker;
    stored.top_k = kItems;
    stored.depth = kDepth;
    const auto result = fleet.Search(stored, kPatience);
    INFO(result.status());
    REQUIRE(result.ok());
    RequireRanking(*result, by_image);
  }
  REQUIRE(texts[0] == texts[1]);
  REQUIRE(texts[0] != texts[2]);
  REQUIRE(images[0] == images[1]);
  REQUIRE(images[0] != images[2]);
}

TEST_CASE("pairs are scored by the reranker that was named") {
  const Stores stores;
  Fleet fleet(stores.store, TestLaunch(), Quickly());
  Publish(fleet, kOfTwo);
  Await(fleet, kOfTwo);
  for (const std::string reranker : {"", kFine}) {
    const TinyStore& own = stores.Of(reranker);
    ScorePairsRequest request;
    request.reranker = reranker;
    request.texts = {TextQuery{own.items[1].caption}};
    request.images = {ImageQuery{own.items[2].picture}, ItemQuery{"", own.items[3].image_id}};
    const CallContext call(Clock::Real(), Clock::Real()->Now() + kPatience);
    const auto result = fleet.search().ScorePairs(call, request);
    INFO(result.status());
    REQUIRE(result.ok());
    REQUIRE(result->reranker == (reranker.empty() ? "default" : reranker));
    for (int i = 0; i < 2; ++i) {
      const ScoringPair pair{&own.items[1].caption_features, &own.items[2 + i].image_features};
      const auto raw = own.model->cross_encoder()->Score({pair}, CallContext::Unbounded());
      REQUIRE(raw.ok());
      REQUIRE(Close(result->scores[i].raw_score, (*raw)[0]));
    }
  }
}

TEST_CASE("a generation without names has its reranker under default, and swaps decide") {
  const Stores stores;
  Fleet fleet(stores.store, TestLaunch(), Quickly());
  Await(fleet, kTinyGeneration);
  const TextQuery query{stores.store.items[4].caption};
  REQUIRE(Ids(Ask(fleet, query, "")) == Ids(Ask(fleet, query, "default")));
  SearchRequest named;
  named.query = query;
  named.reranker = kFine;
  RequireUnknown(fleet.Search(named, kPatience).status(), "which has default;");

  Publish(fleet, kOfTwo);
  Await(fleet, kOfTwo);
  Ask(fleet, query, kFine);
  named.reranker = "finest";
  RequireUnknown(fleet.Search(named, kPatience).status(), "which has default, fine;");

  Publish(fleet, kTinyGeneration);
  Await(fleet, kTinyGeneration);
  named.reranker = kFine;
  RequireUnknown(fleet.Search(named, kPatience).status(), "which has default;");
}

}  // namespace sightline
