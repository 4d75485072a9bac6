// What a whole fleet answers when all is well, against the referee, and how it refuses
// what it cannot answer.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/error_details.h"
#include "common/bundle/tag_filter.h"
#include "common/clients/admin_client.h"
#include "tests/common/image/encode.h"
#include "tests/integration/fleet.h"
#include "tests/integration/referee.h"
#include "tests/integration/test_launch.h"
#include "tests/support/catch.h"
#include "tests/support/http_get.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kItems = 60;

// One fleet serves all cases of the program: they only read.
Fleet& TheFleet() {
  static TempDir* const directory = new TempDir;
  static const TinyStore* const store = new TinyStore(MakeTinyStore(directory->path(), kItems));
  static Fleet fleet(*store, TestLaunch());
  // A first connection may fail (gRPC 1.51 reads errno late) and is tried again 100 ms later.
  static const absl::Duration whole = fleet.AwaitWhole();
  static_cast<void>(whole);
  return fleet;
}

const TinyStore& Store() {
  return TheFleet().store();
}

SearchRequest Request(Query query) {
  SearchRequest request;
  request.query = std::move(query);
  return request;
}

SearchResult Ask(const SearchRequest& request) {
  const absl::StatusOr<SearchResult> result =
      TheFleet().Search(request, /*timeout=*/absl::Seconds(20));
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  return *result;
}

bool Close(float a, float b) {
  return std::abs(a - b) <= 1e-5 * std::max(1.0f, std::abs(a));
}

// Same ranking, but for neighbours that score the same as far as floats can tell, and
// the same scores.
void RequireRanking(const SearchResult& result, const std::vector<RefereeHit>& expected) {
  REQUIRE(result.hits.size() <= expected.size());
  for (size_t i = 0; i < result.hits.size(); ++i) {
    const Hit& hit = result.hits[i];
    INFO("rank " << i << ": " << hit.item_id << ", expected " << expected[i].item_id);
    REQUIRE((hit.stage == HitStage::kReranked) == expected[i].reranked);
    REQUIRE(hit.rerank_score.has_value() == expected[i].reranked);
    if (expected[i].reranked) {
      REQUIRE(Close(*hit.rerank_score, expected[i].rerank_score));
      REQUIRE(Close(hit.score, expected[i].rerank_score));
    } else {
      REQUIRE(Close(hit.score, expected[i].retrieval_score));
    }
    for (const RefereeHit& other : expected) {
      if (other.item_id == hit.item_id) REQUIRE(Close(hit.retrieval_score, other.retrieval_score));
    }
  }
}

EmbeddingMatrix EmbedText(const std::string& text) {
  const auto tokens = Store().model->Tokenize(text);
  REQUIRE(tokens.ok());
  const auto embedded = Store().model->text_encoder()->Encode({*tokens}, CallContext::Unbounded());
  REQUIRE(embedded.ok());
  return *embedded;
}

// The refusal of a request, with its code or the reason that a program would read.
void RequireRefused(const SearchRequest& request, absl::StatusCode code) {
  const absl::StatusOr<SearchResult> result = TheFleet().Search(request);
  INFO(result.status().ToString());
  REQUIRE(result.status().code() == code);
}
void RequireRefused(const SearchRequest& request, const Reason& reason) {
  const absl::StatusOr<SearchResult> result = TheFleet().Search(request);
  INFO(result.status().ToString());
  REQUIRE(result.status().code() == reason.code);
  REQUIRE(HasReason(result.status(), reason));
}

}  // namespace

TEST_CASE("a text finds images, reranked, as the referee does") {
  SearchRequest request = Request(TextQuery{"a red fish"});
  request.top_k = 30;
  request.depth = 20;
  const SearchResult result = Ask(request);
  const auto features = TextFeatures(*Store().model, "a red fish");
  REQUIRE(features.ok());
  RequireRanking(result, RefereeSearch(Store(), /*images=*/true,
                                       {EmbedText("a red fish"), &*features, nullptr}, 20));
  REQUIRE(result.hits.size() == 30);
  REQUIRE(result.rerank == RerankOutcome::kComplete);
  REQUIRE(result.achieved_depth == 20);
  REQUIRE(result.degraded.empty());
  REQUIRE(result.shard_count == 2);
  REQUIRE(result.answered_shard_count == 2);
  REQUIRE(result.target.index == kTinyImages);
  REQUIRE(result.target.generation == kTinyGeneration);
  const TinyItem& first = Store().item(result.hits[0].item_id);
  REQUIRE(result.hits[0].caption == first.caption);
  REQUIRE(result.hits[0].uri == absl::StrCat("file:///", first.image_id, ".png"));
}

