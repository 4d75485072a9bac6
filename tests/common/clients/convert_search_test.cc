#include "common/clients/convert_search.h"

#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/error_details.h"
#include "common/clients/convert.h"
#include "common/clients/convert_admin.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

const GenerationRef kTarget{"pictures", "g1", std::string(64, '0')};
const std::string kLongName(1025, 'x');

bool Refused(const absl::Status& status, const std::string& field) {
  return status.code() == absl::StatusCode::kInvalidArgument &&
         GetFields(status) == std::vector<std::string>{field};
}

bool BadAnswer(const absl::Status& status, const std::string& text) {
  return status.code() == absl::StatusCode::kInternal &&
         absl::StrContains(std::string(status.message()), text);
}

v1::SearchItemsRequest Message(Query query) {
  SearchRequest request;
  request.query = std::move(query);
  v1::SearchItemsRequest message;
  ToProto(std::move(request), &message);
  return message;
}

v1::ScorePairsRequest PairsMessage() {
  ScorePairsRequest request;
  request.index = "pictures";
  request.texts = {TextQuery{"fish"}, ItemQuery{"captions", "c"}};
  request.images = {ImageQuery{"png"}, ItemQuery{"", "i"}, ImageQuery{"jpg"}};
  request.reranker = "fine";
  v1::ScorePairsRequest message;
  ToProto(request, &message);
  return message;
}

TEST_CASE("every kind of query comes back whole") {
  REQUIRE(std::get<TextQuery>(FromProto(Message(TextQuery{"fish"}))->query).text == "fish");
  REQUIRE(*std::get<ImageQuery>(FromProto(Message(ImageQuery{"png"}))->query).bytes == "png");
  ImageInput image;
  image.regions = {1, 2, {3, 4}, {}};
  REQUIRE(std::get<RegionsQuery>(FromProto(Message(RegionsQuery{image}))->query)
              .image->regions.features == std::vector<float>{3, 4});
  const auto embedding =
      std::get<EmbeddingQuery>(FromProto(Message(EmbeddingQuery{{1, 2, 3}, "space"}))->query);
  REQUIRE(embedding.values == std::vector<float>{1, 2, 3});
  REQUIRE(embedding.space == "space");
  const auto item = std::get<ItemQuery>(FromProto(Message(ItemQuery{"captions", "a#en-1"}))->query);
  REQUIRE(item.index == "captions");
  REQUIRE(item.item_id == "a#en-1");
}

TEST_CASE("what a search request leaves open stays open") {
  v1::SearchItemsRequest message;
  message.mutable_query()->set_text("fish");
  const auto read = FromProto(message);
  REQUIRE(read.ok());
  REQUIRE(read->index.empty());
  REQUIRE(read->top_k == 10);
  REQUIRE_FALSE(read->depth.has_value());
  REQUIRE_FALSE(read->combination.has_value());
  REQUIRE(read->want_records);
  REQUIRE(read->filter.empty());
  REQUIRE_FALSE(read->effort.recall.has_value());
  REQUIRE_FALSE(read->effort.effort.has_value());
  // An empty combination says no more than none.
  message.mutable_combination();
  REQUIRE_FALSE(FromProto(message)->combination.has_value());
}

TEST_CASE("what a search request says comes back") {
  SearchRequest request;
  request.index = "pictures";
  request.query = TextQuery{"fish"};
  request.top_k = 7;
  request.depth = 0;
  request.combination = Combination{CombinationKind::kAddLambda, 0.5f};
  request.want_records = false;
  request.page_token = "next";
  request.reranker = "fine";
  request.filter = {{"a", "b"}, {"c"}, {"d"}};
  request.effort.recall = 0.9f;
  v1::SearchItemsRequest message;
  ToProto(request, &message);
  const auto read = FromProto(message);
  REQUIRE(read.ok());
  REQUIRE(read->filter.any == request.filter.any);
  REQUIRE(read->filter.all == request.filter.all);
  REQUIRE(read->filter.none == request.filter.none);
  REQUIRE(read->effort.recall == 0.9f);
  REQUIRE_FALSE(read->effort.effort.has_value());
  request.effort = {absl::nullopt, 70};
  ToProto(request, &message);
  REQUIRE(FromProto(message)->effort.effort == 70);
  REQUIRE_FALSE(FromProto(message)->effort.recall.has_value());
  REQUIRE(read->page_token == "next");
  REQUIRE(read->reranker == "fine");
  REQUIRE(read->index == "pictures");
  REQUIRE(read->top_k == 7);
  REQUIRE(read->depth == 0);
  REQUIRE(read->combination->kind == CombinationKind::kAddLambda);
  REQUIRE_FALSE(read->want_records);
}

