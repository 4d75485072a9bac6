#include "common/clients/convert_search.h"

#include <iterator>
#include <utility>

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
using convert_internal::CheckFinite;
using convert_internal::CheckIndex;
using convert_internal::DurationFromProto;
using convert_internal::DurationToProto;
using convert_internal::FromWire;
using convert_internal::Overloaded;
using convert_internal::ToWire;
using convert_internal::WireValue;

// --- queries ---

void ItemToProto(ItemQuery item, v1::ItemQuery* out) {
  out->set_index(std::move(item.index));
  out->set_item_id(std::move(item.item_id));
}

absl::StatusOr<ItemQuery> ItemFromProto(const v1::ItemQuery& item, const FieldPath& path) {
  RETURN_IF_ERROR(CheckName(item.index(), FieldPath(path, "index")));
  RETURN_IF_ERROR(CheckItemId(item.item_id(), FieldPath(path, "item_id")));
  return ItemQuery{item.index(), item.item_id()};
}

void EmbeddingToProto(EmbeddingQuery embedding, v1::EmbeddingQuery* out) {
  PackVectors(embedding.values, 1, static_cast<int>(embedding.values.size()), v1::FLOAT32,
              out->mutable_vector());
  out->set_space(std::move(embedding.space));
}

absl::StatusOr<EmbeddingQuery> EmbeddingFromProto(const v1::EmbeddingQuery& embedding,
                                                  const FieldPath& path) {
  ASSIGN_OR_RETURN(const EmbeddingMatrix vector,
                   FromProto(embedding.vector(), VectorBounds(), FieldPath(path, "vector")));
  if (embedding.space().empty()) {
    return InvalidField(FieldPath(path, "space"),
                        "is empty; name the embedding space that the vector lies in");
  }
  RETURN_IF_ERROR(CheckName(embedding.space(), FieldPath(path, "space")));
  const absl::Span<const float> values = vector.values();
  return EmbeddingQuery{{values.begin(), values.end()}, embedding.space()};
}

void QueryToProto(Query query, v1::Query* out) {
  std::visit(Overloaded{
                 [&](TextQuery& text) { out->set_text(std::move(text.text)); },
                 [&](ImageQuery& image) { out->set_image(*image.bytes); },
                 [&](RegionsQuery& regions) { ToProto(*regions.image, out->mutable_regions()); },
                 [&](EmbeddingQuery& embedding) {
                   EmbeddingToProto(std::move(embedding), out->mutable_embedding());
                 },
                 [&](ItemQuery& item) { ItemToProto(std::move(item), out->mutable_item()); },
             },
             query);
}

absl::StatusOr<Query> QueryFromProto(v1::Query query, const FieldPath& path) {
  switch (query.kind_case()) {
    case v1::Query::kText:
      RETURN_IF_ERROR(CheckText(query.text(), FieldPath(path, "text")));
      return Query(TextQuery{std::move(*query.mutable_text())});
    case v1::Query::kImage:
      RETURN_IF_ERROR(CheckImage(query.image(), FieldPath(path, "image")));
      return Query(ImageQuery{std::move(*query.mutable_image())});
    case v1::Query::kRegions: {
      ASSIGN_OR_RETURN(ImageInput image,
                       FromProto(std::move(*query.mutable_regions()), FieldPath(path, "regions")));
      return Query(RegionsQuery{std::move(image)});
    }
    case v1::Query::kEmbedding: {
      ASSIGN_OR_RETURN(EmbeddingQuery embedding,
                       EmbeddingFromProto(query.embedding(), FieldPath(path, "embedding")));
      return Query(std::move(embedding));
    }
    case v1::Query::kItem: {
      ASSIGN_OR_RETURN(ItemQuery item, ItemFromProto(query.item(), FieldPath(path, "item")));
      return Query(std::move(item));
    }
    case v1::Query::KIND_NOT_SET:
      break;
  }
  return InvalidField(path, "must be a text, an image, regions, an embedding or an item");
}

absl::StatusOr<PairText> PairFromProto(const v1::PairText& text, const FieldPath& path) {
  switch (text.kind_case()) {
    case v1::PairText::kText:
      RETURN_IF_ERROR(CheckText(text.text(), FieldPath(path, "text")));
      return PairText(TextQuery{text.text()});
    case v1::PairText::kItem: {
      ASSIGN_OR_RETURN(ItemQuery item, ItemFromProto(text.item(), FieldPath(path, "item")));
      return PairText(std::move(item));
    }
    case v1::PairText::KIND_NOT_SET:
      break;
  }
  return InvalidField(path, "must be a text or an item");
}

