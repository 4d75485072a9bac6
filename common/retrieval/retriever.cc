#include "common/retrieval/retriever.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/retrieval/backend_calls.h"
#include "common/retrieval/hit_records.h"
#include "common/retrieval/page_candidates.h"
#include "common/retrieval/page_token.h"
#include "common/retrieval/pinned_index.h"
#include "common/retrieval/request_checks.h"
#include "common/retrieval/rerank_block.h"
#include "common/retrieval/rerank_pace.h"
#include "common/retrieval/rerank_stage.h"
#include "common/retrieval/search_caches.h"
#include "common/retrieval/search_keys.h"
#include "common/retrieval/search_plan.h"
#include "common/retrieval/status_notes.h"

namespace sightline {
namespace {

// When the stages of a search have to end.
struct SearchDeadlines {
  StageDeadlines planned;
  StageDeadlines unreranked;  // if reranking were given up
};

// An uploaded query: embedding and, if it is to be reranked, features.
absl::StatusOr<ResolvedQuery> EncodeQuery(const EncodableQuery& query, const SearchPlan& plan,
                                          const Backends& backends, const std::string& reranker,
                                          absl::Time deadline, const CallContext& call) {
  ResolvedQuery resolved;
  std::vector<EncodableQuery> queries = {query};
  const auto features_for = plan.rerank ? absl::make_optional(reranker) : absl::nullopt;
  Encoding encoding(backends.encoder.get(), *plan.target.info, std::move(queries), features_for,
                    plan.encoder_wish, call, deadline);
  ASSIGN_OR_RETURN(EncodeResponse response, encoding.Wait());
  resolved.embedding = std::move(response.embeddings);
  resolved.precision = std::move(response.precision);
  if (plan.rerank) resolved.side = SideOf(query, std::move(response.features.front()));
  return resolved;
}

// A stored item: its embedding, and where its features lie.
absl::StatusOr<ResolvedQuery> FetchQuery(const ItemQuery& query, const SearchPlan& plan,
                                         absl::Time deadline, const CallContext& call) {
  const PinnedIndex& index = *plan.item_index;
  const int shard = ShardOf(query.item_id, index.info->shard_count);
  FetchCall fetch;
  fetch.client = index.shard(shard);
  fetch.request.target = index.ref();
  fetch.request.shard = shard;
  fetch.request.item_ids = {query.item_id};
  fetch.request.want_embeddings = true;
  Fetching fetching({std::move(fetch)}, call, deadline);
  ASSIGN_OR_RETURN(FetchItemsResponse response, std::move(fetching.Wait().front()));
  if (!response.items.front().has_value()) {
    return ItemNotFound(index.ref(), query.item_id);
  }
  const StoredItem& item = *response.items.front();
  if (item.embedding.size() != static_cast<size_t>(plan.target.info->dimension) ||
      !AllFinite(item.embedding)) {
    return absl::InternalError(absl::StrCat(ShardName(index.ref().index, shard),
                                            ": the embedding of '", item.item_id, "' has ",
                                            item.embedding.size(), " numbers, or bad ones"));
  }
  ResolvedQuery resolved;
  resolved.embedding = EmbeddingMatrix(1, plan.target.info->dimension);
  std::copy(item.embedding.begin(), item.embedding.end(), resolved.embedding.mutable_data());
  resolved.side = StoredRef{index.ref(), shard, item.row};
  return resolved;
}

// As EncodeQuery, or what it gave the last time.
absl::StatusOr<ResolvedQuery> EncodedQuery(const EncodableQuery& query, const SearchPlan& plan,
                                           const Backends& backends, const std::string& reranker,
                                           EmbeddingCache* kept, const std::string& key,
                                           absl::Time deadline, const CallContext& call) {
  if (key.empty()) return EncodeQuery(query, plan, backends, reranker, deadline, call);
  if (const auto found = kept->Find(key)) return *found;
  ASSIGN_OR_RETURN(ResolvedQuery resolved,
                   EncodeQuery(query, plan, backends, reranker, deadline, call));
  if (resolved.precision == plan.precision.encoder) kept->Keep(key, resolved);
  return resolved;
}

absl::optional<EncodableQuery> Encodable(const Query& query) {
  if (const auto* text = std::get_if<TextQuery>(&query)) return *text;
  if (const auto* image = std::get_if<ImageQuery>(&query)) return *image;
  if (const auto* regions = std::get_if<RegionsQuery>(&query)) return *regions;
  return absl::nullopt;
}

absl::StatusOr<ResolvedQuery> Resolve(const SearchRequest& request, const SearchPlan& plan,
                                      const Backends& backends, EmbeddingCache* kept,
                                      const std::string& key, absl::Time deadline,
                                      const CallContext& call) {
  const Query& query = request.query;
  if (const absl::optional<EncodableQuery> encodable = Encodable(query)) {
    return EncodedQuery(*encodable, plan, backends, request.reranker, kept, key, deadline, call);
  }
  if (const auto* item = std::get_if<ItemQuery>(&query)) {
    return FetchQuery(*item, plan, deadline, call);
  }
  const std::vector<float>& values = std::get<EmbeddingQuery>(query).values;
  ResolvedQuery resolved;
  resolved.embedding = EmbeddingMatrix(1, static_cast<int>(values.size()));
  std::copy(values.begin(), values.end(), resolved.embedding.mutable_data());
  return resolved;
}

// Cuts the page out of the list, whose first hit is in the place `of.first`, and makes the token of
// the next one if there can be one.
void CutPage(const SearchRequest& request, const SearchPlan& plan, const PageCandidates& of,
             int reranked, SearchResult& result) {
  std::vector<Hit>& hits = result.hits;
  const int end = plan.end - of.first;
  const bool more =
      static_cast<int>(hits.size()) >= end && plan.end < of.findable && plan.end < limits::kMaxHits;
  if (static_cast<int>(hits.size()) > end) hits.resize(end);
  hits.erase(hits.begin(), hits.begin() + std::min<ptrdiff_t>(plan.begin - of.first, hits.size()));
  if (!more) return;
  PageToken token;
  token.index = plan.target.ref().index;
  token.generation = plan.target.ref().generation;
  if (plan.item_index.has_value() && plan.item_index->ref().index != token.index) {
    token.item_generation = plan.item_index->ref().generation;
  }
  token.request = FingerprintOf(request, plan.list_depth);
  token.offset = plan.end;
  token.behind = of.next_behind;
  if (reranked < plan.list_depth) token.reranked = reranked;
  const Precisions computed = {result.encoder_precision, result.reranker_precision};
  const bool known = plan.encoder_wish.precision.has_value() ||
                     plan.reranker_wish.precision.has_value() || !computed.encoder.empty() ||
                     !computed.reranker.empty();
  token.precisions = plan.precisions_before.has_value() ? plan.precisions_before
                     : known                            ? absl::make_optional(computed)
                                                        : absl::nullopt;
  result.next_page_token = ToText(token);
}

// Measures one stage after the other.
class StageTimer {
 public:
  explicit StageTimer(Clock* clock) : clock_(clock), start_(clock->Now()), last_(start_) {}