TEST_CASE("an uploaded image finds captions, reranked, as the referee does") {
  const TinyItem& item = Store().items[7];
  SearchRequest request = Request(ImageQuery{item.picture});
  request.top_k = 20;
  request.depth = 10;
  const SearchResult result = Ask(request);
  REQUIRE(result.target.index == kTinyCaptions);
  REQUIRE(result.rerank == RerankOutcome::kComplete);
  RequireRanking(result, RefereeSearch(Store(), /*images=*/false,
                                       {item.image_embedding, nullptr, &item.image_features}, 10));
}

TEST_CASE("an image among images and a text among texts are retrieval only") {
  SearchRequest image = Request(ImageQuery{Store().items[3].picture});
  image.index = kTinyImages;
  SearchResult result = Ask(image);
  REQUIRE(result.rerank == RerankOutcome::kNotApplicable);
  REQUIRE(result.degraded.empty());
  RequireRanking(result, RefereeSearch(Store(), true, {Store().items[3].image_embedding}, 0));
  REQUIRE(result.hits[0].item_id == Store().items[3].image_id);

  SearchRequest text = Request(TextQuery{Store().items[5].caption});
  text.index = kTinyCaptions;
  result = Ask(text);
  REQUIRE(result.rerank == RerankOutcome::kNotApplicable);
  RequireRanking(result, RefereeSearch(Store(), false, {Store().items[5].caption_embedding}, 0));
}

TEST_CASE("a filter lets through what has the tags, over all pages and with reranking") {
  const std::string red = Store().items[0].tags[0];
  for (const TagFilter& filter : {TagFilter{{red}, {}, {}}, TagFilter{{"tenth"}, {}, {red}},
                                  TagFilter{{}, {"tenth", red}, {}}}) {
    for (const int depth : {0, 3}) {
      std::vector<std::string> expected;
      for (const RefereeHit& hit :
           RefereeSearch(Store(), /*images=*/true, {EmbedText("a red fish")}, 0)) {
        for (const TinyItem& item : Store().items) {
          if (item.image_id == hit.item_id && Passes(filter, item.tags)) {
            expected.push_back(hit.item_id);
          }
        }
      }
      SearchRequest request = Request(TextQuery{"a red fish"});
      request.filter = filter;
      request.depth = depth;
      request.top_k = 4;
      std::vector<std::string> found;
      do {
        const SearchResult page = Ask(request);
        REQUIRE(page.matched_item_count == static_cast<int64_t>(expected.size()));
        REQUIRE(page.effort.exact);
        REQUIRE(page.degraded.empty());
        for (const Hit& hit : page.hits) {
          REQUIRE(Passes(filter, hit.tags));
          found.push_back(hit.item_id);
        }
        if (request.page_token.empty()) {
          REQUIRE(page.achieved_depth == std::min(depth, static_cast<int>(expected.size())));
        }
        request.page_token = page.next_page_token;
      } while (!request.page_token.empty());
      // Reranking orders the first anew.
      const auto reranked = std::min<size_t>(depth, expected.size());
      REQUIRE(found.size() == expected.size());
      std::sort(found.begin(), found.begin() + reranked);
      std::sort(expected.begin(), expected.begin() + reranked);
      REQUIRE(found == expected);
    }
  }
}

TEST_CASE("where nothing has the tags there are no hits, and nothing is missing") {
  SearchRequest request = Request(TextQuery{"a red fish"});
  request.filter.all = {"no such tag"};
  const SearchResult result = Ask(request);
  REQUIRE(result.hits.empty());
  REQUIRE(result.matched_item_count == 0);
  REQUIRE(result.degraded.empty());
}

TEST_CASE("a stored image finds its like, and not itself") {
  const TinyItem& item = Store().items[11];
  SearchRequest request = Request(ItemQuery{"", item.image_id});
  request.index = kTinyImages;
  request.top_k = kItems;
  const SearchResult result = Ask(request);
  REQUIRE(result.hits.size() == kItems - 1);
  RequireRanking(result, RefereeSearch(Store(), true, {item.image_embedding}, 0, item.image_id));
}

TEST_CASE("a stored image finds captions and a stored caption images, both reranked") {
  const TinyItem& item = Store().items[13];
  SearchRequest request = Request(ItemQuery{kTinyImages, item.image_id});
  request.index = kTinyCaptions;
  SearchResult result = Ask(request);
  REQUIRE(result.rerank == RerankOutcome::kComplete);
  RequireRanking(result, RefereeSearch(Store(), false,
                                       {item.image_embedding, nullptr, &item.image_features}, 20));

  request = Request(ItemQuery{kTinyCaptions, item.caption_id});
  request.index = kTinyImages;
  result = Ask(request);
  REQUIRE(result.rerank == RerankOutcome::kComplete);
  RequireRanking(
      result,
      RefereeSearch(Store(), true, {item.caption_embedding, &item.caption_features, nullptr}, 20));
}