absl::StatusOr<PairImage> PairFromProto(v1::PairImage image, const FieldPath& path) {
  switch (image.kind_case()) {
    case v1::PairImage::kImage:
      RETURN_IF_ERROR(CheckImage(image.image(), FieldPath(path, "image")));
      return PairImage(ImageQuery{std::move(*image.mutable_image())});
    case v1::PairImage::kRegions: {
      ASSIGN_OR_RETURN(ImageInput regions,
                       FromProto(std::move(*image.mutable_regions()), FieldPath(path, "regions")));
      return PairImage(RegionsQuery{std::move(regions)});
    }
    case v1::PairImage::kItem: {
      ASSIGN_OR_RETURN(ItemQuery item, ItemFromProto(image.item(), FieldPath(path, "item")));
      return PairImage(std::move(item));
    }
    case v1::PairImage::KIND_NOT_SET:
      break;
  }
  return InvalidField(path, "must be an image, regions or an item");
}

// --- parts of answers ---

constexpr WireValue<RerankOutcome, v1::RerankSummary::Outcome> kOutcomes[] = {
    {RerankOutcome::kNotRequested, v1::RerankSummary::NOT_REQUESTED},
    {RerankOutcome::kNotApplicable, v1::RerankSummary::NOT_APPLICABLE},
    {RerankOutcome::kNotByDefault, v1::RerankSummary::NOT_BY_DEFAULT},
    {RerankOutcome::kComplete, v1::RerankSummary::COMPLETE},
    {RerankOutcome::kPartial, v1::RerankSummary::PARTIAL},
    {RerankOutcome::kFailed, v1::RerankSummary::FAILED},
};
static_assert(std::size(kOutcomes) == v1::RerankSummary::Outcome_MAX);

// An outcome that only a newer server knows is the known one that its depths amount to.
absl::StatusOr<RerankOutcome> OutcomeFromProto(const v1::RerankSummary& summary,
                                               const FieldPath& path) {
  if (summary.outcome() == v1::RerankSummary::OUTCOME_UNSPECIFIED) {
    return InvalidField(FieldPath(path, "outcome"), "is not given");
  }
  if (const auto known = FromWire(kOutcomes, summary.outcome())) return *known;
  if (summary.achieved_depth() <= 0) return RerankOutcome::kNotApplicable;
  return summary.achieved_depth() < summary.requested_depth() ? RerankOutcome::kPartial
                                                              : RerankOutcome::kComplete;
}

constexpr WireValue<DegradedReason, v1::DegradedReason> kDegradedReasons[] = {
    {DegradedReason::kShardsMissing, v1::SHARDS_MISSING},
    {DegradedReason::kDepthReduced, v1::DEPTH_REDUCED},
    {DegradedReason::kRerankerFailed, v1::RERANKER_FAILED},
    {DegradedReason::kRerankerLate, v1::RERANKER_LATE},
    {DegradedReason::kRecordsMissing, v1::RECORDS_MISSING},
    {DegradedReason::kRecallReduced, v1::RECALL_REDUCED},
};
static_assert(std::size(kDegradedReasons) == v1::DegradedReason_MAX);

void HitToProto(Hit hit, bool with_item, v1::Hit* out) {
  if (with_item) {
    v1::Item* item = out->mutable_item();
    item->set_item_id(hit.item_id);
    item->set_caption(std::move(hit.caption));
    item->set_uri(std::move(hit.uri));
    for (std::string& tag : hit.tags) item->add_tags(std::move(tag));
    item->set_shard(hit.shard);
    item->set_row(hit.row);
  }
  out->set_item_id(std::move(hit.item_id));
  out->set_score(hit.score);
  out->set_stage(hit.stage == HitStage::kReranked ? v1::Hit::RERANKED : v1::Hit::RETRIEVED);
  out->set_retrieval_score(hit.retrieval_score);
  if (hit.rerank_score.has_value()) out->set_rerank_score(*hit.rerank_score);
}

