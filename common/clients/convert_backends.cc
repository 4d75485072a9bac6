#include "common/clients/convert_backends.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/clients/convert.h"
#include "common/clients/convert_filter.h"
#include "common/clients/convert_internal.h"

namespace sightline {
namespace {

using convert_internal::AsBadAnswer;
using convert_internal::CheckCount;
using convert_internal::CheckDuration;
using convert_internal::CheckFinite;
using convert_internal::CheckIndex;
using convert_internal::CheckSameGeneration;
using convert_internal::DurationFromProto;
using convert_internal::DurationToProto;

absl::Status CheckPrecision(const std::string& precision) {
  if (precision.size() <= limits::kMaxPrecisionBytes) return absl::OkStatus();
  return InvalidField(FieldPath("precision"),
                      absl::StrCat("has ", precision.size(), " bytes; at most ",
                                   limits::kMaxPrecisionBytes, " are allowed"));
}

absl::StatusOr<EncodableQuery> QueryFromProto(v1::EncodableQuery query, const FieldPath& path) {
  switch (query.kind_case()) {
    case v1::EncodableQuery::kText:
      RETURN_IF_ERROR(CheckText(query.text(), FieldPath(path, "text")));
      return EncodableQuery(TextQuery{std::move(*query.mutable_text())});
    case v1::EncodableQuery::kImage:
      RETURN_IF_ERROR(CheckImage(query.image(), FieldPath(path, "image")));
      return EncodableQuery(ImageQuery{std::move(*query.mutable_image())});
    case v1::EncodableQuery::kRegions: {
      ASSIGN_OR_RETURN(ImageInput image,
                       FromProto(std::move(*query.mutable_regions()), FieldPath(path, "regions")));
      return EncodableQuery(RegionsQuery{std::move(image)});
    }
    case v1::EncodableQuery::KIND_NOT_SET:
      break;
  }
  return InvalidField(path, "must be a text, an image or regions");
}

absl::StatusOr<RerankSide> SideFromProto(v1::RerankInput side, bool is_text,
                                         const FieldPath& path) {
  switch (side.kind_case()) {
    case v1::RerankInput::kText:
      if (!is_text) return InvalidField(FieldPath(path, "text"), "stands where an image must");
      RETURN_IF_ERROR(CheckText(side.text(), FieldPath(path, "text")));
      return RerankSide(TextQuery{std::move(*side.mutable_text())});
    case v1::RerankInput::kFeatures: {
      ASSIGN_OR_RETURN(ItemFeatures features,
                       FromProto(std::move(*side.mutable_features()), FieldPath(path, "features")));
      return RerankSide(Shared<ItemFeatures>(std::move(features)));
    }
    case v1::RerankInput::kStored: {
      const FieldPath stored_path(path, "stored");
      StoredRef stored;
      ASSIGN_OR_RETURN(stored.target,
                       FromProto(side.stored().generation(), FieldPath(stored_path, "generation")));
      RETURN_IF_ERROR(CheckIndex(side.stored().shard(), FieldPath(stored_path, "shard")));
      RETURN_IF_ERROR(CheckIndex(side.stored().row(), FieldPath(stored_path, "row")));
      stored.shard = side.stored().shard();
      stored.row = side.stored().row();
      return RerankSide(std::move(stored));
    }
    case v1::RerankInput::KIND_NOT_SET:
      break;
  }
  return InvalidField(path, "must be a text, features or a stored item");
}

// One list, in the order that merging relies on.
absl::StatusOr<std::vector<Candidate>> NeighborsFromProto(const v1::NeighborList& list, int shard,
                                                          int top_k, const FieldPath& path) {
  RETURN_IF_ERROR(CheckCount(list.neighbors_size(), 0, top_k, FieldPath(path, "neighbors")));
  std::vector<Candidate> candidates;
  candidates.reserve(list.neighbors_size());
  for (int i = 0; i < list.neighbors_size(); ++i) {
    const v1::Neighbor& neighbor = list.neighbors(i);
    const FieldPath neighbor_path(path, "neighbors", i);
    RETURN_IF_ERROR(CheckItemId(neighbor.item_id(), FieldPath(neighbor_path, "item_id")));
    RETURN_IF_ERROR(CheckIndex(neighbor.row(), FieldPath(neighbor_path, "row")));
    RETURN_IF_ERROR(CheckFinite(neighbor.score(), FieldPath(neighbor_path, "score")));
    candidates.push_back({neighbor.item_id(), shard, neighbor.row(), neighbor.score()});
    if (i > 0 && !RanksBefore(candidates[i - 1], candidates[i])) {
      return InvalidField(neighbor_path, "does not rank after the one before it");
    }
  }
  return candidates;
}

// None, or one of each candidate.
absl::StatusOr<std::vector<StoredItem>> ItemsFromProto(const v1::NeighborList& list,
                                                       const std::vector<Candidate>& candidates,
                                                       const FieldPath& path) {
  std::vector<StoredItem> items;
  if (list.items_size() == 0) return items;
  const int count = static_cast<int>(candidates.size());
  RETURN_IF_ERROR(CheckCount(list.items_size(), count, count, FieldPath(path, "items")));
  items.reserve(candidates.size());
  for (int i = 0; i < count; ++i) {
    const FieldPath item_path(path, "items", i);
    ASSIGN_OR_RETURN(StoredItem item, FromProto(list.items(i), item_path));
    if (item.item_id != candidates[i].item_id || item.row != candidates[i].row) {
      return InvalidField(item_path, absl::StrCat("is \"", item.item_id, "\" in row ", item.row,
                                                  ", which is not the neighbor in this place"));
    }
    items.push_back(std::move(item));
  }
  return items;
}

PrecisionWish WishFromProto(const std::string& precision) {
  PrecisionWish wish;
  if (!precision.empty()) wish.precision = precision;
  return wish;
}

// A server that has never heard of names would use its only cross-encoder.
absl::Status CheckSameReranker(const std::string& asked, const std::string& answered) {
  if (asked.empty() || asked == answered) return absl::OkStatus();
  return InvalidField(FieldPath("reranker"),
                      absl::StrCat("is '", answered, "', asked was '", asked, "'"));
}

absl::StatusOr<EncodeResponse> ReadAnswer(const v1::EncodeQueriesRequest& request,
                                          const v1::EncodeQueriesResponse& response) {
  RETURN_IF_ERROR(CheckSameGeneration(request.generation(), response.generation()));
  EncodeResponse result;
  const int count = request.queries_size();
  ASSIGN_OR_RETURN(result.embeddings,
                   FromProto(response.embeddings(), {count, count, 0}, FieldPath("embeddings")));
  RETURN_IF_ERROR(CheckPrecision(response.precision()));
  result.precision = response.precision();
  if (!request.include_features()) return result;
  RETURN_IF_ERROR(CheckSameReranker(request.reranker(), response.reranker()));
  result.reranker = response.reranker();
  RETURN_IF_ERROR(CheckCount(response.features_size(), count, count, FieldPath("features")));
  for (int i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(ItemFeatures features,
                     FromProto(response.features(i), FieldPath("features", i)));
    result.features.push_back(std::move(features));
  }
  return result;
}

absl::StatusOr<SearchShardResponse> ReadAnswer(const v1::SearchIndexRequest& request,
                                               const v1::SearchIndexResponse& response) {
  RETURN_IF_ERROR(CheckSameGeneration(request.generation(), response.generation()));
  const int count = request.queries().row_count();
  RETURN_IF_ERROR(CheckCount(response.results_size(), count, count, FieldPath("results")));
  SearchShardResponse result;
  bool found = false;
  for (int i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(std::vector<Candidate> candidates,
                     NeighborsFromProto(response.results(i), request.shard(), request.top_k(),
                                        FieldPath("results", i)));
    found = found || !candidates.empty();
    if (request.include_items()) {
      ASSIGN_OR_RETURN(result.items.emplace_back(),
                       ItemsFromProto(response.results(i), candidates, FieldPath("results", i)));
    }
    result.candidates.push_back(std::move(candidates));
  }
  const FieldPath matched_path("matched_count");
  RETURN_IF_ERROR(CheckIndex(response.matched_count(), matched_path));
  RETURN_IF_ERROR(
      CheckFilterWasHeard(request.filter(), found, response.matched_count(), matched_path));
  result.matched_count = response.matched_count();
  if (response.has_effort()) {
    ASSIGN_OR_RETURN(result.effort, FromProto(response.effort(), FieldPath("effort")));
  }
  return result;
}

absl::StatusOr<FetchItemsResponse> ReadAnswer(const v1::FetchItemsRequest& request,
                                              const v1::FetchItemsResponse& response) {
  RETURN_IF_ERROR(CheckSameGeneration(request.generation(), response.generation()));
  const bool by_id = request.item_ids_size() > 0;
  const int count = by_id ? request.item_ids_size() : request.rows_size();
  RETURN_IF_ERROR(CheckCount(response.items_size(), count, count, FieldPath("items")));
  FetchItemsResponse result;
  result.items.resize(count);
  for (int i = 0; i < count; ++i) {
    if (!response.items(i).has_item()) continue;
    const FieldPath path("items", i);
    ASSIGN_OR_RETURN(StoredItem item, FromProto(response.items(i).item(), path));
    if (by_id ? item.item_id != request.item_ids(i) : item.row != request.rows(i)) {
      return InvalidField(path, absl::StrCat("is \"", item.item_id, "\" in row ", item.row,
                                             ", which was not asked for in this place"));
    }
    if (request.include_embeddings() && item.embedding.empty()) {
      return InvalidField(FieldPath(path, "embedding"), "is missing");
    }
    result.items[i] = std::move(item);
  }
  return result;
}

absl::StatusOr<RerankResponse> ReadAnswer(const v1::RerankCandidatesRequest& request,
                                          const v1::RerankCandidatesResponse& response) {
  RETURN_IF_ERROR(CheckSameGeneration(request.generation(), response.generation()));
  const int count = request.candidates_size();
  RETURN_IF_ERROR(CheckCount(response.scores_size(), count, count, FieldPath("scores")));
  RETURN_IF_ERROR(CheckSameReranker(request.reranker(), response.reranker()));
  RETURN_IF_ERROR(CheckPrecision(response.precision()));
  RerankResponse result;
  result.reranker = response.reranker();
  result.precision = response.precision();
  ASSIGN_OR_RETURN(result.score_kind, FromProto(response.score_kind(), FieldPath("score_kind")));
  result.scores.reserve(count);
  for (int i = 0; i < count; ++i) {
    RETURN_IF_ERROR(CheckFinite(response.scores(i).score(), FieldPath("scores", i)));
    result.scores.push_back(response.scores(i).score());
  }
  return result;
}

}  // namespace

// --- requests to the wire ---

void ToProto(SearchShardRequest request, v1::SearchIndexRequest* out) {
  ToProto(request.target, out->mutable_generation());
  out->set_shard(request.shard);
  ToProto(request.queries, out->mutable_queries());
  out->set_top_k(request.top_k);
  if (!request.filter.empty()) ToProto(std::move(request.filter), out->mutable_filter());
  if (IsGiven(request.effort)) ToProto(request.effort, out->mutable_effort());
  if (request.budget != absl::InfiniteDuration()) {
    DurationToProto(request.budget, out->mutable_budget());
  }
  out->set_include_items(request.want_items);
}

void ToProto(FetchItemsRequest request, v1::FetchItemsRequest* out) {
  ToProto(request.target, out->mutable_generation());
  out->set_shard(request.shard);
  for (std::string& item_id : request.item_ids) out->add_item_ids(std::move(item_id));
  *out->mutable_rows() = {request.rows.begin(), request.rows.end()};
  out->set_include_embeddings(request.want_embeddings);
}

// --- requests from the wire ---

absl::StatusOr<EncodeRequest> FromProto(v1::EncodeQueriesRequest request) {
  RETURN_IF_ERROR(CheckName(request.reranker(), FieldPath("reranker")));
  RETURN_IF_ERROR(CheckPrecision(request.precision()));
  EncodeRequest result;
  ASSIGN_OR_RETURN(result.target, FromProto(request.generation(), FieldPath("generation")));
  RETURN_IF_ERROR(CheckCount(request.queries_size(), 1, limits::kMaxQueries, FieldPath("queries")));
  result.queries.reserve(request.queries_size());
  for (int i = 0; i < request.queries_size(); ++i) {
    ASSIGN_OR_RETURN(EncodableQuery query, QueryFromProto(std::move(*request.mutable_queries(i)),
                                                          FieldPath("queries", i)));
    result.queries.push_back(std::move(query));
  }
  result.want_features = request.include_features();
  result.reranker = request.reranker();
  result.wish = WishFromProto(request.precision());
  return result;
}

absl::StatusOr<SearchShardRequest> FromProto(const v1::SearchIndexRequest& request) {
  SearchShardRequest result;
  ASSIGN_OR_RETURN(result.target, FromProto(request.generation(), FieldPath("generation")));
  RETURN_IF_ERROR(CheckIndex(request.shard(), FieldPath("shard")));
  result.shard = request.shard();
  ASSIGN_OR_RETURN(result.queries,
                   FromProto(request.queries(), {1, limits::kMaxQueries, 0}, FieldPath("queries")));
  if (request.top_k() < 1 || request.top_k() > limits::kMaxNeighbors) {
    return InvalidField(FieldPath("top_k"), absl::StrCat("is ", request.top_k(), ", must be 1 to ",
                                                         limits::kMaxNeighbors));
  }
  result.top_k = request.top_k();
  ASSIGN_OR_RETURN(result.filter, FromProto(request.filter(), FieldPath("filter")));
  ASSIGN_OR_RETURN(result.effort, FromProto(request.effort(), FieldPath("effort")));
  if (request.has_budget()) {
    RETURN_IF_ERROR(CheckDuration(request.budget(), FieldPath("budget")));
    result.budget = DurationFromProto(request.budget());
  }
  if (request.include_items()) {
    const FieldPath path("include_items");
    const int64_t most = int64_t{request.queries().row_count()} * request.top_k();
    if (most > limits::kMaxFetchedItems) {
      return InvalidField(path, absl::StrCat("is set with ", most, " neighbors; allowed are ",
                                             limits::kMaxFetchedItems));
    }
    result.want_items = true;
  }
  return result;
}

absl::StatusOr<FetchItemsRequest> FromProto(const v1::FetchItemsRequest& request) {
  FetchItemsRequest result;
  ASSIGN_OR_RETURN(result.target, FromProto(request.generation(), FieldPath("generation")));
  RETURN_IF_ERROR(CheckIndex(request.shard(), FieldPath("shard")));
  result.shard = request.shard();
  if ((request.item_ids_size() > 0) == (request.rows_size() > 0)) {
    return InvalidField(FieldPath("item_ids"), "or rows must be given, and not both");
  }
  RETURN_IF_ERROR(
      CheckCount(request.item_ids_size(), 0, limits::kMaxFetchedItems, FieldPath("item_ids")));
  RETURN_IF_ERROR(CheckCount(request.rows_size(), 0, limits::kMaxFetchedItems, FieldPath("rows")));
  for (int i = 0; i < request.item_ids_size(); ++i) {
    RETURN_IF_ERROR(CheckItemId(request.item_ids(i), FieldPath("item_ids", i)));
  }
  for (int i = 0; i < request.rows_size(); ++i) {
    RETURN_IF_ERROR(CheckIndex(request.rows(i), FieldPath("rows", i)));
  }
  result.item_ids.assign(request.item_ids().begin(), request.item_ids().end());
  result.rows.assign(request.rows().begin(), request.rows().end());
  result.want_embeddings = request.include_embeddings();
  return result;
}

absl::StatusOr<RerankRequest> FromProto(v1::RerankCandidatesRequest request) {
  RETURN_IF_ERROR(CheckName(request.reranker(), FieldPath("reranker")));
  RETURN_IF_ERROR(CheckPrecision(request.precision()));
  RerankRequest result;
  ASSIGN_OR_RETURN(result.target, FromProto(request.generation(), FieldPath("generation")));
  if (request.query_side() != v1::RerankCandidatesRequest::TEXT &&
      request.query_side() != v1::RerankCandidatesRequest::IMAGE) {
    return InvalidField(FieldPath("query_side"), "must be TEXT or IMAGE");
  }
  result.query_is_text = request.query_side() == v1::RerankCandidatesRequest::TEXT;
  ASSIGN_OR_RETURN(result.query, SideFromProto(std::move(*request.mutable_query()),
                                               result.query_is_text, FieldPath("query")));
  RETURN_IF_ERROR(
      CheckCount(request.candidates_size(), 1, limits::kMaxCandidates, FieldPath("candidates")));
  result.candidates.reserve(request.candidates_size());
  for (int i = 0; i < request.candidates_size(); ++i) {
    ASSIGN_OR_RETURN(RerankSide candidate,
                     SideFromProto(std::move(*request.mutable_candidates(i)), !result.query_is_text,
                                   FieldPath("candidates", i)));
    result.candidates.push_back(std::move(candidate));
  }
  result.reranker = request.reranker();
  result.wish = WishFromProto(request.precision());
  return result;
}

// --- answers to the wire ---

void ToProto(EncodeResponse response, const GenerationRef& target, v1::EncodeQueriesResponse* out) {
  ToProto(response.embeddings, out->mutable_embeddings());
  for (ItemFeatures& features : response.features) {
    ToProto(std::move(features), out->add_features());
  }
  out->set_reranker(std::move(response.reranker));
  out->set_precision(std::move(response.precision));
  ToProto(target, out->mutable_generation());
}

void ToProto(SearchShardResponse response, const GenerationRef& target,
             v1::SearchIndexResponse* out) {
  for (size_t query = 0; query < response.candidates.size(); ++query) {
    v1::NeighborList* list = out->add_results();
    if (!response.items.empty()) {
      for (StoredItem& item : response.items[query]) ToProto(std::move(item), list->add_items());
    }
    for (Candidate& candidate : response.candidates[query]) {
      v1::Neighbor* neighbor = list->add_neighbors();
      neighbor->set_item_id(std::move(candidate.item_id));
      neighbor->set_row(candidate.row);
      neighbor->set_score(candidate.score);
    }
  }
  out->set_matched_count(response.matched_count);
  if (TellsEffort(response.effort, response.matched_count)) {
    ToProto(response.effort, out->mutable_effort());
  }
  ToProto(target, out->mutable_generation());
}

void ToProto(FetchItemsResponse response, const GenerationRef& target,
             v1::FetchItemsResponse* out) {
  for (absl::optional<StoredItem>& item : response.items) {
    v1::FetchedItem* fetched = out->add_items();
    if (item.has_value()) ToProto(*std::move(item), fetched->mutable_item());
  }
  ToProto(target, out->mutable_generation());
}

void ToProto(const RerankResponse& response, const GenerationRef& target,
             v1::RerankCandidatesResponse* out) {
  for (float score : response.scores) out->add_scores()->set_score(score);
  out->set_score_kind(ToProto(response.score_kind));
  out->set_reranker(response.reranker);
  out->set_precision(response.precision);
  ToProto(target, out->mutable_generation());
}

// --- answers from the wire ---

absl::StatusOr<EncodeResponse> FromProto(const v1::EncodeQueriesRequest& request,
                                         const v1::EncodeQueriesResponse& response) {
  return AsBadAnswer(ReadAnswer(request, response));
}

absl::StatusOr<SearchShardResponse> FromProto(const v1::SearchIndexRequest& request,
                                              const v1::SearchIndexResponse& response) {
  return AsBadAnswer(ReadAnswer(request, response));
}

absl::StatusOr<FetchItemsResponse> FromProto(const v1::FetchItemsRequest& request,
                                             const v1::FetchItemsResponse& response) {
  return AsBadAnswer(ReadAnswer(request, response));
}

absl::StatusOr<RerankResponse> FromProto(const v1::RerankCandidatesRequest& request,
                                         const v1::RerankCandidatesResponse& response) {
  return AsBadAnswer(ReadAnswer(request, response));
}

}  // namespace sightline
