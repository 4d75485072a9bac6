// What a search answers when all goes well, refereed by a direct ranking of all items.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/bundle/rerankers.h"
#include "common/retrieval/backend_calls.h"
#include "common/retrieval/retriever.h"
#include "tests/common/retrieval/world.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

const Combination kCombinations[] = {
    {CombinationKind::kReplace, 0},
    {CombinationKind::kAddLambda, 0.1f},
    {CombinationKind::kAddLambda, 0.9f},
    {CombinationKind::kNormAddLambda, 0.5f},
};

TEST_CASE("a text finds the pictures that a ranking of all pictures gives") {
  for (const int shards : {1, 2, 5}) {
    WorldOptions options;
    options.shards = shards;
    options.retriever.rerank_slice = 4;
    World world(options);
    for (const Combination& combination : kCombinations) {
      for (const int depth : {0, 1, 7, 20, 100}) {
        for (const int top_k : {1, 5, 10, 60}) {
          SearchRequest request = TextSearch(absl::StrCat("fish ", depth, " ", top_k));
          request.top_k = top_k;
          request.depth = depth;
          request.combination = combination;
          const auto result = world.retriever.Search(request, world.Call());
          REQUIRE(result.ok());
          const std::string text = std::get<TextQuery>(request.query).text;
          INFO("shards " << shards << ", depth " << depth << ", top_k " << top_k);
          CHECK(Ids(result->hits) == Referee(world.pictures, text, top_k, depth, combination));
          CHECK(result->degraded.empty());
          CHECK(result->failures.empty());
          CHECK(result->achieved_depth == std::min(depth, 40));
        }
      }
    }
  }
}

TEST_CASE("an uploaded image finds captions, its features travelling with the pairs") {
  World world;
  SearchRequest request;
  request.query = ImageQuery{"image upload"};
  const auto result = world.retriever.Search(request, world.Call());
  REQUIRE(result.ok());
  CHECK(result->target.index == "words");
  CHECK(result->rerank == RerankOutcome::kComplete);
  CHECK(Ids(result->hits) == Referee(world.words, "image upload", 10, 20, Combination{}));
  CHECK(world.encoder->last_request().want_features);
  for (const RerankRequest& sent : world.reranker->requests()) {
    CHECK_FALSE(sent.query_is_text);
    CHECK(std::holds_alternative<Shared<ItemFeatures>>(sent.query));
  }
}

TEST_CASE("regions find captions like an image") {
  World world;
  ImageInput image;
  image.regions = {1, 2, {1, 2}, {}};
  image.tags = {"image regions"};
  SearchRequest request;
  request.query = RegionsQuery{image};
  const auto result = world.retriever.Search(request, world.Call());
  REQUIRE(result.ok());
  CHECK(Ids(result->hits) == Referee(world.words, "image regions", 10, 20, Combination{}));
}

TEST_CASE("features are asked for only when they are needed") {
  World world;
  for (const Query& query : {Query(TextQuery{"a fish"}), Query(ImageQuery{"image upload"})}) {
    SearchRequest request;
    request.query = query;
    REQUIRE(world.retriever.Search(request, world.Call()).ok());
    CHECK(world.encoder->last_request().want_features);
    request.depth = 0;
    REQUIRE(world.retriever.Search(request, world.Call()).ok());
    CHECK_FALSE(world.encoder->last_request().want_features);
  }
}

TEST_CASE("a text is tokenized by the encoder, once for all slices") {
  World world;
  REQUIRE(world.retriever.Search(TextSearch("a fish"), world.Call()).ok());
  REQUIRE(world.reranker->requests().size() > 1);
  for (const RerankRequest& sent : world.reranker->requests()) {
    CHECK(std::holds_alternative<Shared<ItemFeatures>>(sent.query));
  }
}

TEST_CASE("a text for which the encoder has no features goes to the reranker as it is") {
  const RerankSide side = SideOf(TextQuery{"a fish"}, ItemFeatures());
  CHECK(std::get<TextQuery>(side).text == "a fish");
  CHECK(std::holds_alternative<Shared<ItemFeatures>>(SideOf(ImageQuery{"image"}, ItemFeatures())));
}