TEST_CASE("search requests that break a bound are refused by field") {
  struct Lie {
    const char* field;
    void (*tell)(v1::SearchItemsRequest*);
  };
  const Lie lies[] = {
      {"query", [](auto* r) { r->clear_query(); }},
      {"query.text", [](auto* r) { r->mutable_query()->set_text(""); }},
      {"query.text", [](auto* r) { r->mutable_query()->set_text(std::string(100000, 'x')); }},
      {"query.image", [](auto* r) { r->mutable_query()->set_image(""); }},
      {"query.item.item_id", [](auto* r) { r->mutable_query()->mutable_item(); }},
      {"query.embedding.vector.element_type",
       [](auto* r) { r->mutable_query()->mutable_embedding()->set_space("s"); }},
      {"query.embedding.vector.row_count",
       [](auto* r) {
         r->mutable_query()->mutable_embedding()->set_space("s");
         ToProto(EmbeddingMatrix(2, 2), r->mutable_query()->mutable_embedding()->mutable_vector());
       }},
      {"query.embedding.space",
       [](auto* r) {
         ToProto(EmbeddingMatrix(1, 2), r->mutable_query()->mutable_embedding()->mutable_vector());
       }},
      {"query.embedding.space",
       [](auto* r) {
         ToProto(EmbeddingMatrix(1, 2), r->mutable_query()->mutable_embedding()->mutable_vector());
         r->mutable_query()->mutable_embedding()->set_space(kLongName);
       }},
      {"query.item.index",
       [](auto* r) {
         r->mutable_query()->mutable_item()->set_item_id("a");
         r->mutable_query()->mutable_item()->set_index(kLongName);
       }},
      {"index", [](auto* r) { r->set_index(kLongName); }},
      {"page_token", [](auto* r) { r->set_page_token(kLongName); }},
      {"reranker", [](auto* r) { r->set_reranker(kLongName); }},
      {"top_k", [](auto* r) { r->set_top_k(0); }},
      {"top_k", [](auto* r) { r->set_top_k(-5); }},
      {"top_k", [](auto* r) { r->set_top_k(1001); }},
      {"rerank_depth", [](auto* r) { r->set_rerank_depth(-1); }},
      {"combination.lambda",
       [](auto* r) {
         r->mutable_combination()->set_kind(v1::Combination::ADD_LAMBDA);
         r->mutable_combination()->set_lambda(2);
       }},
      {"combination.kind",
       [](auto* r) { r->mutable_combination()->set_kind(static_cast<v1::Combination::Kind>(9)); }},
      {"view", [](auto* r) { r->set_view(static_cast<v1::ItemView>(9)); }},
      {"filter",
       [](auto* r) {
         for (int i = 0; i < 33; ++i) r->mutable_filter()->add_any("a");
         for (int i = 0; i < 32; ++i) r->mutable_filter()->add_none("a");
       }},
      {"filter.any[0]", [](auto* r) { r->mutable_filter()->add_any(""); }},
      {"filter.all[1]",
       [](auto* r) {
         r->mutable_filter()->add_all("a");
         r->mutable_filter()->add_all(kLongName);
       }},
      {"filter.none[0]", [](auto* r) { r->mutable_filter()->add_none(kLongName); }},
      {"effort.recall", [](auto* r) { r->mutable_effort()->set_recall(0); }},
      {"effort.recall", [](auto* r) { r->mutable_effort()->set_recall(1.001f); }},
      {"effort.recall", [](auto* r) { r->mutable_effort()->set_recall(NAN); }},
      {"effort.effort", [](auto* r) { r->mutable_effort()->set_effort(0); }},
      {"effort.effort", [](auto* r) { r->mutable_effort()->set_effort(1'000'001); }},
  };
  for (const Lie& lie : lies) {
    v1::SearchItemsRequest bad = Message(TextQuery{"fish"});
    lie.tell(&bad);
    INFO(lie.field);
    REQUIRE(Refused(FromProto(bad).status(), lie.field));
  }
}