absl::StatusOr<Hit> HitFromProto(const v1::Hit& hit, const FieldPath& path) {
  RETURN_IF_ERROR(CheckItemId(hit.item_id(), FieldPath(path, "item_id")));
  if (hit.stage() != v1::Hit::RETRIEVED && hit.stage() != v1::Hit::RERANKED) {
    return InvalidField(FieldPath(path, "stage"),
                        absl::StrCat("is ", static_cast<int>(hit.stage()), ", which is unknown"));
  }
  RETURN_IF_ERROR(CheckFinite(hit.score(), FieldPath(path, "score")));
  RETURN_IF_ERROR(CheckFinite(hit.retrieval_score(), FieldPath(path, "retrieval_score")));
  RETURN_IF_ERROR(CheckFinite(hit.rerank_score(), FieldPath(path, "rerank_score")));
  Hit result;
  result.item_id = hit.item_id();
  result.stage = hit.stage() == v1::Hit::RERANKED ? HitStage::kReranked : HitStage::kRetrieved;
  result.score = hit.score();
  result.retrieval_score = hit.retrieval_score();
  if (hit.has_rerank_score()) result.rerank_score = hit.rerank_score();
  if (hit.has_item()) {
    ASSIGN_OR_RETURN(StoredItem item, FromProto(hit.item(), FieldPath(path, "item")));
    result.shard = item.shard;
    result.row = item.row;
    result.caption = std::move(item.caption);
    result.uri = std::move(item.uri);
    result.tags = std::move(item.tags);
  }
  return result;
}

void SummaryToProto(const SearchResult& result, v1::SearchItemsResponse* out) {
  v1::Coverage* coverage = out->mutable_coverage();
  coverage->set_shard_count(result.shard_count);
  coverage->set_answered_shard_count(result.answered_shard_count);
  *coverage->mutable_unreachable() = {result.unreachable.begin(), result.unreachable.end()};
  coverage->set_matched_item_count(result.matched_item_count);
  if (TellsEffort(result.effort, result.matched_item_count)) {
    ToProto(result.effort, out->mutable_effort());
  }
  v1::RerankSummary* rerank = out->mutable_rerank();
  rerank->set_outcome(ToWire(kOutcomes, result.rerank));
  rerank->set_requested_depth(result.requested_depth);
  rerank->set_achieved_depth(result.achieved_depth);
  ToProto(result.combination, rerank->mutable_combination());
  rerank->set_reranker(result.reranker);
  rerank->set_precision(result.reranker_precision);
  for (DegradedReason reason : result.degraded) {
    out->add_degraded_reasons(ToWire(kDegradedReasons, reason));
  }
  DurationToProto(result.times.encode, out->mutable_times()->mutable_encode());
  DurationToProto(result.times.search, out->mutable_times()->mutable_search());
  DurationToProto(result.times.rerank, out->mutable_times()->mutable_rerank());
  DurationToProto(result.times.fetch, out->mutable_times()->mutable_fetch());
  DurationToProto(result.times.total, out->mutable_times()->mutable_total());
}

absl::Status CoverageFromProto(const v1::SearchItemsRequest& request,
                               const v1::SearchItemsResponse& response, SearchResult* result) {
  const v1::Coverage& coverage = response.coverage();
  result->shard_count = coverage.shard_count();
  result->answered_shard_count = coverage.answered_shard_count();
  result->unreachable.assign(coverage.unreachable().begin(), coverage.unreachable().end());
  const FieldPath path("coverage");
  const FieldPath matched_path(path, "matched_item_count");
  RETURN_IF_ERROR(CheckIndex(coverage.matched_item_count(), matched_path));
  RETURN_IF_ERROR(CheckFilterWasHeard(request.filter(), response.hits_size() > 0,
                                      coverage.matched_item_count(), matched_path));
  result->matched_item_count = coverage.matched_item_count();
  if (response.has_effort()) {
    ASSIGN_OR_RETURN(result->effort, FromProto(response.effort(), FieldPath("effort")));
  }
  return absl::OkStatus();
}