TEST_CASE("a stored item searches the other index and is reranked from its stored features") {
  World world;
  SearchRequest request;
  SECTION("a picture finds captions") {
    request.query = ItemQuery{"pictures", "image-3"};
    const auto result = world.retriever.Search(request, world.Call());
    REQUIRE(result.ok());
    CHECK(result->target.index == "words");
    CHECK(Ids(result->hits) == Referee(world.words, "image-3", 10, 20, Combination{}));
    const RerankRequest sent = world.reranker->requests().front();
    CHECK_FALSE(sent.query_is_text);
    CHECK(std::get<StoredRef>(sent.query).target.index == "pictures");
    CHECK(sent.target.index == "words");
  }
  SECTION("a caption finds pictures") {
    request.index = "pictures";
    request.query = ItemQuery{"words", "caption-5"};
    const auto result = world.retriever.Search(request, world.Call());
    REQUIRE(result.ok());
    CHECK(Ids(result->hits) == Referee(world.pictures, "caption-5", 10, 20, Combination{}));
    CHECK(world.reranker->requests().front().query_is_text);
  }
  CHECK(world.encoder->behaviour().calls() == 0);
}

TEST_CASE("like against like is retrieval only, and not degraded") {
  World world;
  SearchRequest request;
  std::string query;
  SECTION("text against captions") {
    request = TextSearch("some words");
    request.index = "words";
    query = "some words";
  }
  SECTION("image against pictures") {
    request.index = "pictures";
    request.query = ImageQuery{"image upload"};
    query = "image upload";
  }
  SECTION("an embedding, whatever it is of") {
    request.index = "pictures";
    request.query = EmbeddingQuery{EmbeddingOf("vector"), kSpace};
    query = "vector";
  }
  const auto result = world.retriever.Search(request, world.Call());
  REQUIRE(result.ok());
  CHECK(result->rerank == RerankOutcome::kNotApplicable);
  CHECK(result->degraded.empty());
  CHECK(result->achieved_depth == 0);
  const FakeIndex& index = world.index_of(request.index);
  CHECK(Ids(result->hits) == Referee(index, query, 10, 0, Combination{}));
  CHECK(world.reranker->behaviour().calls() == 0);
}

TEST_CASE("a generation without a cross-encoder is retrieval only, and not degraded") {
  World world;
  GenerationInfo info = *world.pictures.info();
  info.rerankers.clear();
  world.catalog.Set(std::make_shared<GenerationInfo>(info));
  const auto result = world.retriever.Search(TextSearch("a fish"), world.Call());
  REQUIRE(result.ok());
  CHECK(result->rerank == RerankOutcome::kNotApplicable);
  CHECK(result->degraded.empty());
}

TEST_CASE("depth 0 asks for no reranking and gets none") {
  World world;
  SearchRequest request = TextSearch("a fish");
  request.depth = 0;
  const auto result = world.retriever.Search(request, world.Call());
  REQUIRE(result.ok());
  CHECK(result->rerank == RerankOutcome::kNotRequested);
  CHECK(world.reranker->behaviour().calls() == 0);
}

TEST_CASE("a stored item is left out of its own hits, and the list is as long as asked") {
  World world;
  for (const int top_k : {1, 10, 39, 40}) {
    SearchRequest request;
    request.index = "pictures";
    request.query = ItemQuery{"", "image-7"};
    request.top_k = top_k;
    const auto result = world.retriever.Search(request, world.Call());
    REQUIRE(result.ok());
    std::vector<Candidate> expected = RankAll(world.pictures, "image-7", "image-7");
    expected.resize(std::min(top_k, 39));
    std::vector<std::string> ids;
    for (const Candidate& candidate : expected) ids.push_back(candidate.item_id);
    CHECK(Ids(result->hits) == ids);
  }
}

TEST_CASE("an item is left out by its id, not by its rank") {
  // Another picture with a larger inner product than the item has with itself.
  World world;
  std::vector<StoredItem> items = world.pictures.items();
  for (StoredItem& item : items) {
    if (item.item_id != "image-1") continue;
    item.embedding = EmbeddingOf("image-7");
    for (float& value : item.embedding) value *= 2;
  }
  FakeIndex changed(*world.pictures.info(), items);
  world.backends.shards["pictures"] = changed.clients();
  SearchRequest request;
  request.index = "pictures";
  request.query = ItemQuery{"", "image-7"};
  const auto result = world.retriever.Search(request, world.Call());
  REQUIRE(result.ok());
  CHECK(result->hits.front().item_id == "image-1");
  for (const Hit& hit : result->hits) CHECK(hit.item_id != "image-7");
}