SearchResult SomeResult() {
  SearchResult result;
  result.target = kTarget;
  Hit first{"a", HitStage::kReranked, 0.9f, 0.3f, 0.9f, 1, 5, "a fish", "/a", {"sea"}};
  Hit second{"b", HitStage::kRetrieved, 0.2f, 0.2f, absl::nullopt, 0, 6, "", "/b", {}};
  result.hits = {first, second};
  result.shard_count = 2;
  result.answered_shard_count = 1;
  result.unreachable = {"indexes/pictures/shards/1"};
  result.rerank = RerankOutcome::kPartial;
  result.requested_depth = 20;
  result.achieved_depth = 1;
  result.combination = {CombinationKind::kNormAddLambda, 0.5f};
  result.reranker = "fine";
  result.degraded = {DegradedReason::kShardsMissing,  DegradedReason::kDepthReduced,
                     DegradedReason::kRerankerFailed, DegradedReason::kRerankerLate,
                     DegradedReason::kRecordsMissing, DegradedReason::kRecallReduced};
  result.matched_item_count = 1234;
  result.effort = {false, 0.875f, 70, true};
  result.from_cache = true;
  result.times = {absl::Milliseconds(1), absl::Microseconds(2500), absl::Seconds(3),
                  absl::Nanoseconds(7), absl::Milliseconds(3010)};
  result.next_page_token = "next";
  return result;
}

TEST_CASE("search results come back whole") {
  v1::SearchItemsResponse message;
  ToProto(SomeResult(), /*with_items=*/true, &message);
  const auto read = FromProto(Message(TextQuery{"fish"}), message);
  REQUIRE(read.ok());
  const SearchResult expected = SomeResult();
  REQUIRE(read->hits.size() == 2);
  for (int i = 0; i < 2; ++i) {
    REQUIRE(read->hits[i].item_id == expected.hits[i].item_id);
    REQUIRE(read->hits[i].stage == expected.hits[i].stage);
    REQUIRE(read->hits[i].score == expected.hits[i].score);
    REQUIRE(read->hits[i].retrieval_score == expected.hits[i].retrieval_score);
    REQUIRE(read->hits[i].rerank_score == expected.hits[i].rerank_score);
    REQUIRE(read->hits[i].shard == expected.hits[i].shard);
    REQUIRE(read->hits[i].row == expected.hits[i].row);
    REQUIRE(read->hits[i].caption == expected.hits[i].caption);
    REQUIRE(read->hits[i].uri == expected.hits[i].uri);
    REQUIRE(read->hits[i].tags == expected.hits[i].tags);
  }
  REQUIRE(read->target.generation == "g1");
  REQUIRE(read->shard_count == 2);
  REQUIRE(read->answered_shard_count == 1);
  REQUIRE(read->unreachable == expected.unreachable);
  REQUIRE(read->matched_item_count == 1234);
  REQUIRE_FALSE(read->effort.exact);
  REQUIRE(read->effort.recall == 0.875f);
  REQUIRE(read->effort.effort == 70);
  REQUIRE(read->effort.reduced);
  REQUIRE(read->rerank == RerankOutcome::kPartial);
  REQUIRE(read->requested_depth == 20);
  REQUIRE(read->achieved_depth == 1);
  REQUIRE(read->combination.kind == CombinationKind::kNormAddLambda);
  REQUIRE(read->reranker == "fine");
  REQUIRE(read->degraded == expected.degraded);
  REQUIRE(read->times.encode == expected.times.encode);
  REQUIRE(read->times.search == expected.times.search);
  REQUIRE(read->times.rerank == expected.times.rerank);
  REQUIRE(read->times.fetch == expected.times.fetch);
  REQUIRE(read->times.total == expected.times.total);
  REQUIRE(read->from_cache == expected.from_cache);
  REQUIRE(read->next_page_token == "next");
}

TEST_CASE("a basic view has scores and no items") {
  v1::SearchItemsResponse message;
  ToProto(SomeResult(), /*with_items=*/false, &message);
  REQUIRE_FALSE(message.hits(0).has_item());
  REQUIRE(FromProto(Message(TextQuery{"fish"}), message)->hits[0].caption.empty());
}

