#include "common/clients/convert_backends.h"

#include <cmath>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/error_details.h"
#include "common/base/limits.h"
#include "common/clients/convert.h"
#include "tests/support/catch.h"
#include "tests/support/wire_message.h"

namespace sightline {
namespace {

const GenerationRef kTarget{"pictures", "g1", std::string(64, '0')};

bool Refused(const absl::Status& status, const std::string& field) {
  return status.code() == absl::StatusCode::kInvalidArgument &&
         GetFields(status) == std::vector<std::string>{field};
}

bool BadAnswer(const absl::Status& status, const std::string& text) {
  return status.code() == absl::StatusCode::kInternal &&
         absl::StrContains(std::string(status.message()), text);
}

ItemFeatures Ids() {
  ItemFeatures features;
  features.tensors.push_back({"ids", Dtype::kInt32, 1, 2, std::string(8, '\1')});
  return features;
}

v1::EncodeQueriesRequest EncodeMessage() {
  EncodeRequest request;
  request.target = kTarget;
  request.queries.push_back(TextQuery{"a red fish"});
  request.queries.push_back(ImageQuery{"\xFF\xD8 bytes"});
  ImageInput image;
  image.regions = {1, 2, {1, 2}, {}};
  request.queries.push_back(RegionsQuery{image});
  request.want_features = true;
  request.reranker = "fine";
  v1::EncodeQueriesRequest message;
  ToProto(request, &message);
  return message;
}

TEST_CASE("the name of a reranker that nobody could have given is refused") {
  v1::EncodeQueriesRequest encode = EncodeMessage();
  encode.set_reranker(std::string(1025, 'x'));
  REQUIRE(Refused(FromProto(encode).status(), "reranker"));
  v1::RerankCandidatesRequest rerank;
  rerank.set_reranker(std::string(1025, 'x'));
  REQUIRE(Refused(FromProto(rerank).status(), "reranker"));
}

TEST_CASE("requests to encode come back whole") {
  const auto read = FromProto(EncodeMessage());
  REQUIRE(read.ok());
  REQUIRE(read->target.index == "pictures");
  REQUIRE(read->want_features);
  REQUIRE(read->reranker == "fine");
  REQUIRE(read->queries.size() == 3);
  REQUIRE(std::get<TextQuery>(read->queries[0]).text == "a red fish");
  REQUIRE(*std::get<ImageQuery>(read->queries[1]).bytes == "\xFF\xD8 bytes");
  REQUIRE(std::get<RegionsQuery>(read->queries[2]).image->regions.features ==
          std::vector<float>{1, 2});
}

TEST_CASE("requests to encode that break a bound are refused by field") {
  v1::EncodeQueriesRequest bad = EncodeMessage();
  bad.clear_generation();
  REQUIRE(Refused(FromProto(bad).status(), "generation.index"));
  bad = EncodeMessage();
  bad.clear_queries();
  REQUIRE(Refused(FromProto(bad).status(), "queries"));
  bad = EncodeMessage();
  while (bad.queries_size() < 257) bad.add_queries()->set_text("x");
  REQUIRE(Refused(FromProto(bad).status(), "queries"));
  bad = EncodeMessage();
  bad.add_queries();
  REQUIRE(Refused(FromProto(bad).status(), "queries[3]"));
  bad = EncodeMessage();
  bad.mutable_queries(0)->set_text(std::string(limits::kMaxTextBytes + 1, 'x'));
  REQUIRE(Refused(FromProto(bad).status(), "queries[0].text"));
  bad = EncodeMessage();
  bad.mutable_queries(1)->set_image("");
  REQUIRE(Refused(FromProto(bad).status(), "queries[1].image"));
}

v1::EncodeQueriesResponse EncodeAnswer() {
  EncodeResponse response;
  response.embeddings = EmbeddingMatrix(3, 4);
  response.features = {Ids(), Ids(), Ids()};
  response.reranker = "fine";
  v1::EncodeQueriesResponse message;
  ToProto(response, kTarget, &message);
  return message;
}

TEST_CASE("answers of an encoder come back whole") {
  const auto read = FromProto(EncodeMessage(), EncodeAnswer());
  REQUIRE(read.ok());
  REQUIRE(read->embeddings.rows() == 3);
  REQUIRE(read->features.size() == 3);
  REQUIRE(read->reranker == "fine");
  REQUIRE(read->features[2].tensors[0].bytes == Ids().tensors[0].bytes);
}

TEST_CASE("answers of an encoder to something else are internal errors") {
  v1::EncodeQueriesResponse bad = EncodeAnswer();
  bad.clear_reranker();  // as a server answers that knows no names
  REQUIRE(BadAnswer(FromProto(EncodeMessage(), bad).status(), "asked was 'fine'"));
  bad = EncodeAnswer();
  bad.mutable_generation()->set_generation("g2");
  REQUIRE(BadAnswer(FromProto(EncodeMessage(), bad).status(), "is pictures/g2"));
  bad = EncodeAnswer();
  bad.mutable_generation()->set_space("other");
  REQUIRE(BadAnswer(FromProto(EncodeMessage(), bad).status(), "generation"));
  bad = EncodeAnswer();
  ToProto(EmbeddingMatrix(2, 4), bad.mutable_embeddings());
  REQUIRE(BadAnswer(FromProto(EncodeMessage(), bad).status(), "embeddings.row_count"));
  bad = EncodeAnswer();
  bad.mutable_features()->RemoveLast();
  REQUIRE(BadAnswer(FromProto(EncodeMessage(), bad).status(), "features has 2 entries, not 3"));
}

v1::SearchIndexRequest SearchMessage() {
  SearchShardRequest request;
  request.target = kTarget;
  request.shard = 1;
  request.queries = EmbeddingMatrix(2, 3);
  request.top_k = 2;
  request.filter = {{"a", "b"}, {"c"}, {"d"}};
  request.effort.effort = 70;
  request.budget = absl::Microseconds(12'500);
  v1::SearchIndexRequest message;
  ToProto(request, &message);
  return message;
}

TEST_CASE("requests to search come back whole, and bounds hold") {
  const auto read = FromProto(SearchMessage());
  REQUIRE(read.ok());
  REQUIRE(read->shard == 1);
  REQUIRE(read->top_k == 2);
  REQUIRE(read->queries.rows() == 2);
  REQUIRE(read->filter.any == std::vector<std::string>{"a", "b"});
  REQUIRE(read->filter.all == std::vector<std::string>{"c"});
  REQUIRE(read->filter.none == std::vector<std::string>{"d"});
  REQUIRE(read->effort.effort == 70);
  REQUIRE_FALSE(read->effort.recall.has_value());
  REQUIRE(read->budget == absl::Microseconds(12'500));
  for (int top_k : {0, -1, 1002}) {
    v1::SearchIndexRequest bad = SearchMessage();
    bad.set_top_k(top_k);
    REQUIRE(Refused(FromProto(bad).status(), "top_k"));
  }
  v1::SearchIndexRequest bad = SearchMessage();
  bad.set_shard(-1);
  REQUIRE(Refused(FromProto(bad).status(), "shard"));
  bad = SearchMessage();
  bad.clear_queries();
  REQUIRE(Refused(FromProto(bad).status(), "queries.element_type"));
  bad = SearchMessage();
  bad.mutable_filter()->set_all(0, "");
  REQUIRE(Refused(FromProto(bad).status(), "filter.all[0]"));
  bad = SearchMessage();
  bad.mutable_effort()->set_recall(-0.5f);
  REQUIRE(Refused(FromProto(bad).status(), "effort.recall"));
}

TEST_CASE("items are wanted of no more neighbors than can be fetched") {
  v1::SearchIndexRequest message = SearchMessage();
  REQUIRE_FALSE(FromProto(message)->want_items);
  message.set_include_items(true);
  REQUIRE(FromProto(message)->want_items);
  message.set_top_k(500);
  REQUIRE(FromProto(message).ok());
  message.set_top_k(501);  // of two queries
  REQUIRE(Refused(FromProto(message).status(), "include_items"));
}

TEST_CASE("a search has as long as it takes, or a time that is one") {
  v1::SearchIndexRequest message = SearchMessage();
  message.clear_budget();
  REQUIRE(FromProto(message)->budget == absl::InfiniteDuration());
  message.mutable_budget();
  REQUIRE(FromProto(message)->budget == absl::ZeroDuration());
  SearchShardRequest request;
  request.queries = EmbeddingMatrix(1, 1);
  v1::SearchIndexRequest without;
  ToProto(request, &without);
  REQUIRE_FALSE(without.has_budget());
  REQUIRE_FALSE(without.has_filter());
  REQUIRE_FALSE(without.has_effort());
  for (const auto& [seconds, nanos] :
       std::vector<std::pair<int64_t, int>>{{-1, 0}, {0, -1}, {0, 1'000'000'000}}) {
    v1::SearchIndexRequest bad = SearchMessage();
    bad.mutable_budget()->set_seconds(seconds);
    bad.mutable_budget()->set_nanos(nanos);
    REQUIRE(Refused(FromProto(bad).status(), "budget"));
  }
}

v1::SearchIndexResponse SearchAnswer() {
  SearchShardResponse response;
  response.candidates = {{{"a", 1, 10, 0.9f}, {"b", 1, 11, 0.9f}}, {{"c", 1, 12, -1.f}}};
  response.matched_count = 3;
  response.effort = {false, 0.875f, 70, true};
  v1::SearchIndexResponse message;
  ToProto(response, kTarget, &message);
  return message;
}

TEST_CASE("answers of a shard come back with the shard that was asked") {
  const auto read = FromProto(SearchMessage(), SearchAnswer());
  REQUIRE(read.ok());
  REQUIRE(read->candidates.size() == 2);
  REQUIRE(read->candidates[0][1].item_id == "b");
  REQUIRE(read->candidates[0][1].shard == 1);
  REQUIRE(read->candidates[0][1].row == 11);
  REQUIRE(read->candidates[1][0].score == -1.f);
  REQUIRE(read->matched_count == 3);
  REQUIRE_FALSE(read->effort.exact);
  REQUIRE(read->effort.recall == 0.875f);
  REQUIRE(read->effort.effort == 70);
  REQUIRE(read->effort.reduced);
}

TEST_CASE("items come with the neighbors that they are, or not at all") {
  v1::SearchIndexRequest request = SearchMessage();
  REQUIRE(FromProto(request, SearchAnswer())->items.empty());
  request.set_include_items(true);
  const auto without = FromProto(request, SearchAnswer());
  REQUIRE(without->items.size() == 2);
  REQUIRE(without->items[0].empty());

  SearchShardResponse response;
  response.candidates = {{{"a", 1, 10, 0.9f}, {"b", 1, 11, 0.9f}}, {{"c", 1, 12, -1.f}}};
  response.items = {{{"a", "caption", "/a", {"tag"}, 1, 10, {}}, {"b", "", "", {}, 1, 11, {}}}, {}};
  response.matched_count = 3;
  v1::SearchIndexResponse answer;
  ToProto(response, kTarget, &answer);
  const auto read = FromProto(request, answer);
  REQUIRE(read.ok());
  REQUIRE(read->items[0].size() == 2);
  REQUIRE(read->items[0][0].caption == "caption");
  REQUIRE(read->items[0][0].tags == std::vector<std::string>{"tag"});
  REQUIRE(read->items[0][1].row == 11);
  REQUIRE(read->items[1].empty());

  v1::SearchIndexResponse bad = answer;
  bad.mutable_results(0)->mutable_items()->RemoveLast();
  REQUIRE(BadAnswer(FromProto(request, bad).status(), "results[0].items has 1 entries, not 2"));
  bad = answer;
  bad.mutable_results(0)->mutable_items()->SwapElements(0, 1);
  REQUIRE(BadAnswer(FromProto(request, bad).status(), "is not the neighbor in this place"));
  bad = answer;
  bad.mutable_results(0)->mutable_items(1)->set_row(12);
  REQUIRE(BadAnswer(FromProto(request, bad).status(), "results[0].items[1]"));
}

TEST_CASE("a shard that says nothing of its effort has searched exactly, or knows no filters") {
  v1::SearchIndexResponse older = SearchAnswer();
  older.clear_effort();
  older.clear_matched_count();
  v1::SearchIndexRequest request = SearchMessage();
  REQUIRE(BadAnswer(FromProto(request, older).status(), "knows no filters"));
  request.clear_filter();
  const auto read = FromProto(request, older);
  REQUIRE(read.ok());
  REQUIRE(read->effort.exact);
  REQUIRE(read->effort.recall == 1);
  REQUIRE(read->matched_count == 0);
}

TEST_CASE("answers of a shard that merging could not trust are internal errors") {
  const auto check = [](const char* text, void (*spoil)(v1::SearchIndexResponse*)) {
    v1::SearchIndexResponse bad = SearchAnswer();
    spoil(&bad);
    INFO(text);
    REQUIRE(BadAnswer(FromProto(SearchMessage(), bad).status(), text));
  };
  check("results has 1 entries, not 2", [](auto* r) { r->mutable_results()->RemoveLast(); });
  check("results[0].neighbors has 3",
        [](auto* r) { *r->mutable_results(0)->add_neighbors() = r->results(1).neighbors(0); });
  check("results[0].neighbors[1] does not rank after",
        [](auto* r) { r->mutable_results(0)->mutable_neighbors()->SwapElements(0, 1); });
  check("results[0].neighbors[1] does not rank after",
        [](auto* r) { r->mutable_results(0)->mutable_neighbors(1)->set_item_id("a"); });
  check("results[1].neighbors[0].score",
        [](auto* r) { r->mutable_results(1)->mutable_neighbors(0)->set_score(std::nanf("")); });
  check("results[1].neighbors[0].row",
        [](auto* r) { r->mutable_results(1)->mutable_neighbors(0)->set_row(-1); });
  check("results[1].neighbors[0].item_id",
        [](auto* r) { r->mutable_results(1)->mutable_neighbors(0)->clear_item_id(); });
  check("generation", [](auto* r) { r->clear_generation(); });
  check("matched_count is -1", [](auto* r) { r->set_matched_count(-1); });
  check("effort.recall", [](auto* r) { r->mutable_effort()->set_recall(std::nanf("")); });
  check("effort.effort", [](auto* r) { r->mutable_effort()->set_effort(1'000'001); });
}

v1::FetchItemsRequest FetchMessage(bool by_id) {
  FetchItemsRequest request;
  request.target = kTarget;
  request.shard = 0;
  if (by_id) request.item_ids = {"a", "zz"};
  if (!by_id) request.rows = {4, 5};
  request.want_embeddings = true;
  v1::FetchItemsRequest message;
  ToProto(request, &message);
  return message;
}

v1::FetchItemsResponse FetchAnswer() {
  FetchItemsResponse response;
  response.items = {StoredItem{"a", "caption", "/a", {}, 0, 4, {1, 2}}, absl::nullopt};
  v1::FetchItemsResponse message;
  ToProto(response, kTarget, &message);
  return message;
}

TEST_CASE("requests to fetch name ids or rows, not both and not neither") {
  REQUIRE(FromProto(FetchMessage(true))->item_ids == std::vector<std::string>{"a", "zz"});
  REQUIRE(FromProto(FetchMessage(false))->rows == std::vector<int64_t>{4, 5});
  v1::FetchItemsRequest bad = FetchMessage(true);
  bad.add_rows(1);
  REQUIRE(Refused(FromProto(bad).status(), "item_ids"));
  bad = FetchMessage(true);
  bad.clear_item_ids();
  REQUIRE(Refused(FromProto(bad).status(), "item_ids"));
  bad = FetchMessage(false);
  bad.set_rows(1, -3);
  REQUIRE(Refused(FromProto(bad).status(), "rows[1]"));
  bad = FetchMessage(true);
  bad.set_item_ids(0, "");
  REQUIRE(Refused(FromProto(bad).status(), "item_ids[0]"));
}

TEST_CASE("fetched items must be the ones asked for, each in its place") {
  for (bool by_id : {true, false}) {
    const auto read = FromProto(FetchMessage(by_id), FetchAnswer());
    REQUIRE(read.ok());
    REQUIRE(read->items.size() == 2);
    REQUIRE(read->items[0]->caption == "caption");
    REQUIRE(read->items[0]->embedding == std::vector<float>{1, 2});
    REQUIRE_FALSE(read->items[1].has_value());
  }
  v1::FetchItemsResponse bad = FetchAnswer();
  bad.mutable_items()->SwapElements(0, 1);
  REQUIRE(BadAnswer(FromProto(FetchMessage(true), bad).status(), "items[1]"));
  REQUIRE(BadAnswer(FromProto(FetchMessage(false), bad).status(), "items[1]"));
  bad = FetchAnswer();
  bad.mutable_items(0)->mutable_item()->clear_embedding();
  REQUIRE(BadAnswer(FromProto(FetchMessage(true), bad).status(), "items[0].embedding"));
  bad = FetchAnswer();
  bad.add_items();
  REQUIRE(BadAnswer(FromProto(FetchMessage(true), bad).status(), "items has 3"));
}

v1::RerankCandidatesRequest RerankMessage() {
  RerankRequest request;
  request.target = kTarget;
  request.query_is_text = true;
  request.query = TextQuery{"a red fish"};
  request.candidates.push_back(StoredRef{kTarget, 2, 9});
  request.candidates.push_back(Ids());
  request.reranker = "fine";
  v1::RerankCandidatesRequest message;
  ToProto(request, &message);
  return message;
}

TEST_CASE("requests to rerank come back whole") {
  const auto read = FromProto(RerankMessage());
  REQUIRE(read.ok());
  REQUIRE(read->query_is_text);
  REQUIRE(read->reranker == "fine");
  REQUIRE(std::get<TextQuery>(read->query).text == "a red fish");
  REQUIRE(std::get<StoredRef>(read->candidates[0]).shard == 2);
  REQUIRE(std::get<StoredRef>(read->candidates[0]).row == 9);
  REQUIRE(std::get<Shared<ItemFeatures>>(read->candidates[1])->tensors[0].name == "ids");
}

TEST_CASE("requests to rerank that break a bound are refused by field") {
  v1::RerankCandidatesRequest bad = RerankMessage();
  bad.clear_query_side();
  REQUIRE(Refused(FromProto(bad).status(), "query_side"));
  bad = RerankMessage();
  bad.set_query_side(v1::RerankCandidatesRequest::IMAGE);
  REQUIRE(Refused(FromProto(bad).status(), "query.text"));
  bad = RerankMessage();
  bad.mutable_candidates(0)->set_text("a text among images");
  REQUIRE(Refused(FromProto(bad).status(), "candidates[0].text"));
  bad = RerankMessage();
  bad.mutable_candidates(0)->mutable_stored()->set_row(-1);
  REQUIRE(Refused(FromProto(bad).status(), "candidates[0].stored.row"));
  bad = RerankMessage();
  bad.mutable_candidates(0)->mutable_stored()->clear_generation();
  REQUIRE(Refused(FromProto(bad).status(), "candidates[0].stored.generation.index"));
  bad = RerankMessage();
  bad.clear_candidates();
  REQUIRE(Refused(FromProto(bad).status(), "candidates"));
  bad = RerankMessage();
  while (bad.candidates_size() < 1001) *bad.add_candidates() = bad.candidates(0);
  REQUIRE(Refused(FromProto(bad).status(), "candidates"));
}

TEST_CASE("answers of a reranker have one finite score for each candidate") {
  v1::RerankCandidatesResponse good;
  ToProto(RerankResponse{{0.25f, 0.75f}, ScoreKind::kLogitMatch, "fine"}, kTarget, &good);
  const auto read = FromProto(RerankMessage(), good);
  REQUIRE(read.ok());
  REQUIRE(read->scores == std::vector<float>{0.25f, 0.75f});
  REQUIRE(read->score_kind == ScoreKind::kLogitMatch);
  REQUIRE(read->reranker == "fine");
  v1::RerankCandidatesResponse bad = good;
  bad.set_reranker("default");
  REQUIRE(BadAnswer(FromProto(RerankMessage(), bad).status(), "asked was 'fine'"));
  v1::RerankCandidatesRequest of_the_default = RerankMessage();
  of_the_default.clear_reranker();
  REQUIRE(FromProto(of_the_default, bad)->reranker == "default");
  bad = good;
  bad.add_scores();
  REQUIRE(BadAnswer(FromProto(RerankMessage(), bad).status(), "scores has 3 entries, not 2"));
  bad = good;
  bad.mutable_scores(1)->set_score(INFINITY);
  REQUIRE(BadAnswer(FromProto(RerankMessage(), bad).status(), "scores[1]"));
  bad = good;
  bad.clear_score_kind();
  REQUIRE(BadAnswer(FromProto(RerankMessage(), bad).status(), "score_kind"));
}

}  // namespace
}  // namespace sightline
