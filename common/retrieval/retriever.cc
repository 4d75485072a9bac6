#include "common/retrieval/retriever.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/index/vector_index.h"
#include "common/retrieval/backend_calls.h"
#include "common/retrieval/pinned_index.h"
#include "common/retrieval/request_checks.h"
#include "common/retrieval/rerank_block.h"
#include "common/retrieval/status_notes.h"

namespace sightline {
namespace {

// A stored item that is left out of its own hits costs one candidate more.
static_assert(kMaxHits + 1 <= kMaxTopK, "shards must give one more than callers may ask");

// All that is decided before the first call.
struct SearchPlan {
  PinnedIndex target;
  absl::optional<PinnedIndex> item_index;  // where the query is stored, if it is an item
  Modality query = Modality::kUnknown;
  bool rerank = false;        // is there to be reranking, and somebody to do it
  int depth = 0;              // to rerank
  StageDeadlines deadlines;   // as planned
  StageDeadlines unreranked;  // if reranking were given up
};

// The query as the later stages need it.
struct ResolvedQuery {
  EmbeddingMatrix embedding;  // one row
  RerankSide side;            // only if the plan is to rerank
};

bool NeedsEncoder(const Query& query) {
  return !std::holds_alternative<EmbeddingQuery>(query) &&
         !std::holds_alternative<ItemQuery>(query);
}

// Works out index, generation and modality.
absl::StatusOr<SearchPlan> PinAll(const SearchRequest& request, const Backends& backends,
                                  const GenerationCatalog& catalog) {
  SearchPlan plan;
  const ItemQuery* const item = std::get_if<ItemQuery>(&request.query);
  if (std::holds_alternative<TextQuery>(request.query)) {
    plan.query = Modality::kText;
  } else if (NeedsEncoder(request.query)) {
    plan.query = Modality::kImage;
  } else if (item != nullptr && !item->index.empty()) {
    ASSIGN_OR_RETURN(plan.item_index, PinIndex(backends, catalog, item->index));
    plan.query = ModalityOf(plan.item_index->info->content);
  }
  ASSIGN_OR_RETURN(const std::string index, ChooseIndex(catalog, request.index, plan.query));
  // An index is pinned once, or a swap in between would give it two generations.
  if (plan.item_index.has_value() && plan.item_index->ref().index == index) {
    plan.target = *plan.item_index;
    return plan;
  }
  ASSIGN_OR_RETURN(plan.target, PinIndex(backends, catalog, index));
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
  absl::Status status = BadField("query.embedding.vector",
                                 absl::StrCat("has ", embedding->values.size(), " numbers; index '",
                                              target.ref.index, "' has ", target.dimension));
  return WithReason(std::move(status), "EMBEDDING_DIMENSION_MISMATCH",
                    {{"expectedDimension", absl::StrCat(target.dimension)},
                     {"actualDimension", absl::StrCat(embedding->values.size())}});
}

// Text against images or images against text, with a cross-encoder for it.
bool CanRerank(const SearchPlan& plan) {
  const GenerationInfo& target = *plan.target.info;
  return plan.query != Modality::kUnknown && plan.query != ModalityOf(target.content) &&
         !target.reranker_model.empty();
}

// Decides on reranking and says in `result` what can be said of it by now.
void PlanRerank(const SearchRequest& request, const RetrieverOptions& options,
                const RerankerClient* reranker, SearchPlan& plan, SearchResult& result) {
  result.requested_depth = request.depth.value_or(options.default_depth);
  result.combination = request.combination.value_or(plan.target.info->combination);
  if (result.requested_depth == 0) {
    result.rerank = RerankOutcome::kNotRequested;
  } else if (!CanRerank(plan)) {
    result.rerank = RerankOutcome::kNotApplicable;
  } else if (reranker == nullptr) {
    result.rerank = RerankOutcome::kFailed;
    result.degraded.push_back(DegradedReason::kRerankerFailed);
    result.failures.push_back(absl::UnavailableError("reranker: none is configured"));
  } else {
    plan.rerank = true;
    plan.depth = result.requested_depth;
  }
}

// An uploaded query: embedding and, for an image that is to be reranked, features.
absl::StatusOr<ResolvedQuery> EncodeQuery(EncodableQuery query, const SearchPlan& plan,
                                          const Backends& backends, const CallContext& call) {
  ResolvedQuery resolved;
  const TextQuery* const text = std::get_if<TextQuery>(&query);
  if (text != nullptr) resolved.side = *text;
  const bool want_features = plan.rerank && text == nullptr;
  std::vector<EncodableQuery> queries;
  queries.push_back(std::move(query));
  // Without an embedding there is no answer at all, so encoding may use up what
  // reranking would have had.
  Encoding encoding(backends.encoder.get(), *plan.target.info, std::move(queries), want_features,
                    call, plan.unreranked.encode);
  ASSIGN_OR_RETURN(EncodeResponse response, encoding.Wait());
  resolved.embedding = std::move(response.embeddings);
  if (want_features) resolved.side = std::move(response.features.front());
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

absl::StatusOr<ResolvedQuery> Resolve(const Query& query, const SearchPlan& plan,
                                      const Backends& backends, const CallContext& call) {
  if (const auto* text = std::get_if<TextQuery>(&query)) {
    return EncodeQuery(*text, plan, backends, call);
  }
  if (const auto* image = std::get_if<ImageQuery>(&query)) {
    return EncodeQuery(*image, plan, backends, call);
  }
  if (const auto* regions = std::get_if<RegionsQuery>(&query)) {
    return EncodeQuery(*regions, plan, backends, call);
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
  const int wanted = std::max(request.top_k, plan.depth);
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
std::vector<absl::optional<float>> Rerank(const SearchPlan& plan, ResolvedQuery query,
                                          absl::Span<const Candidate> candidates,
                                          const Backends& backends, const RetrieverOptions& options,
                                          const CallContext& call, SearchResult& result) {
  const BlockQuery block{plan.target.ref(), std::move(query.side), plan.query == Modality::kText};
  BlockScores scores = ScoreBlock(*backends.reranker, block, candidates.subspan(0, plan.depth),
                                  options, call, plan.deadlines.rerank);
  result.rerank = scores.outcome;
  result.achieved_depth = scores.scored;
  std::move(scores.degraded.begin(), scores.degraded.end(), std::back_inserter(result.degraded));
  std::move(scores.failures.begin(), scores.failures.end(), std::back_inserter(result.failures));
  return std::move(scores.probability);
}

// Fills captions, uris and tags in, as far as shards answer in time.
void FillRecords(const SearchPlan& plan, const CallContext& call, SearchResult& result) {
  std::map<int, std::vector<Hit*>> by_shard;
  for (Hit& hit : result.hits) by_shard[hit.shard].push_back(&hit);
  std::vector<FetchCall> fetches;
  std::vector<const std::vector<Hit*>*> hits_of;
  for (const auto& [shard, hits] : by_shard) {
    FetchCall fetch;
    fetch.client = plan.target.shard(shard);
    fetch.request.target = plan.target.ref();
    fetch.request.shard = shard;
    for (const Hit* hit : hits) fetch.request.rows.push_back(hit->row);
    fetches.push_back(std::move(fetch));
    hits_of.push_back(&hits);
  }
  Fetching fetching(std::move(fetches), call, plan.deadlines.answer);
  auto answers = fetching.Wait();
  bool missing = false;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].ok()) {
      missing = true;
      result.failures.push_back(answers[i].status());
      continue;
    }
    for (size_t j = 0; j < hits_of[i]->size(); ++j) {
      Hit& hit = *(*hits_of[i])[j];
      absl::optional<StoredItem>& item = answers[i]->items[j];
      // A row that holds another item than it did a moment ago is no record of this one.
      if (!item.has_value() || item->item_id != hit.item_id) {
        missing = true;
        result.failures.push_back(absl::DataLossError(
            absl::StrCat(ShardName(plan.target.ref().index, hit.shard), ": row ", hit.row,
                         " was found as '", hit.item_id, "' but is ",
                         item.has_value() ? absl::StrCat("'", item->item_id, "'") : "not there")));
        continue;
      }
      hit.caption = std::move(item->caption);
      hit.uri = std::move(item->uri);
      hit.tags = std::move(item->tags);
    }
  }
  if (missing) result.degraded.push_back(DegradedReason::kRecordsMissing);
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

  ASSIGN_OR_RETURN(SearchPlan plan, PinAll(request, *backends_, *catalog_));
  RETURN_IF_ERROR(CheckAgainstTarget(request.query, plan));
  result.target = plan.target.ref();
  PlanRerank(request, options_, backends_->reranker.get(), plan, result);
  const bool encode = !std::holds_alternative<EmbeddingQuery>(request.query);
  plan.deadlines = budget_->Split(timer.start(), call.deadline(), {encode, plan.rerank});
  plan.unreranked = budget_->Split(timer.start(), call.deadline(), {encode, false});
  if (plan.unreranked.search <= timer.start()) return NoTime(call);

  absl::StatusOr<ResolvedQuery> query = Resolve(request.query, plan, *backends_, call);
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

  std::vector<absl::optional<float>> probability;
  if (plan.rerank) {
    probability = Rerank(plan, *std::move(query), candidates, *backends_, options_, call, result);
  }
  result.hits = OrderHits(std::move(candidates), probability, result.combination);
  if (result.hits.size() > static_cast<size_t>(request.top_k)) result.hits.resize(request.top_k);
  result.times.rerank = timer.Lap();

  if (request.want_records) FillRecords(plan, call, result);
  if (call.cancelled()) return call.Check("search");
  result.times.fetch = timer.Lap();
  result.times.total = timer.Total();
  return result;
}

}  // namespace sightline