TEST_CASE("search results that cannot be are internal errors") {
  v1::SearchItemsResponse good;
  ToProto(SomeResult(), true, &good);
  v1::SearchItemsRequest request = Message(TextQuery{"fish"});
  request.set_top_k(1);
  REQUIRE(BadAnswer(FromProto(request, good).status(), "hits has 2"));
  request.set_top_k(2);
  v1::SearchItemsResponse bad = good;
  bad.mutable_hits(1)->clear_stage();
  REQUIRE(BadAnswer(FromProto(request, bad).status(), "hits[1].stage"));
  bad = good;
  bad.clear_rerank();
  REQUIRE(BadAnswer(FromProto(request, bad).status(), "rerank.outcome"));
  bad = good;
  bad.clear_generation();
  REQUIRE(BadAnswer(FromProto(request, bad).status(), "generation"));
  bad = good;
  bad.mutable_coverage()->set_matched_item_count(-1);
  REQUIRE(BadAnswer(FromProto(request, bad).status(), "coverage.matched_item_count is -1"));
  bad = good;
  bad.mutable_effort()->set_recall(1.5f);
  REQUIRE(BadAnswer(FromProto(request, bad).status(), "effort.recall is 1.5"));
  bad = good;
  bad.mutable_effort()->set_effort(-1);
  REQUIRE(BadAnswer(FromProto(request, bad).status(), "effort.effort is -1"));
}

TEST_CASE("a router that knows no efforts has searched exactly, and none if there was a filter") {
  v1::SearchItemsResponse message;
  ToProto(SomeResult(), true, &message);
  message.clear_effort();
  message.mutable_coverage()->clear_matched_item_count();
  v1::SearchItemsRequest request = Message(TextQuery{"fish"});
  request.mutable_effort()->set_recall(0.5f);
  const auto read = FromProto(request, message);
  REQUIRE(read.ok());
  REQUIRE(read->effort.exact);
  REQUIRE(read->effort.recall == 1);
  request.mutable_filter()->add_any("a");
  REQUIRE(BadAnswer(FromProto(request, message).status(), "knows no filters"));
  message.clear_hits();  // nothing is there that a filter would not have let through
  REQUIRE(FromProto(request, message).ok());
}

TEST_CASE("a score that is not finite is an internal error and never a value") {
  const v1::SearchItemsRequest request = Message(TextQuery{"fish"});
  const v1::ScorePairsRequest pairs = PairsMessage();
  v1::SearchItemsResponse hits;
  ToProto(SomeResult(), true, &hits);
  v1::ScorePairsResponse scores;
  ScorePairsResult result;
  result.target = kTarget;
  result.scores.resize(6);
  ToProto(result, /*image_count=*/3, &scores);
  REQUIRE(FromProto(request, hits).ok());
  REQUIRE(FromProto(pairs, scores).ok());
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    const auto hit = [&](void (v1::Hit::*set)(float)) {
      v1::SearchItemsResponse answer = hits;
      (answer.mutable_hits(1)->*set)(bad);
      return FromProto(request, answer).status();
    };
    CHECK(BadAnswer(hit(&v1::Hit::set_score), "hits[1].score is not finite"));
    CHECK(BadAnswer(hit(&v1::Hit::set_retrieval_score), "hits[1].retrieval_score"));
    CHECK(BadAnswer(hit(&v1::Hit::set_rerank_score), "hits[1].rerank_score"));
    const auto pair = [&](void (v1::PairScore::*set)(float)) {
      v1::ScorePairsResponse answer = scores;
      (answer.mutable_scores(4)->*set)(bad);
      return FromProto(pairs, answer).status();
    };
    CHECK(BadAnswer(pair(&v1::PairScore::set_retrieval_score), "scores[4].retrieval_score"));
    CHECK(BadAnswer(pair(&v1::PairScore::set_rerank_score), "scores[4].rerank_score"));
    CHECK(BadAnswer(pair(&v1::PairScore::set_raw_score), "scores[4].raw_score"));
  }
}

TEST_CASE("every outcome of reranking comes back; one of a newer server by its depths") {
  v1::SearchItemsResponse message;
  const auto read = [&message] {
    const auto result = FromProto(Message(TextQuery{"fish"}), message);
    REQUIRE(result.ok());
    return result->rerank;
  };
  for (const RerankOutcome outcome :
       {RerankOutcome::kNotRequested, RerankOutcome::kNotApplicable, RerankOutcome::kNotByDefault,
        RerankOutcome::kComplete, RerankOutcome::kPartial, RerankOutcome::kFailed}) {
    SearchResult result = SomeResult();
    result.rerank = outcome;
    message.Clear();
    ToProto(std::move(result), true, &message);
    REQUIRE(read() == outcome);
  }
  v1::RerankSummary* const summary = message.mutable_rerank();
  summary->set_outcome(static_cast<v1::RerankSummary::Outcome>(99));
  summary->set_requested_depth(20);
  summary->set_achieved_depth(0);
  REQUIRE(read() == RerankOutcome::kNotApplicable);
  summary->set_achieved_depth(12);
  REQUIRE(read() == RerankOutcome::kPartial);
  summary->set_achieved_depth(20);
  REQUIRE(read() == RerankOutcome::kComplete);
}