absl::Status SummaryFromProto(const v1::SearchItemsResponse& response, SearchResult* result) {
  const v1::RerankSummary& rerank = response.rerank();
  const FieldPath rerank_path("rerank");
  ASSIGN_OR_RETURN(result->rerank, OutcomeFromProto(rerank, rerank_path));
  result->requested_depth = rerank.requested_depth();
  result->achieved_depth = rerank.achieved_depth();
  ASSIGN_OR_RETURN(result->combination,
                   FromProto(rerank.combination(), FieldPath(rerank_path, "combination")));
  result->reranker = rerank.reranker();
  result->reranker_precision = rerank.precision();
  for (int reason : response.degraded_reasons()) {
    if (auto known = FromWire(kDegradedReasons, reason)) result->degraded.push_back(*known);
  }
  const v1::StageTimes& times = response.times();
  result->times.encode = DurationFromProto(times.encode());
  result->times.search = DurationFromProto(times.search());
  result->times.rerank = DurationFromProto(times.rerank());
  result->times.fetch = DurationFromProto(times.fetch());
  result->times.total = DurationFromProto(times.total());
  return absl::OkStatus();
}

// --- answers, read in the light of their requests ---

absl::StatusOr<SearchResult> ReadAnswer(const v1::SearchItemsRequest& request,
                                        const v1::SearchItemsResponse& response) {
  SearchResult result;
  ASSIGN_OR_RETURN(result.target, FromProto(response.generation(), FieldPath("generation")));
  const int top_k = request.has_top_k() ? request.top_k() : SearchRequest().top_k;
  RETURN_IF_ERROR(CheckCount(response.hits_size(), 0, top_k, FieldPath("hits")));
  result.hits.reserve(response.hits_size());
  for (int i = 0; i < response.hits_size(); ++i) {
    ASSIGN_OR_RETURN(Hit hit, HitFromProto(response.hits(i), FieldPath("hits", i)));
    result.hits.push_back(std::move(hit));
  }
  RETURN_IF_ERROR(CoverageFromProto(request, response, &result));
  RETURN_IF_ERROR(SummaryFromProto(response, &result));
  result.next_page_token = response.next_page_token();
  result.from_cache = response.from_cache();
  result.encoder_precision = response.encoder_precision();
  return result;
}

absl::StatusOr<ScorePairsResult> ReadAnswer(const v1::ScorePairsRequest& request,
                                            const v1::ScorePairsResponse& response) {
  ScorePairsResult result;
  ASSIGN_OR_RETURN(result.target, FromProto(response.generation(), FieldPath("generation")));
  ASSIGN_OR_RETURN(result.score_kind, FromProto(response.score_kind(), FieldPath("score_kind")));
  result.reranker = response.reranker();
  const int64_t images = request.images_size();
  const int64_t count = request.texts_size() * images;
  RETURN_IF_ERROR(CheckCount(response.scores_size(), count, count, FieldPath("scores")));
  for (int i = 0; i < response.scores_size(); ++i) {
    const v1::PairScore& pair = response.scores(i);
    if (pair.text_index() != i / images || pair.image_index() != i % images) {
      return InvalidField(FieldPath("scores", i),
                          absl::StrCat("is of text ", pair.text_index(), " and image ",
                                       pair.image_index(), ", which is out of order"));
    }
    const FieldPath path("scores", i);
    RETURN_IF_ERROR(CheckFinite(pair.retrieval_score(), FieldPath(path, "retrieval_score")));
    RETURN_IF_ERROR(CheckFinite(pair.rerank_score(), FieldPath(path, "rerank_score")));
    RETURN_IF_ERROR(CheckFinite(pair.raw_score(), FieldPath(path, "raw_score")));
    result.scores.push_back({pair.retrieval_score(), pair.rerank_score(), pair.raw_score()});
  }
  return result;
}

absl::StatusOr<GetItemsResult> ReadAnswer(const v1::GetItemsRequest& request,
                                          const v1::GetItemsResponse& response) {
  GetItemsResult result;
  ASSIGN_OR_RETURN(result.target, FromProto(response.generation(), FieldPath("generation")));
  result.unreachable.assign(response.unreachable().begin(), response.unreachable().end());
  // The answer is the request with the unknown ids taken out, so one pass aligns them.
  int next = 0;
  for (const std::string& item_id : request.item_ids()) {
    result.items.emplace_back();
    if (next == response.items_size() || response.items(next).item_id() != item_id) continue;
    ASSIGN_OR_RETURN(result.items.back(),
                     FromProto(response.items(next), FieldPath("items", next)));
    ++next;
  }
  if (next < response.items_size()) {
    return InvalidField(FieldPath("items", next), absl::StrCat("\"", response.items(next).item_id(),
                                                               "\" was not asked for here"));
  }
  return result;
}

}  // namespace

