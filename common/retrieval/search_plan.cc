#include "common/retrieval/search_plan.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/rerankers.h"

namespace sightline {
namespace {

bool AsksToRerank(const SearchRequest& request) {
  return request.depth.has_value() || request.combination.has_value() || !request.reranker.empty();
}

int DepthOf(const SearchRequest& request, const RetrieverOptions& options) {
  return request.depth.value_or(options.default_depth);
}

// Works out index, generation and modality; with a token, those of the page before.
absl::StatusOr<SearchPlan> PinAll(const SearchRequest& request,
                                  const absl::optional<PageToken>& token, const Backends& backends,
                                  const GenerationCatalog& catalog) {
  SearchPlan plan;
  const ItemQuery* const item = std::get_if<ItemQuery>(&request.query);
  if (std::holds_alternative<TextQuery>(request.query)) {
    plan.query = Modality::kText;
  } else if (NeedsEncoder(request.query)) {
    plan.query = Modality::kImage;
  } else if (item != nullptr && !item->index.empty()) {
    const bool elsewhere = token.has_value() && !token->item_generation.empty();
    const bool same = token.has_value() && token->index == item->index;
    const std::string generation = elsewhere ? token->item_generation
                                   : same    ? token->generation
                                             : std::string();
    ASSIGN_OR_RETURN(plan.item_index, PinIndex(backends, catalog, item->index, generation));
    plan.query = ModalityOf(plan.item_index->info->content);
  }
  std::string index, generation;
  if (token.has_value()) {
    index = token->index;
    generation = token->generation;
  } else {
    ASSIGN_OR_RETURN(index, ChooseIndex(catalog, request.index, plan.query));
  }
  // An index is pinned once, or a swap in between would give it two generations.
  if (plan.item_index.has_value() && plan.item_index->ref().index == index) {
    plan.target = *plan.item_index;
    return plan;
  }
  ASSIGN_OR_RETURN(plan.target, PinIndex(backends, catalog, index, generation));
  if (item != nullptr && item->index.empty()) {
    plan.item_index = plan.target;
    plan.query = ModalityOf(plan.target.info->content);
  }
  return plan;
}

// Queries that carry their space, and items of other indexes, must fit the target.
absl::Status CheckAgainstTarget(const Query& query, const SearchPlan& plan) {
  const GenerationInfo& target = *plan.target.info;
  if (plan.item_index.has_value()) {
    return CheckSpace(absl::StrCat("index '", plan.item_index->ref().index, "' of the query item"),
                      plan.item_index->ref().space, target);
  }
  const EmbeddingQuery* const embedding = std::get_if<EmbeddingQuery>(&query);
  if (embedding == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(CheckSpace("the embedding", embedding->space, target));
  if (embedding->values.size() == static_cast<size_t>(target.dimension)) return absl::OkStatus();
  absl::Status status = InvalidField(
      "query.embedding.vector", absl::StrCat("has ", embedding->values.size(), " numbers; index '",
                                             target.ref.index, "' has ", target.dimension));
  return WithReason(std::move(status), reasons::kEmbeddingDimensionMismatch,
                    {{"expectedDimension", absl::StrCat(target.dimension)},
                     {"actualDimension", absl::StrCat(embedding->values.size())}});
}

// Text against images or images against text, with a cross-encoder for it.
bool CanRerank(const SearchPlan& plan) {
  const GenerationInfo& target = *plan.target.info;
  return plan.query != Modality::kUnknown && plan.query != ModalityOf(target.content) &&
         plan.reranker != nullptr;
}

// The pages that `depth` candidates reach into.
int HeadOf(int top_k, int depth) {
  const int pages = std::max(1, (depth + top_k - 1) / top_k);
  return std::min(pages * top_k, limits::kMaxHits);
}

// Decides on reranking and says in the outline what can be said of it by now.
void PlanRerank(const SearchRequest& request, const RetrieverOptions& options,
                const RerankerClient* reranker, SearchPlan& plan) {
  SearchResult& result = plan.outline;
  result.requested_depth = DepthOf(request, options);
  const DeclaredCombination declared =
      plan.reranker == nullptr ? DeclaredCombination() : plan.reranker->declared;
  result.combination = request.combination.value_or(declared.combination);
  plan.head = HeadOf(request.top_k, 0);
  if (result.requested_depth == 0) {
    result.rerank = RerankOutcome::kNotRequested;
    return;
  }
  const bool can_rerank = CanRerank(plan);
  if (can_rerank && !declared.by_default && !AsksToRerank(request)) {
    result.rerank = RerankOutcome::kNotByDefault;
    result.reranker = plan.reranker->name;
    return;
  }
  if (can_rerank && reranker != nullptr) {
    plan.head = HeadOf(request.top_k, result.requested_depth);
  }
  // A page behind the block that is reranked is the same with a reranker and without; but one that
  // would not be behind it, had the first page reranked all that it was to, is less than asked.
  if (!can_rerank || plan.begin >= plan.reranked_before.value_or(result.requested_depth)) {
    result.rerank = RerankOutcome::kNotApplicable;
    if (can_rerank && plan.begin < result.requested_depth) {
      result.degraded.push_back(DegradedReason::kDepthReduced);
    }
    return;
  }
  result.reranker = plan.reranker->name;
  if (reranker == nullptr) {
    result.rerank = RerankOutcome::kFailed;
    result.degraded.push_back(DegradedReason::kRerankerFailed);
    result.failures.push_back(absl::UnavailableError("reranker: none is configured"));
  } else {
    plan.rerank = true;
    plan.depth = result.requested_depth;
  }
}

}  // namespace

absl::StatusOr<SearchPlan> PlanSearch(const SearchRequest& request, const RetrieverOptions& options,
                                      const Backends& backends, const GenerationCatalog& catalog) {
  absl::optional<PageToken> token;
  if (!request.page_token.empty()) {
    const int depth = DepthOf(request, options);
    ASSIGN_OR_RETURN(token, TokenOf(request, depth, AsksToRerank(request) ? depth : 0));
  }
  absl::StatusOr<SearchPlan> pinned = PinAll(request, token, backends, catalog);
  if (token.has_value() && absl::IsFailedPrecondition(pinned.status())) {
    return PageTokenExpired(*token);
  }
  RETURN_IF_ERROR(pinned.status());
  SearchPlan& plan = *pinned;
  if (token.has_value()) {
    plan.begin = token->offset;
    plan.reranked_before = token->reranked.value_or(token->depth);
    plan.precisions_before = token->precisions;
  }
  plan.end = std::min(plan.begin + request.top_k, limits::kMaxHits);
  RETURN_IF_ERROR(CheckAgainstTarget(request.query, plan));
  ASSIGN_OR_RETURN(plan.reranker, FindReranker(plan.target.info->rerankers, request.reranker));
  plan.outline.target = plan.target.ref();
  PlanRerank(request, options, backends.reranker.get(), plan);
  // Without reranking by default, a list is that of depth 0, and not that of a request for the
  // default depth.
  plan.list_depth =
      plan.outline.rerank == RerankOutcome::kNotByDefault ? 0 : plan.outline.requested_depth;
  if (token.has_value() && token->depth != plan.list_depth) return PageTokenMismatch();
  if (token.has_value() && plan.begin >= plan.head) plan.behind = token->behind;
  return pinned;
}

void WishPrecisions(const SearchRequest& request, const Backends& backends, absl::Time now,
                    SearchPlan& plan) {
  const GenerationInfo& target = *plan.target.info;
  const auto wish = [&](const ModelClient& client, const std::string& model,
                        const std::string Precisions::*before) {
    PrecisionWish wish;
    wish.model = model;
    wish.precision = plan.precisions_before.has_value()
                         ? absl::make_optional((*plan.precisions_before).*before)
                         : client.ChoosePrecision(target.ref, model, now);
    return wish;
  };
  if (NeedsEncoder(request.query) && backends.encoder != nullptr) {
    plan.encoder_wish = wish(*backends.encoder, target.encoder_model, &Precisions::encoder);
    plan.encoder_wish.or_any = !plan.precisions_before.has_value();
  }
  if (plan.rerank) {
    plan.reranker_wish = wish(*backends.reranker, plan.reranker->model, &Precisions::reranker);
  }
  plan.precision = {plan.encoder_wish.precision.value_or(""),
                    plan.reranker_wish.precision.value_or("")};
}

bool NeedsEncoder(const Query& query) {
  return !std::holds_alternative<EmbeddingQuery>(query) &&
         !std::holds_alternative<ItemQuery>(query);
}

const std::string* ItemToLeaveOut(const Query& query, const SearchPlan& plan) {
  if (!plan.item_index.has_value() || plan.item_index->ref().index != plan.target.ref().index) {
    return nullptr;
  }
  return &std::get<ItemQuery>(query).item_id;
}

}  // namespace sightline