TEST_CASE("a degraded reason of a newer server is left out") {
  v1::SearchItemsResponse message;
  ToProto(SomeResult(), true, &message);
  message.add_degraded_reasons(static_cast<v1::DegradedReason>(99));
  REQUIRE(FromProto(Message(TextQuery{"fish"}), message)->degraded.size() == 6);
}

TEST_CASE("pairs and their scores come back in row order") {
  const auto request = FromProto(PairsMessage());
  REQUIRE(request.ok());
  REQUIRE(request->reranker == "fine");
  REQUIRE(std::get<ItemQuery>(request->texts[1]).item_id == "c");
  REQUIRE(std::get<ItemQuery>(request->images[1]).item_id == "i");
  ScorePairsResult result;
  result.target = kTarget;
  result.reranker = "fine";
  for (int i = 0; i < 6; ++i) result.scores.push_back({0.1f * i, 0.2f * i, 0.3f * i});
  v1::ScorePairsResponse message;
  ToProto(result, /*image_count=*/3, &message);
  REQUIRE(message.scores(4).text_index() == 1);
  REQUIRE(message.scores(4).image_index() == 1);
  const auto read = FromProto(PairsMessage(), message);
  REQUIRE(read.ok());
  REQUIRE(read->reranker == "fine");
  REQUIRE(read->scores[5].raw_score == result.scores[5].raw_score);
  message.mutable_scores()->SwapElements(0, 1);
  REQUIRE(BadAnswer(FromProto(PairsMessage(), message).status(), "scores[0]"));
  message.mutable_scores()->RemoveLast();
  REQUIRE(BadAnswer(FromProto(PairsMessage(), message).status(), "scores has 5 entries, not 6"));
}

TEST_CASE("pairs that break a bound are refused by field") {
  v1::ScorePairsRequest bad = PairsMessage();
  bad.clear_texts();
  REQUIRE(Refused(FromProto(bad).status(), "texts"));
  bad = PairsMessage();
  bad.clear_images();
  REQUIRE(Refused(FromProto(bad).status(), "images"));
  bad = PairsMessage();
  while (bad.texts_size() < 400) *bad.add_texts() = bad.texts(0);
  REQUIRE(Refused(FromProto(bad).status(), "texts"));
  bad = PairsMessage();
  bad.add_images();
  REQUIRE(Refused(FromProto(bad).status(), "images[3]"));
  bad = PairsMessage();
  bad.set_index(kLongName);
  REQUIRE(Refused(FromProto(bad).status(), "index"));
  bad = PairsMessage();
  bad.set_reranker(kLongName);
  REQUIRE(Refused(FromProto(bad).status(), "reranker"));
}

TEST_CASE("items found are put where they were asked for") {
  GetItemsRequest request{"pictures", {"a", "missing", "b"}, false};
  v1::GetItemsRequest message;
  ToProto(request, &message);
  REQUIRE(FromProto(message)->item_ids == request.item_ids);
  GetItemsResult result;
  result.target = kTarget;
  result.items = {StoredItem{"a"}, absl::nullopt, StoredItem{"b"}};
  result.unreachable = {"indexes/pictures/shards/1"};
  v1::GetItemsResponse answer;
  ToProto(result, &answer);
  REQUIRE(answer.items_size() == 2);
  const auto read = FromProto(message, answer);
  REQUIRE(read.ok());
  REQUIRE(read->items[0]->item_id == "a");
  REQUIRE_FALSE(read->items[1].has_value());
  REQUIRE(read->items[2]->item_id == "b");
  REQUIRE(read->unreachable == result.unreachable);
  answer.mutable_items()->SwapElements(0, 1);
  REQUIRE(BadAnswer(FromProto(message, answer).status(), "items[1]"));

  message.clear_index();
  REQUIRE(Refused(FromProto(message).status(), "index"));
  message.set_index("pictures");
  while (message.item_ids_size() < 1001) message.add_item_ids("x");
  REQUIRE(Refused(FromProto(message).status(), "item_ids"));
}