TEST_CASE("an embedding finds what its text finds, without reranking") {
  const EmbeddingMatrix embedding = EmbedText("a blue house");
  EmbeddingQuery query;
  query.values.assign(embedding.values().begin(), embedding.values().end());
  query.space = Store().model->space();
  SearchRequest request = Request(query);
  request.index = kTinyImages;
  const SearchResult result = Ask(request);
  REQUIRE(result.rerank == RerankOutcome::kNotApplicable);
  RequireRanking(result, RefereeSearch(Store(), true, {embedding}, 0));
}

TEST_CASE("depth zero is retrieval, and combinations are those of the referee") {
  SearchRequest request = Request(TextQuery{"a green tree"});
  request.depth = 0;
  SearchResult result = Ask(request);
  REQUIRE(result.rerank == RerankOutcome::kNotRequested);
  RequireRanking(result, RefereeSearch(Store(), true, {EmbedText("a green tree")}, 0));

  request.depth = 10;
  request.combination = Combination{CombinationKind::kAddLambda, 0.5f};
  result = Ask(request);
  REQUIRE(result.combination.kind == CombinationKind::kAddLambda);
  for (const Hit& hit : result.hits) {
    REQUIRE(Close(hit.score, 0.5f * hit.retrieval_score + 0.5f * *hit.rerank_score));
  }
}

TEST_CASE("pairs are scored one by one, texts by images") {
  ScorePairsRequest request;
  request.texts = {TextQuery{"a red fish"}, ItemQuery{kTinyCaptions, Store().items[2].caption_id}};
  request.images = {ImageQuery{Store().items[2].picture},
                    ItemQuery{kTinyImages, Store().items[4].image_id}};
  const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Seconds(20));
  const auto result = TheFleet().search().ScorePairs(call, request);
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  REQUIRE(result->scores.size() == 4);
  const CrossEncoder& encoder = *Store().model->cross_encoder();
  const auto text = TextFeatures(*Store().model, "a red fish");
  const ItemFeatures* texts[] = {&*text, &Store().items[2].caption_features};
  const ItemFeatures* images[] = {&Store().items[2].image_features,
                                  &Store().items[4].image_features};
  for (int pair = 0; pair < 4; ++pair) {
    const auto raw =
        encoder.Score({ScoringPair{texts[pair / 2], images[pair % 2]}}, CallContext::Unbounded());
    REQUIRE(Close(result->scores[pair].raw_score, (*raw)[0]));
  }
}

TEST_CASE("items come back by id, the unknown left out") {
  GetItemsRequest request;
  request.index = kTinyImages;
  request.item_ids = {Store().items[9].image_id, "pictures/none", Store().items[0].image_id};
  request.want_embeddings = true;
  const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Seconds(20));
  const auto result = TheFleet().search().GetItems(call, request);
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  REQUIRE(result->items.size() == 3);
  REQUIRE(result->items[0]->item_id == Store().items[9].image_id);
  REQUIRE_FALSE(result->items[1].has_value());
  const auto stored = Store().items[0].image_embedding.values();
  REQUIRE(result->items[2]->embedding == std::vector<float>(stored.begin(), stored.end()));
}