TEST_CASE("without a name the only index of the other modality is searched") {
  World world;
  CHECK(world.retriever.Search(TextSearch("a"), world.Call())->target.index == "pictures");
  SearchRequest request;
  request.query = ImageQuery{"image"};
  CHECK(world.retriever.Search(request, world.Call())->target.index == "words");

  GenerationInfo other = *world.pictures.info();
  other.ref.index = "paintings";
  world.catalog.Set(std::make_shared<GenerationInfo>(other));
  const auto two = world.retriever.Search(TextSearch("a"), world.Call());
  CHECK(absl::IsInvalidArgument(two.status()));
  CHECK(std::string(two.status().message()).find("paintings, pictures") != std::string::npos);
}

TEST_CASE("hits carry their scores, stages and records") {
  World world;
  SearchRequest request = TextSearch("a fish");
  request.top_k = 30;
  request.combination = Combination{CombinationKind::kAddLambda, 0.25f};
  const auto result = world.retriever.Search(request, world.Call());
  REQUIRE(result.ok());
  REQUIRE(result->hits.size() == 30);
  for (size_t i = 0; i < result->hits.size(); ++i) {
    const Hit& hit = result->hits[i];
    CHECK(hit.caption == absl::StrCat("caption of ", hit.item_id));
    CHECK(hit.uri == absl::StrCat("file:", hit.item_id));
    CHECK(hit.tags == std::vector<std::string>{"tag"});
    CHECK((hit.stage == HitStage::kReranked) == (i < 20));
    REQUIRE(hit.rerank_score.has_value() == (i < 20));
    if (i < 20) {
      CHECK(*hit.rerank_score == Approx(MatchOf("a fish", hit.item_id)));
      CHECK(hit.score == Approx(0.25 * hit.retrieval_score + 0.75 * *hit.rerank_score));
    } else {
      CHECK(hit.score == hit.retrieval_score);
    }
  }
}

TEST_CASE("records are not fetched for those who do not want them") {
  World world;
  SearchRequest request = TextSearch("a fish");
  request.want_records = false;
  const auto result = world.retriever.Search(request, world.Call());
  REQUIRE(result.ok());
  CHECK(result->hits.front().caption.empty());
  CHECK(result->degraded.empty());
  for (int shard = 0; shard < 3; ++shard) CHECK(world.pictures.shard(shard).fetch().calls() == 0);
}

TEST_CASE("the block is scored in slices of the set size") {
  World world;
  SearchRequest request = TextSearch("a fish");
  request.depth = 25;
  REQUIRE(world.retriever.Search(request, world.Call()).ok());
  std::vector<size_t> sizes;
  for (const RerankRequest& sent : world.reranker->requests())
    sizes.push_back(sent.candidates.size());
  CHECK(sizes == std::vector<size_t>{10, 10, 5});
}

TEST_CASE("raw scores are mapped to probabilities before they are combined") {
  WorldOptions options;
  options.score_kind = ScoreKind::kRankRaw;
  World world(options);
  const auto result = world.retriever.Search(TextSearch("a fish"), world.Call());
  REQUIRE(result.ok());
  for (const Hit& hit : result->hits) {
    const double raw = MatchOf("a fish", hit.item_id);
    CHECK(*hit.rerank_score == Approx(1 / (1 + std::exp(-raw))));
  }
}

TEST_CASE("the model's own combination is used unless the request names one") {
  World world;
  GenerationInfo info = *world.pictures.info();
  info.rerankers[0].declared.combination = {CombinationKind::kNormAddLambda, 0.3f};
  world.catalog.Set(std::make_shared<GenerationInfo>(info));
  const auto result = world.retriever.Search(TextSearch("a fish"), world.Call());
  REQUIRE(result.ok());
  CHECK(result->combination.kind == CombinationKind::kNormAddLambda);
  CHECK(Ids(result->hits) == Referee(world.pictures, "a fish", 10, 20, result->combination));
}

// A world whose rerankers declare that by default nothing is reranked.
struct UnrerankedWorld : World {
  UnrerankedWorld() {
    for (FakeIndex* const index : {&pictures, &words}) {
      GenerationInfo info = *index->info();
      for (RerankerInfo& reranker : info.rerankers) {
        reranker.declared = {{CombinationKind::kAddLambda, 0.3f}, false};
      }
      catalog.Set(std::make_shared<GenerationInfo>(info));
    }
  }
};