ServerStatus SomeStatus() {
  ServerStatus status;
  status.service = "index_search";
  GenerationStatus ready;
  ready.state = GenerationState::kReady;
  ready.sequence = 3;
  ready.info.ref = kTarget;
  ready.info.content = IndexContent::kCaptions;
  ready.info.dimension = 256;
  ready.info.shard_count = 2;
  ready.info.item_count = 10273;
  ready.info.encoder_model = "e";
  ready.info.rerankers = {{"fast", "r", {{CombinationKind::kAddLambda, 0.25f}}},
                          {"fine", "s", {{CombinationKind::kNormAddLambda, 0.5f}, false}}};
  ready.held_shards = {1};
  GenerationStatus refused;
  refused.state = GenerationState::kRefused;
  refused.reason = "too large";
  refused.info.ref = {"pictures", "g2", ""};
  GenerationStatus loading;
  loading.state = GenerationState::kLoading;
  loading.info.ref = {"pictures", "g3", ""};
  loading.progress = LoadProgress{LoadStage::kVerifying, 30, 150, absl::Milliseconds(2500)};
  status.generations = {ready, refused, loading};
  status.models = {{"e", "oscar", "s", "small"}};
  status.backends = {{"reranker", "a:1", false, "down", {}},
                     {"index_search", "b:2", true, "", {"indexes/pictures/shards/0"}}};
  status.caches = {{"results", 1, 2, int64_t{1} << 40, 4, 5, 6}};
  status.devices = {{7,
                     "a GPU",
                     int64_t{1} << 37,
                     int64_t{1} << 36,
                     {9, 8, absl::Milliseconds(750), absl::Milliseconds(250), 6, 5}}};
  return status;
}

TEST_CASE("a server that knows one reranker and no names has it under default") {
  v1::GetStatusResponse message;
  ToProto(SomeStatus(), &message);
  REQUIRE(message.generations(0).reranker_model() == "r");  // for older readers
  REQUIRE(message.generations(0).combination().lambda() == 0.25f);
  message.mutable_generations(0)->clear_rerankers();
  const auto read = FromProto(message);
  REQUIRE(read.ok());
  const std::vector<RerankerInfo>& rerankers = read->generations[0].info.rerankers;
  REQUIRE(rerankers.size() == 1);
  REQUIRE(rerankers[0].name == "default");
  REQUIRE(rerankers[0].model == "r");
  REQUIRE(rerankers[0].declared.combination.lambda == 0.25f);
}

TEST_CASE("a reranker of a status that has no name is an internal error") {
  v1::GetStatusResponse message;
  ToProto(SomeStatus(), &message);
  message.mutable_generations(0)->mutable_rerankers(1)->set_name("No Name");
  REQUIRE(BadAnswer(FromProto(message).status(), "generations[0].rerankers[1].name"));
}

