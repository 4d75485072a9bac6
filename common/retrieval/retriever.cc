#include "common/retrieval/retriever.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/bundle/rerankers.h"
#include "common/retrieval/backend_calls.h"
#include "common/retrieval/hit_records.h"
#include "common/retrieval/page_token.h"
#include "common/retrieval/pinned_index.h"
#include "common/retrieval/request_checks.h"
#include "common/retrieval/rerank_block.h"
#include "common/retrieval/status_notes.h"

namespace sightline {
namespace {

// All that is decided before the first call.
struct SearchPlan {
  PinnedIndex target;
  absl::optional<PinnedIndex> item_index;  // where the query is stored, if it is an item
  const RerankerInfo* reranker = nullptr;  // of the target; null if it is retrieval only
  Modality query = Modality::kUnknown;
  bool rerank = false;        // is there to be reranking, and somebody to do it
  int depth = 0;              // to rerank
  int begin = 0, end = 0;     // the hits of the page, as places in the whole list
  StageDeadlines deadlines;   // as planned
  StageDeadlines unreranked;  // if reranking were given up
};

// The query as the later stages need it.
struct ResolvedQuery {
  EmbeddingMatrix embedding;  // one row
  RerankSide side;            // only if the plan is to rerank
};

bool AsksToRerank(const SearchRequest& request) {
  return request.depth.has_value() || request.combination.has_value() || !request.reranker.empty();
}

int DepthOf(const SearchRequest& request, const RetrieverOptions& options) {
  return request.depth.value_or(options.default_depth);
}

bool NeedsEncoder(const Query& query) {
  return !std::holds_alternative<EmbeddingQuery>(query) &&
         !std::holds_alternative<ItemQuery>(query);
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

// Decides on reranking and says in `result` what can be said of it by now.
void PlanRerank(const SearchRequest& request, const RetrieverOptions& options,
                const RerankerClient* reranker, SearchPlan& plan, SearchResult& result) {
  result.requested_depth = DepthOf(request, options);
  const DeclaredCombination declared =
      plan.reranker == nullptr ? DeclaredCombination() : plan.reranker->declared;
  result.combination = request.combination.value_or(declared.combination);
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
  // A page behind the block that is reranked is the same with a reranker and without.
  if (!can_rerank || plan.begin >= result.requested_depth) {
    result.rerank = RerankOutcome::kNotApplicable;
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

// That of the fingerprints of page tokens: without reranking by default, a list is that of
// depth 0, and not that of a request for the default depth.
int ListDepth(const SearchResult& result) {
  return result.rerank == RerankOutcome::kNotByDefault ? 0 : result.requested_depth;
}

// An uploaded query: embedding and, if it is to be reranked, features.
absl::StatusOr<ResolvedQuery> EncodeQuery(EncodableQuery query, const SearchPlan& plan,
                                          const Backends& backends, const std::string& reranker,
                                          const CallContext& call) {
  ResolvedQuery resolved;
  std::vector<EncodableQuery> queries = {query};
  // Without an embedding there is no answer at all, so encoding may use up what
  // reranking would have had.
  const auto features_for = plan.rerank ? absl::make_optional(reranker) : absl::nullopt;
  Encoding encoding(backends.encoder.get(), *plan.target.info, std::move(queries), features_for,
                    call, plan.unreranked.encode);
  ASSIGN_OR_RETURN(EncodeResponse response, encoding.Wait());
  resolved.embedding = std::move(response.embeddings);
  if (plan.rerank) resolved.side = SideOf(query, std::move(response.features.front()));
  return resolved;
}

// A stored item: its embedding, and where its features lie.
absl::StatusOr<ResolvedQuery> FetchQuery(const ItemQuery& query, const SearchPlan& plan,
                                         const CallContext& call) {
  const PinnedIndex& index = *plan.item_index;
  const int shard = ShardOf(query.item_id, index.info->shard_count);
  FetchCall fetch;
  fetch.client = index.shard(shard);
  fetch.request.target = index.ref();
  fetch.request.shard = shard;
  fetch.request.item_ids = {query.item_id};
  fetch.request.want_embeddings = true;
  Fetching fetching({std::move(fetch)}, call, plan.unreranked.encode);
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

absl::StatusOr<ResolvedQuery> Resolve(const SearchRequest& request, const SearchPlan& plan,
                                      const Backends& backends, const CallContext& call) {
  const Query& query = request.query;
  if (const auto* text = std::get_if<TextQuery>(&query)) {
    return EncodeQuery(*text, plan, backends, request.reranker, call);
  }
  if (const auto* image = std::get_if<ImageQuery>(&query)) {
    return EncodeQuery(*image, plan, backends, request.reranker, call);
  }
  if (const auto* regions = std::get_if<RegionsQuery>(&query)) {
    return EncodeQuery(*regions, plan, backends, request.reranker, call);
  }
  if (const auto* item = std::get_if<ItemQuery>(&query)) return FetchQuery(*item, plan, call);
  const std::vector<float>& values = std::get<EmbeddingQuery>(query).values;
  ResolvedQuery resolved;
  resolved.embedding = EmbeddingMatrix(1, static_cast<int>(values.size()));
  std::copy(values.begin(), values.end(), resolved.embedding.mutable_data());
  return resolved;
}

// The item that must not find itself, or null.
const std::string* ItemToLeaveOut(const Query& query, const SearchPlan& plan) {
  if (!plan.item_index.has_value() || plan.item_index->ref().index != plan.target.ref().index) {
    return nullptr;
  }
  return &std::get<ItemQuery>(query).item_id;
}

// Candidates for hits and for reranking, the query itself left out.
absl::StatusOr<std::vector<Candidate>> Retrieve(const SearchRequest& request,
                                                const SearchPlan& plan,
                                                const EmbeddingMatrix& embedding,
                                                absl::Time planned, const CallContext& call,
                                                SearchResult& result) {
  const std::string* const left_out = ItemToLeaveOut(request.query, plan);
  const int wanted = std::max(plan.end, plan.depth);
  const int asked = wanted + (left_out != nullptr ? 1 : 0);
  ASSIGN_OR_RETURN(ShardAnswers answers, SearchShards(plan.target, embedding, asked, planned,
                                                      plan.unreranked.search, call));
  result.shard_count = plan.target.info->shard_count;
  result.answered_shard_count = answers.answered;
  if (!answers.unreachable.empty()) result.degraded.push_back(DegradedReason::kShardsMissing);
  std::move(answers.failures.begin(), answers.failures.end(), std::back_inserter(result.failures));
  result.unreachable = std::move(answers.unreachable);

  std::vector<Candidate>& best = answers.best;
  if (left_out != nullptr) {
    best.erase(std::remove_if(best.begin(), best.end(),
                              [left_out](const Candidate& c) { return c.item_id == *left_out; }),
               best.end());
  }
  if (best.size() > static_cast<size_t>(wanted)) best.resize(wanted);
  return std::move(best);
}

// Scores the first `plan.depth` candidates as far as time allows.
std::vector<absl::optional<RerankScore>> Rerank(const SearchRequest& request,
                                                const SearchPlan& plan, ResolvedQuery query,
                                                absl::Span<const Candidate> candidates,
                                                const Backends& backends,
                                                const RetrieverOptions& options,
                                                const CallContext& call, SearchResult& result) {
  const BlockQuery block{plan.target.ref(), std::move(query.side), plan.query == Modality::kText,
                         request.reranker};
  BlockScores scores = ScoreBlock(*backends.reranker, block, candidates.subspan(0, plan.depth),
                                  options, call, plan.deadlines.rerank);
  result.rerank = scores.outcome;
  result.achieved_depth = scores.scored;
  std::move(scores.degraded.begin(), scores.degraded.end(), std::back_inserter(result.degraded));
  std::move(scores.failures.begin(), scores.failures.end(), std::back_inserter(result.failures));
  return std::move(scores.pairs);
}

// Cuts the page out of the whole list, and makes the token of the next one if there can be
// one.
void CutPage(const SearchRequest& request, const SearchPlan& plan, SearchResult& result) {
  const int64_t findable =
      plan.target.info->item_count - (ItemToLeaveOut(request.query, plan) != nullptr ? 1 : 0);
  std::vector<Hit>& hits = result.hits;
  const bool more = static_cast<int>(hits.size()) >= plan.end && plan.end < findable &&
                    plan.end < limits::kMaxHits;
  if (static_cast<int>(hits.size()) > plan.end) hits.resize(plan.end);
  hits.erase(hits.begin(), hits.begin() + std::min<ptrdiff_t>(plan.begin, hits.size()));
  if (!more) return;
  PageToken token;
  token.index = plan.target.ref().index;
  token.generation = plan.target.ref().generation;
  if (plan.item_index.has_value() && plan.item_index->ref().index != token.index) {
    token.item_generation = plan.item_index->ref().generation;
  }
  token.request = FingerprintOf(request, ListDepth(result));
  token.offset = plan.end;
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

absl::Status NoTime(const CallContext& call) {
  return absl::DeadlineExceededError(
      absl::StrCat("search: ", absl::FormatDuration(call.remaining()),
                   " is not enough to retrieve and to answer; allow more time"));
}

}  // namespace

absl::StatusOr<SearchResult> Retriever::Search(const SearchRequest& request,
                                               const CallContext& call) const {
  RETURN_IF_ERROR(call.Check("search"));
  RETURN_IF_ERROR(CheckSearchRequest(request, options_));
  StageTimer timer(call.clock());
  SearchResult result;

  absl::optional<PageToken> token;
  if (!request.page_token.empty()) {
    const int depth = DepthOf(request, options_);
    ASSIGN_OR_RETURN(token, TokenOf(request, depth, AsksToRerank(request) ? depth : 0));
  }
  absl::StatusOr<SearchPlan> pinned = PinAll(request, token, *backends_, *catalog_);
  if (token.has_value() && absl::IsFailedPrecondition(pinned.status())) {
    return PageTokenExpired(*token);
  }
  RETURN_IF_ERROR(pinned.status());
  SearchPlan& plan = *pinned;
  plan.begin = token.has_value() ? token->offset : 0;
  plan.end = std::min(plan.begin + request.top_k, limits::kMaxHits);
  RETURN_IF_ERROR(CheckAgainstTarget(request.query, plan));
  ASSIGN_OR_RETURN(plan.reranker, FindReranker(plan.target.info->rerankers, request.reranker));
  result.target = plan.target.ref();
  PlanRerank(request, options_, backends_->reranker.get(), plan, result);
  if (token.has_value() && token->depth != ListDepth(result)) return PageTokenMismatch();
  const bool encode = !std::holds_alternative<EmbeddingQuery>(request.query);
  plan.deadlines = budget_->Split(timer.start(), call.deadline(), {encode, plan.rerank});
  plan.unreranked = budget_->Split(timer.start(), call.deadline(), {encode, false});
  if (plan.unreranked.search <= timer.start()) return NoTime(call);

  absl::StatusOr<ResolvedQuery> query = Resolve(request, plan, *backends_, call);
  if (call.cancelled()) return call.Check("search");
  RETURN_IF_ERROR(query.status());
  result.times.encode = timer.Lap();

  // When encoding overran its share, what is left is split anew.
  const absl::Time now = call.clock()->Now();
  const absl::Time search_by =
      now <= plan.deadlines.encode
          ? plan.deadlines.search
          : budget_->Split(now, call.deadline(), {/*encode=*/false, plan.rerank}).search;
  ASSIGN_OR_RETURN(std::vector<Candidate> candidates,
                   Retrieve(request, plan, query->embedding, search_by, call, result));
  result.times.search = timer.Lap();

  std::vector<absl::optional<RerankScore>> scores;
  if (plan.rerank) {
    scores =
        Rerank(request, plan, *std::move(query), candidates, *backends_, options_, call, result);
  }
  result.hits = OrderHits(std::move(candidates), scores, result.combination);
  CutPage(request, plan, result);
  result.times.rerank = timer.Lap();

  if (request.want_records) FillRecords(plan.target, plan.deadlines.answer, call, result);
  if (call.cancelled()) return call.Check("search");
  result.times.fetch = timer.Lap();
  result.times.total = timer.Total();
  return result;
}

}  // namespace sightline