TEST_CASE("where the model declares none, nothing is reranked unless a request asks for it") {
  UnrerankedWorld world;
  SearchRequest request;
  request.query = ImageQuery{"image-x"};
  const auto result = world.retriever.Search(request, world.Call());
  REQUIRE(result.ok());
  CHECK(result->rerank == RerankOutcome::kNotByDefault);
  CHECK(result->reranker == kDefaultReranker);
  CHECK(result->degraded.empty());
  CHECK(result->achieved_depth == 0);
  CHECK(Ids(result->hits) == Referee(world.words, "image-x", 10, 0, Combination()));
  CHECK(world.reranker->requests().empty());
  CHECK_FALSE(world.encoder->last_request().want_features);
}

TEST_CASE("a depth, a combination or a reranker asks for reranking in so many words") {
  const int which = GENERATE(0, 1, 2);
  UnrerankedWorld world;
  SearchRequest request;
  request.query = ImageQuery{"image-x"};
  if (which == 0) request.depth = 20;
  if (which == 1) request.combination = Combination{CombinationKind::kAddLambda, 0.3f};
  if (which == 2) request.reranker = kDefaultReranker;
  const auto result = world.retriever.Search(request, world.Call());
  REQUIRE(result.ok());
  CHECK(result->rerank == RerankOutcome::kComplete);
  CHECK(result->combination.kind == CombinationKind::kAddLambda);
  CHECK(Ids(result->hits) == Referee(world.words, "image-x", 10, 20, result->combination));
}

TEST_CASE("depth 0 asks for none, whatever the model declares") {
  UnrerankedWorld world;
  SearchRequest request = TextSearch("a fish");
  request.depth = 0;
  CHECK(world.retriever.Search(request, world.Call())->rerank == RerankOutcome::kNotRequested);
}

TEST_CASE("replace reports raw scores on a grid, and each list is in order of what it reports") {
  WorldOptions options;
  options.score_kind = ScoreKind::kRankRaw;
  World world(options);
  const auto result = world.retriever.Search(TextSearch("a fish"), world.Call());
  REQUIRE(result.ok());
  CHECK(std::is_sorted(result->hits.begin(), result->hits.end(), StandsBefore));
  for (const Hit& hit : result->hits) {
    CHECK(std::abs(hit.score - MatchOf("a fish", hit.item_id)) <= kRawScoreGrid / 2);
    CHECK(std::fmod(hit.score, kRawScoreGrid) == 0);
  }
}

TEST_CASE("a request names a reranker, which scores and whose combination is the default") {
  World world;
  SearchRequest request = TextSearch("a fish");
  request.reranker = kOtherReranker;
  const auto result = world.retriever.Search(request, world.Call());
  REQUIRE(result.ok());
  CHECK(result->reranker == kOtherReranker);
  CHECK(result->combination.kind == CombinationKind::kAddLambda);
  CHECK(Ids(result->hits) == Referee(world.pictures, "a fish", 10, 20, result->combination));
  for (const RerankRequest& sent : world.reranker->requests()) {
    CHECK(sent.reranker == kOtherReranker);
  }
}

TEST_CASE("without a name the default reranks, and the answer says which that is") {
  World world;
  const auto result = world.retriever.Search(TextSearch("a fish"), world.Call());
  REQUIRE(result.ok());
  CHECK(result->reranker == kDefaultReranker);
  CHECK(world.reranker->requests().front().reranker.empty());
}

TEST_CASE("features of an uploaded image are made for the reranker that was named") {
  World world;
  SearchRequest request;
  request.query = ImageQuery{"image-x"};
  request.reranker = kOtherReranker;
  const auto result = world.retriever.Search(request, world.Call());
  REQUIRE(result.ok());
  CHECK(world.encoder->last_request().want_features);
  CHECK(world.encoder->last_request().reranker == kOtherReranker);
  CHECK(world.reranker->requests().front().reranker == kOtherReranker);
}