  absl::Duration Lap() {
    const absl::Time now = clock_->Now();
    const absl::Duration lap = now - last_;
    last_ = now;
    return lap;
  }
  absl::Duration Total() { return clock_->Now() - start_; }
  absl::Time start() const { return start_; }

 private:
  Clock* const clock_;
  const absl::Time start_;
  absl::Time last_;
};

// Without those of what is not kept.
SearchKeys KeysToKeepBy(const SearchRequest& request, const SearchPlan& plan,
                        const SearchCaches* caches) {
  if (caches == nullptr) return {};
  KeptKeys kept;
  kept.answer = caches->results.enabled();
  kept.encoded = caches->embeddings.enabled() && NeedsEncoder(request.query);
  kept.scored = caches->scores.enabled() && plan.rerank;
  return KeysOf(request, plan, kept);
}

// Whether it was computed in what the keys name.
bool IsAsWished(const SearchRequest& request, const SearchPlan& plan, const SearchResult& result) {
  const bool encoded = NeedsEncoder(request.query);
  const bool scored = result.achieved_depth > 0;
  return (!encoded || result.encoder_precision == plan.precision.encoder) &&
         (!scored || result.reranker_precision == plan.precision.reranker);
}

absl::Status NoTime(const CallContext& call) {
  return absl::DeadlineExceededError(
      absl::StrCat("search: ", absl::FormatDuration(call.remaining()),
                   " is not enough to retrieve and to answer; allow more time"));
}

}  // namespace

Retriever::Retriever(const Backends* backends, const GenerationCatalog* catalog,
                     const BudgetPolicy* budget, RetrieverOptions options, SearchCaches* caches)
    : backends_(backends),
      catalog_(catalog),
      budget_(budget),
      options_(options),
      caches_(caches),
      paces_(std::make_shared<RerankPaces>()) {}

absl::StatusOr<SearchResult> Retriever::Search(const SearchRequest& request,
                                               const CallContext& call) const {
  RETURN_IF_ERROR(call.Check("search"));
  RETURN_IF_ERROR(CheckSearchRequest(request, options_));
  ASSIGN_OR_RETURN(SearchPlan plan, PlanSearch(request, options_, *backends_, *catalog_));
  WishPrecisions(request, *backends_, call.clock()->Now(), plan);
  const bool keep_results = caches_ != nullptr && caches_->results.enabled();
  const SearchKeys keys = KeysToKeepBy(request, plan, caches_);
  const auto compute = [&](const CallContext& own) { return Compute(request, plan, keys, own); };
  if (!keep_results) return compute(call);
  const absl::Time due = budget_->Split(call.clock()->Now(), call.deadline(), {}).answer;
  return caches_->results.Get(keys.answer, call, due, compute, [&](const SearchResult& result) {
    return IsAsWished(request, plan, result);
  });
}

absl::StatusOr<SearchResult> Retriever::Compute(const SearchRequest& request,
                                                const SearchPlan& plan, const SearchKeys& keys,
                                                const CallContext& call) const {
  StageTimer timer(call.clock());
  SearchResult result = plan.outline;
  const bool encode = !std::holds_alternative<EmbeddingQuery>(request.query);
  const SearchDeadlines deadlines = {
      budget_->Split(timer.start(), call.deadline(), {encode, plan.rerank}),
      budget_->Split(timer.start(), call.deadline(), {encode, false})};
  if (deadlines.unreranked.search <= timer.start()) return NoTime(call);

  // Without an embedding there is no answer at all, so encoding may use up what reranking would
  // have had.
  EmbeddingCache* const kept = caches_ == nullptr ? nullptr : &caches_->embeddings;
  absl::StatusOr<ResolvedQuery> query =
      Resolve(request, plan, *backends_, kept, keys.encoded, deadlines.unreranked.encode, call);
  if (call.cancelled()) return call.Check("search");
  if (EndsPages(plan, query.status())) return PageTokenExpired(plan.target.ref(), query.status());
  RETURN_IF_ERROR(query.status());
  result.encoder_precision = query->precision;
  result.times.encode = timer.Lap();

  // When encoding overran its share, what is left is split anew.
  const absl::Time now = call.clock()->Now();
  const absl::Time search_by =
      now <= deadlines.planned.encode
          ? deadlines.planned.search
          : budget_->Split(now, call.deadline(), {/*encode=*/false, plan.rerank}).search;
  ASSIGN_OR_RETURN(PageCandidates found,
                   FindPageCandidates(request, plan, query->embedding, options_.lower_effort,
                                      search_by, deadlines.unreranked.search, call, result));
  result.times.search = timer.Lap();

  std::vector<absl::optional<RerankScore>> scores;
  int reranked = plan.reranked_before.value_or(plan.list_depth);
  if (plan.rerank) {
    const RerankMeans means = {*backends_->reranker,
                               options_,
                               *paces_,
                               keys.scored.empty() ? nullptr : &caches_->scores,
                               keys.scored,
                               deadlines.planned.rerank};
    ASSIGN_OR_RETURN(scores, Rerank(request, plan, *std::move(query), found.best, means, call,
                                    result, reranked));
  }
  result.hits = OrderHits(std::move(found.best), scores, result.combination);
  CutPage(request, plan, found, reranked, result);
  result.times.rerank = timer.Lap();

  if (request.want_records) {
    FillRecords(plan.target, std::move(found.items), deadlines.planned.answer, call, result);
  }
  if (call.cancelled()) return call.Check("search");
  result.times.fetch = timer.Lap();
  result.times.total = timer.Total();
  return result;
}

}  // namespace sightline