// --- requests to the wire ---

void ToProto(SearchRequest request, v1::SearchItemsRequest* out) {
  out->set_index(std::move(request.index));
  QueryToProto(std::move(request.query), out->mutable_query());
  out->set_top_k(request.top_k);
  if (request.depth.has_value()) out->set_rerank_depth(*request.depth);
  if (request.combination.has_value()) {
    ToProto(*request.combination, out->mutable_combination());
  }
  out->set_view(request.want_records ? v1::ITEM_VIEW_FULL : v1::ITEM_VIEW_BASIC);
  out->set_page_token(std::move(request.page_token));
  out->set_reranker(std::move(request.reranker));
  if (!request.filter.empty()) ToProto(std::move(request.filter), out->mutable_filter());
  if (IsGiven(request.effort)) ToProto(request.effort, out->mutable_effort());
}

void ToProto(ScorePairsRequest request, v1::ScorePairsRequest* out) {
  out->set_index(std::move(request.index));
  for (PairText& text : request.texts) {
    v1::PairText* message = out->add_texts();
    std::visit(Overloaded{
                   [&](TextQuery& words) { message->set_text(std::move(words.text)); },
                   [&](ItemQuery& item) { ItemToProto(std::move(item), message->mutable_item()); },
               },
               text);
  }
  for (PairImage& image : request.images) {
    v1::PairImage* message = out->add_images();
    std::visit(
        Overloaded{
            [&](ImageQuery& encoded) { message->set_image(*encoded.bytes); },
            [&](RegionsQuery& regions) { ToProto(*regions.image, message->mutable_regions()); },
            [&](ItemQuery& item) { ItemToProto(std::move(item), message->mutable_item()); },
        },
        image);
  }
  out->set_reranker(std::move(request.reranker));
}

void ToProto(GetItemsRequest request, v1::GetItemsRequest* out) {
  out->set_index(std::move(request.index));
  for (std::string& item_id : request.item_ids) out->add_item_ids(std::move(item_id));
  out->set_include_embeddings(request.want_embeddings);
}

// --- requests from the wire ---

absl::StatusOr<SearchRequest> FromProto(v1::SearchItemsRequest request) {
  RETURN_IF_ERROR(CheckName(request.index(), FieldPath("index")));
  RETURN_IF_ERROR(CheckName(request.page_token(), FieldPath("page_token")));
  RETURN_IF_ERROR(CheckName(request.reranker(), FieldPath("reranker")));
  SearchRequest result;
  result.index = request.index();
  ASSIGN_OR_RETURN(result.query,
                   QueryFromProto(std::move(*request.mutable_query()), FieldPath("query")));
  if (request.has_top_k()) {
    if (request.top_k() < 1 || request.top_k() > limits::kMaxHits) {
      return InvalidField(FieldPath("top_k"), absl::StrCat("is ", request.top_k(),
                                                           ", must be 1 to ", limits::kMaxHits));
    }
    result.top_k = request.top_k();
  }
  if (request.has_rerank_depth()) {
    RETURN_IF_ERROR(CheckIndex(request.rerank_depth(), FieldPath("rerank_depth")));
    result.depth = request.rerank_depth();
  }
  // An empty message says the same as none: as the model's bundle declares.
  if (request.combination().kind() != v1::Combination::KIND_UNSPECIFIED) {
    ASSIGN_OR_RETURN(result.combination,
                     FromProto(request.combination(), FieldPath("combination")));
  }
  if (!v1::ItemView_IsValid(request.view())) {
    return InvalidField(FieldPath("view"), absl::StrCat("unknown view ", request.view()));
  }
  result.want_records = request.view() != v1::ITEM_VIEW_BASIC;
  result.page_token = request.page_token();
  result.reranker = request.reranker();
  ASSIGN_OR_RETURN(result.filter,
                   FromProto(std::move(*request.mutable_filter()), FieldPath("filter")));
  ASSIGN_OR_RETURN(result.effort, FromProto(request.effort(), FieldPath("effort")));
  return result;
}