TEST_CASE("texts that are none are refused") {
  RequireRefused(Request(TextQuery{""}), absl::StatusCode::kInvalidArgument);
  RequireRefused(Request(TextQuery{"  \t"}), absl::StatusCode::kInvalidArgument);
  RequireRefused(Request(TextQuery{std::string(100'000, 'a')}), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("pictures that are none are refused") {
  const std::string& picture = Store().items[0].picture;
  RequireRefused(Request(ImageQuery{"not a picture"}), absl::StatusCode::kInvalidArgument);
  RequireRefused(Request(ImageQuery{picture.substr(0, picture.size() / 2)}),
                 absl::StatusCode::kInvalidArgument);
  // 900 megapixels by its header, which is all that anybody should read of it.
  const std::string size("\0\0\x75\x30", 4);
  const std::string giant =
      absl::StrCat("\x89PNG\r\n\x1a\n",
                   PngChunk("IHDR", absl::StrCat(size, size, std::string("\x08\x02\0\0\0", 5))),
                   PngChunk("IDAT", "\x78\x9c\x03"), PngChunk("IEND", ""));
  RequireRefused(Request(ImageQuery{giant}), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("numbers out of range are refused") {
  for (const int top_k : {0, -1, 1001}) {
    SearchRequest request = Request(TextQuery{"a red fish"});
    request.top_k = top_k;
    RequireRefused(request, absl::StatusCode::kInvalidArgument);
  }
  for (const int depth : {-1, 101}) {
    SearchRequest request = Request(TextQuery{"a red fish"});
    request.depth = depth;
    RequireRefused(request, absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("embeddings that do not fit are refused") {
  SearchRequest request = Request(EmbeddingQuery{std::vector<float>(7), Store().model->space()});
  request.index = kTinyImages;
  RequireRefused(request, reasons::kEmbeddingDimensionMismatch);
  request.query = EmbeddingQuery{std::vector<float>(32, 0.1f), std::string(64, 'f')};
  RequireRefused(request, reasons::kEmbeddingSpaceMismatch);
  request.query = EmbeddingQuery{std::vector<float>(32, NAN), Store().model->space()};
  RequireRefused(request, absl::StatusCode::kInvalidArgument);
}

TEST_CASE("indexes and items that are not there are not found") {
  SearchRequest request = Request(TextQuery{"a red fish"});
  request.index = "nowhere";
  RequireRefused(request, reasons::kUnknownIndex);
  request = Request(ItemQuery{"", "pictures/none"});
  request.index = kTinyImages;
  RequireRefused(request, absl::StatusCode::kNotFound);
}

TEST_CASE("no time is DEADLINE_EXCEEDED at once, and little time is kept") {
  const SearchRequest request = Request(TextQuery{"a red fish"});
  REQUIRE(TheFleet().Search(request, absl::ZeroDuration()).status().code() ==
          absl::StatusCode::kDeadlineExceeded);
  // Whatever a millisecond is enough for, it is either an answer or that code.
  for (int i = 0; i < 20; ++i) {
    const auto result = TheFleet().Search(request, absl::Milliseconds(1));
    INFO(result.status().ToString());
    REQUIRE((result.ok() || result.status().code() == absl::StatusCode::kDeadlineExceeded));
  }
}

// Of the router's metrics page.
double Metric(Fleet& fleet, const std::string& series) {
  const std::string page = HttpGet(fleet.router().member->metrics_port(), "/metrics");
  const size_t at = page.find(absl::StrCat("\n", series, " "));
  REQUIRE(at != std::string::npos);
  return std::stod(page.substr(at + series.size() + 2));
}

TEST_CASE("first pages want candidates reranked, later ones go on with the list") {
  Fleet fleet(Store(), TestLaunch());
  fleet.AwaitWhole();
  const auto counted = [&fleet] {
    const std::string name = "sightline_rerank_candidates_total";
    return std::make_pair(Metric(fleet, name + "{which=\"asked\"}"),
                          Metric(fleet, name + "{which=\"scored\"}"));
  };
  const auto [asked, scored] = counted();
  SearchRequest request = Request(TextQuery{"a blue bird"});
  request.top_k = 2;
  request.depth = 4;
  const auto first = fleet.Search(request, absl::Seconds(20));
  REQUIRE(first.status() == absl::OkStatus());
  REQUIRE(counted() == std::make_pair(asked + 4, scored + 4));
  request.page_token = first->next_page_token;
  const auto second = fleet.Search(request, absl::Seconds(20));
  REQUIRE(second.status() == absl::OkStatus());
  REQUIRE(second->achieved_depth == 4);
  REQUIRE(counted() == std::make_pair(asked + 4, scored + 4));
}

TEST_CASE("a question that comes again is answered without the servers, and says so") {
  FleetOptions options;
  options.caches = true;
  Fleet fleet(Store(), TestLaunch(), options);
  fleet.AwaitWhole();
  const SearchRequest request = Request(TextQuery{"a blue bird"});
  const auto first = fleet.Search(request, absl::Seconds(20));
  REQUIRE(first.status() == absl::OkStatus());
  REQUIRE_FALSE(first->from_cache);
  fleet.encoder().member->Kill();
  fleet.reranker().member->Kill();
  const auto second = fleet.Search(request, absl::Seconds(20));
  REQUIRE(second.status() == absl::OkStatus());
  REQUIRE(second->from_cache);
  REQUIRE(second->degraded.empty());
  REQUIRE(second->hits.size() == first->hits.size());
  for (size_t i = 0; i < first->hits.size(); ++i) {
    REQUIRE(second->hits[i].item_id == first->hits[i].item_id);
    REQUIRE(second->hits[i].score == first->hits[i].score);
    REQUIRE(second->hits[i].caption == first->hits[i].caption);
  }
  const auto told =
      MakeGrpcAdminClient(fleet.router().address())
          ->GetStatus(CallContext(Clock::Real(), Clock::Real()->Now() + absl::Seconds(20)));
  REQUIRE(told.status() == absl::OkStatus());
  REQUIRE(told->caches.size() == 3);
  REQUIRE(told->caches[2].name == "results");
  REQUIRE(told->caches[2].hits >= 1);
  REQUIRE(told->caches[2].bytes > 0);
}

}  // namespace sightline