TEST_CASE("the status of a server comes back whole") {
  v1::GetStatusResponse message;
  ToProto(SomeStatus(), &message);
  const auto read = FromProto(message);
  REQUIRE(read.ok());
  REQUIRE(read->service == "index_search");
  REQUIRE(read->generations.size() == 3);
  const GenerationStatus& ready = read->generations[0];
  REQUIRE(ready.state == GenerationState::kReady);
  REQUIRE(ready.sequence == 3);
  REQUIRE(ready.info.ref.space == kTarget.space);
  REQUIRE(ready.info.content == IndexContent::kCaptions);
  REQUIRE(ready.info.dimension == 256);
  REQUIRE(ready.info.shard_count == 2);
  REQUIRE(ready.info.item_count == 10273);
  REQUIRE(ready.info.encoder_model == "e");
  REQUIRE(ready.info.rerankers.size() == 2);
  REQUIRE(ready.info.rerankers[0].name == "fast");
  REQUIRE(ready.info.rerankers[0].model == "r");
  REQUIRE(ready.info.rerankers[0].declared.combination.lambda == 0.25f);
  REQUIRE(ready.info.rerankers[1].name == "fine");
  REQUIRE(ready.info.rerankers[0].declared.by_default);
  REQUIRE(ready.info.rerankers[1].declared.combination.kind == CombinationKind::kNormAddLambda);
  REQUIRE_FALSE(ready.info.rerankers[1].declared.by_default);
  REQUIRE(ready.held_shards == std::vector<int>{1});
  REQUIRE(read->generations[1].state == GenerationState::kRefused);
  REQUIRE(read->generations[1].reason == "too large");
  REQUIRE_FALSE(read->generations[1].progress.has_value());
  const auto& progress = read->generations[2].progress;
  REQUIRE(progress.has_value());
  REQUIRE(progress->stage == LoadStage::kVerifying);
  REQUIRE(progress->read_bytes == 30);
  REQUIRE(progress->total_bytes == 150);
  REQUIRE(progress->elapsed == absl::Milliseconds(2500));
  REQUIRE(read->models[0].description == "small");
  REQUIRE(read->backends[0].error == "down");
  REQUIRE(read->caches.size() == 1);
  const CacheStatus& cache = read->caches[0];
  REQUIRE(cache.name == "results");
  REQUIRE(cache.entries == 1);
  REQUIRE(cache.bytes == 2);
  REQUIRE(cache.max_bytes == int64_t{1} << 40);
  REQUIRE(cache.hits == 4);
  REQUIRE(cache.shared == 5);
  REQUIRE(cache.misses == 6);
  REQUIRE(read->devices.size() == 1);
  const DeviceStatus& device = read->devices[0];
  REQUIRE(device.number == 7);
  REQUIRE(device.name == "a GPU");
  REQUIRE(device.memory_bytes == int64_t{1} << 37);
  REQUIRE(device.held_bytes == int64_t{1} << 36);
  REQUIRE(device.work.pass_count == 9);
  REQUIRE(device.work.recorded_count == 8);
  REQUIRE(device.work.took == absl::Milliseconds(750));
  REQUIRE(device.work.waited == absl::Milliseconds(250));
  REQUIRE(device.work.bytes_in == 6);
  REQUIRE(device.work.bytes_out == 5);
  REQUIRE_FALSE(read->backends[0].reachable);
  REQUIRE(read->backends[1].shards.size() == 1);
}

TEST_CASE("a progress that makes no sense is left out, and the answer stands") {
  v1::GetStatusResponse good;
  ToProto(SomeStatus(), &good);
  const auto check = [&](void (*spoil)(v1::LoadProgress*)) {
    v1::GetStatusResponse odd = good;
    spoil(odd.mutable_generations(2)->mutable_progress());
    const auto read = FromProto(odd);
    REQUIRE(read.ok());
    REQUIRE(read->generations.size() == 3);
    REQUIRE_FALSE(read->generations[2].progress.has_value());
  };
  check([](auto* progress) { progress->set_stage(static_cast<v1::LoadProgress::Stage>(99)); });
  check([](auto* progress) { progress->clear_stage(); });
  check([](auto* progress) { progress->set_read_bytes(151); });
  check([](auto* progress) { progress->set_read_bytes(-1); });
  check([](auto* progress) { progress->mutable_elapsed()->set_seconds(-3); });
  check([](auto* progress) { progress->mutable_elapsed()->set_seconds(INT64_MAX); });
}

TEST_CASE("a ready generation must say what a router needs, and nothing impossible") {
  v1::GetStatusResponse good;
  ToProto(SomeStatus(), &good);
  const auto check = [&](const char* field, void (*spoil)(v1::GenerationStatus*)) {
    v1::GetStatusResponse bad = good;
    spoil(bad.mutable_generations(0));
    INFO(field);
    REQUIRE(BadAnswer(FromProto(bad).status(), std::string("generations[0].") + field));
  };
  check("generation.index", [](auto* g) { g->mutable_generation()->set_index(".."); });
  check("item_kind", [](auto* g) { g->clear_item_kind(); });
  check("dimension", [](auto* g) { g->set_dimension(0); });
  check("shard_count", [](auto* g) { g->set_shard_count(0); });
  check("held_shards[0]", [](auto* g) { g->set_held_shards(0, 2); });
  check("rerankers[1].combination.kind",
        [](auto* g) { g->mutable_rerankers(1)->clear_combination(); });
  check("combination.kind", [](auto* g) {
    g->clear_rerankers();
    g->clear_combination();
  });
  // In a state that this reader has never heard of, it is nobody's business.
  v1::GetStatusResponse newer = good;
  newer.mutable_generations(0)->set_state(static_cast<v1::GenerationStatus::State>(9));
  REQUIRE(FromProto(newer)->generations.size() == good.generations_size() - 1);
}

}  // namespace
}  // namespace sightline