absl::StatusOr<ScorePairsRequest> FromProto(v1::ScorePairsRequest request) {
  RETURN_IF_ERROR(CheckName(request.index(), FieldPath("index")));
  RETURN_IF_ERROR(CheckName(request.reranker(), FieldPath("reranker")));
  ScorePairsRequest result;
  result.index = request.index();
  RETURN_IF_ERROR(CheckCount(request.texts_size(), 1, limits::kMaxPairs, FieldPath("texts")));
  RETURN_IF_ERROR(CheckCount(request.images_size(), 1, limits::kMaxPairs, FieldPath("images")));
  if (request.texts_size() * request.images_size() > limits::kMaxPairs) {
    return InvalidField(FieldPath("texts"),
                        absl::StrCat("times images is ", request.texts_size(), " x ",
                                     request.images_size(), ", at most ", limits::kMaxPairs));
  }
  for (int i = 0; i < request.texts_size(); ++i) {
    ASSIGN_OR_RETURN(PairText text, PairFromProto(request.texts(i), FieldPath("texts", i)));
    result.texts.push_back(std::move(text));
  }
  for (int i = 0; i < request.images_size(); ++i) {
    ASSIGN_OR_RETURN(PairImage image,
                     PairFromProto(std::move(*request.mutable_images(i)), FieldPath("images", i)));
    result.images.push_back(std::move(image));
  }
  result.reranker = request.reranker();
  return result;
}

absl::StatusOr<GetItemsRequest> FromProto(const v1::GetItemsRequest& request) {
  if (request.index().empty()) {
    return InvalidField(FieldPath("index"), "is empty; name the index to look in");
  }
  RETURN_IF_ERROR(CheckName(request.index(), FieldPath("index")));
  RETURN_IF_ERROR(
      CheckCount(request.item_ids_size(), 1, limits::kMaxGetItems, FieldPath("item_ids")));
  for (int i = 0; i < request.item_ids_size(); ++i) {
    RETURN_IF_ERROR(CheckItemId(request.item_ids(i), FieldPath("item_ids", i)));
  }
  GetItemsRequest result;
  result.index = request.index();
  result.item_ids.assign(request.item_ids().begin(), request.item_ids().end());
  result.want_embeddings = request.include_embeddings();
  return result;
}

// --- answers to the wire ---

void ToProto(SearchResult result, bool with_items, v1::SearchItemsResponse* out) {
  ToProto(result.target, out->mutable_generation());
  SummaryToProto(result, out);
  out->set_next_page_token(std::move(result.next_page_token));
  out->set_from_cache(result.from_cache);
  out->set_encoder_precision(std::move(result.encoder_precision));
  for (Hit& hit : result.hits) HitToProto(std::move(hit), with_items, out->add_hits());
}

void ToProto(const ScorePairsResult& result, int image_count, v1::ScorePairsResponse* out) {
  for (size_t i = 0; i < result.scores.size(); ++i) {
    v1::PairScore* pair = out->add_scores();
    pair->set_text_index(static_cast<int>(i) / image_count);
    pair->set_image_index(static_cast<int>(i) % image_count);
    pair->set_rerank_score(result.scores[i].rerank_score);
    pair->set_raw_score(result.scores[i].raw_score);
    pair->set_retrieval_score(result.scores[i].retrieval_score);
  }
  ToProto(result.target, out->mutable_generation());
  out->set_score_kind(ToProto(result.score_kind));
  out->set_reranker(result.reranker);
}

void ToProto(GetItemsResult result, v1::GetItemsResponse* out) {
  for (absl::optional<StoredItem>& item : result.items) {
    if (item.has_value()) ToProto(*std::move(item), out->add_items());
  }
  ToProto(result.target, out->mutable_generation());
  *out->mutable_unreachable() = {result.unreachable.begin(), result.unreachable.end()};
}

// --- answers from the wire ---

absl::StatusOr<SearchResult> FromProto(const v1::SearchItemsRequest& request,
                                       const v1::SearchItemsResponse& response) {
  return AsBadAnswer(ReadAnswer(request, response));
}

absl::StatusOr<ScorePairsResult> FromProto(const v1::ScorePairsRequest& request,
                                           const v1::ScorePairsResponse& response) {
  return AsBadAnswer(ReadAnswer(request, response));
}

absl::StatusOr<GetItemsResult> FromProto(const v1::GetItemsRequest& request,
                                         const v1::GetItemsResponse& response) {
  return AsBadAnswer(ReadAnswer(request, response));
}

}  // namespace sightline