TEST_CASE("an answer that nothing reranked names no reranker") {
  World world;
  SearchRequest request = TextSearch("a fish");
  request.reranker = kOtherReranker;
  request.depth = 0;
  auto result = world.retriever.Search(request, world.Call());
  REQUIRE(result.ok());
  CHECK(result->reranker.empty());
  request.depth = 20;
  request.index = "words";
  result = world.retriever.Search(request, world.Call());
  REQUIRE(result.ok());
  CHECK(result->rerank == RerankOutcome::kNotApplicable);
  CHECK(result->reranker.empty());
}

TEST_CASE("a reranker that the pinned generation lacks is refused with those it has") {
  World world;
  SearchRequest request = TextSearch("a fish");
  request.reranker = "finest";
  absl::Status status = world.retriever.Search(request, world.Call()).status();
  CHECK(absl::IsInvalidArgument(status));
  CHECK(HasReason(status, reasons::kUnknownReranker));
  CHECK(std::string(status.message()).find("default, other") != std::string::npos);
  CHECK(world.encoder->behaviour().calls() == 0);

  // Also when nothing would be reranked, and by a generation that cannot rerank.
  request.depth = 0;
  CHECK(absl::IsInvalidArgument(world.retriever.Search(request, world.Call()).status()));
  GenerationInfo info = *world.pictures.info();
  info.rerankers.clear();
  world.catalog.Set(std::make_shared<GenerationInfo>(info));
  request.reranker = kOtherReranker;
  CHECK(absl::IsInvalidArgument(world.retriever.Search(request, world.Call()).status()));
}

TEST_CASE("the generation that a request is pinned to decides which rerankers there are") {
  World world;
  SearchRequest request = TextSearch("a fish");
  request.reranker = kOtherReranker;
  request.top_k = 5;
  const auto first = world.retriever.Search(request, world.Call());
  REQUIRE(first.ok());
  GenerationInfo next = *world.pictures.info();
  next.ref.generation = "generation-8";
  next.rerankers.pop_back();
  world.catalog.Set(std::make_shared<GenerationInfo>(next));
  CHECK(absl::IsInvalidArgument(world.retriever.Search(request, world.Call()).status()));
  // A further page stays with the generation that has it.
  request.page_token = first->next_page_token;
  const auto second = world.retriever.Search(request, world.Call());
  INFO(second.status());
  REQUIRE(second.ok());
  CHECK(second->reranker == kOtherReranker);
}

TEST_CASE("a request stays with its generation when another is published meanwhile") {
  World world;  // its shards hold generation-7 and refuse any other
  world.encoder->behaviour().BeforeEach([&world] {
    GenerationInfo next = *world.pictures.info();
    next.ref.generation = "generation-8";
    world.catalog.Set(std::make_shared<GenerationInfo>(next));
  });
  const auto result = world.retriever.Search(TextSearch("a fish"), world.Call());
  REQUIRE(result.ok());
  CHECK(result->target.generation == "generation-7");
  CHECK(result->degraded.empty());
  for (const RerankRequest& sent : world.reranker->requests()) {
    CHECK(sent.target.generation == "generation-7");
    for (const RerankSide& candidate : sent.candidates) {
      CHECK(std::get<StoredRef>(candidate).target.generation == "generation-7");
    }
  }
}

TEST_CASE("the answer says how long each stage took") {
  World world;
  const auto take = [&world](int ms) {
    return [&world, ms] { world.clock.Advance(absl::Milliseconds(ms)); };
  };
  world.encoder->behaviour().BeforeEach(take(10));
  world.pictures.shard(2).search().BeforeEach(take(20));
  world.reranker->behaviour().BeforeEach(take(30));
  world.pictures.shard(0).fetch().BeforeEach(take(5));
  const auto result = world.retriever.Search(TextSearch("a fish"), world.Call());
  REQUIRE(result.ok());
  CHECK(result->times.encode == absl::Milliseconds(10));
  CHECK(result->times.search == absl::Milliseconds(20));
  CHECK(result->times.rerank == absl::Milliseconds(60));  // two slices
  CHECK(result->times.fetch == absl::Milliseconds(5));
  CHECK(result->times.total == absl::Milliseconds(95));
}

TEST_CASE("an index without items answers with no hits") {
  WorldOptions options;
  options.images = 0;
  World world(options);
  const auto result = world.retriever.Search(TextSearch("a fish"), world.Call());
  REQUIRE(result.ok());
  CHECK(result->hits.empty());
  CHECK(result->rerank == RerankOutcome::kComplete);
  CHECK(result->degraded.empty());
}

}  // namespace
}  // namespace sightline
