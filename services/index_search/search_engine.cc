#include "services/index_search/search_engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

absl::Status CheckQueries(const EmbeddingMatrix& queries, int dimension, int max_queries) {
  if (queries.rows() < 1 || queries.rows() > max_queries) {
    return WithField(absl::InvalidArgumentError(absl::StrCat(
                         queries.rows(), " queries in one call; allowed are 1 to ", max_queries)),
                     "queries");
  }
  if (queries.dimension() != dimension) {
    return MakeError(reasons::kEmbeddingDimensionMismatch,
                     absl::StrCat("the query vector has dimension ", queries.dimension(),
                                  ", the index ", dimension),
                     {{"expectedDimension", absl::StrCat(dimension)},
                      {"actualDimension", absl::StrCat(queries.dimension())}});
  }
  if (!AllFinite(queries.values())) {
    return WithField(absl::InvalidArgumentError("a query vector holds NaN or infinity"), "queries");
  }
  return absl::OkStatus();
}

absl::StatusOr<StoredItem> ReadItem(const SearchableShard& shard, int shard_number, int64_t row,
                                    bool want_embedding) {
  ASSIGN_OR_RETURN(ItemRecord record, shard.vectors->Record(row));
  StoredItem item;
  item.item_id = std::move(record.item_id);
  item.caption = std::move(record.caption);
  item.uri = std::move(record.uri);
  item.tags = std::move(record.tags);
  item.shard = shard_number;
  item.row = row;
  if (want_embedding) {
    item.embedding.resize(static_cast<size_t>(shard.vectors->dimension()));
    RETURN_IF_ERROR(shard.vectors->CopyEmbedding(row, absl::MakeSpan(item.embedding)));
  }
  return item;
}

}  // namespace

SearchEngine::SearchEngine(const SearchEngineOptions& options,
                           GenerationRegistry<SearchGeneration>* generations, Clock* clock)
    : options_(options),
      generations_(generations),
      searches_(options.batching, clock,
                [this](std::vector<Task> batch) { Process(std::move(batch)); }) {}

absl::StatusOr<std::shared_ptr<const SearchableShard>> SearchEngine::FindShard(
    const GenerationRef& target, int shard) const {
  ASSIGN_OR_RETURN(auto entry, generations_->Find(target.index, target.generation, target.space));
  const auto found = entry.held->shards.find(shard);
  if (found == entry.held->shards.end()) {
    return MakeError(
        reasons::kShardNotHeld,
        absl::StrCat("shard ", shard, " of index '", target.index, "' is not held by this server"),
        {{"index", target.index}, {"shard", absl::StrCat(shard)}});
  }
  return found->second;
}

absl::StatusOr<SearchShardResponse> SearchEngine::SearchShard(const SearchShardRequest& request,
                                                              const CallContext& call) {
  RETURN_IF_ERROR(call.Check("search"));
  ASSIGN_OR_RETURN(const auto shard, FindShard(request.target, request.shard));
  RETURN_IF_ERROR(CheckQueries(request.queries, shard->index->dimension(), options_.max_queries));
  if (request.top_k < 1 || request.top_k > limits::kMaxNeighbors) {
    return WithField(absl::InvalidArgumentError(absl::StrCat(
                         "top_k is ", request.top_k, "; allowed are 1 to ", limits::kMaxNeighbors)),
                     "top_k");
  }
  auto outcome = std::make_shared<Outcome<Neighbors>>();
  RETURN_IF_ERROR(searches_.SubmitAwaited({shard, request.queries, request.top_k, call, outcome},
                                          shard.get(), request.queries.rows()));
  ASSIGN_OR_RETURN(Neighbors neighbors, outcome->Await(call, "search"));

  SearchShardResponse response;
  for (const std::vector<Neighbor>& row : neighbors) {
    std::vector<Candidate>& candidates = response.candidates.emplace_back();
    candidates.reserve(row.size());
    for (const Neighbor& neighbor : row) {
      candidates.push_back({std::string(shard->vectors->item_id(neighbor.row)), request.shard,
                            neighbor.row, neighbor.score});
    }
  }
  return response;
}

// One scan of the shard serves every request of the batch.
void SearchEngine::Process(std::vector<Task> batch) {
  const VectorIndex& index = *batch.front().shard->index;
  int64_t rows = 0;
  int top_k = 0;
  for (const Task& task : batch) {
    rows += task.queries.rows();
    top_k = std::max(top_k, task.top_k);
  }
  EmbeddingMatrix queries(rows, index.dimension());
  float* next = queries.mutable_data();
  for (const Task& task : batch) {
    next = std::copy(task.queries.values().begin(), task.queries.values().end(), next);
  }
  absl::StatusOr<Neighbors> found = index.Search(queries, {top_k}, CallOfBatch(batch));
  int64_t row = 0;
  for (Task& task : batch) {
    if (!found.ok()) {
      task.outcome->Set(found.status());
      continue;
    }
    Neighbors own;
    for (int64_t i = 0; i < task.queries.rows(); ++i, ++row) {
      std::vector<Neighbor>& list = (*found)[row];
      // The best k of a longer list are the list for k: order is total.
      if (list.size() > static_cast<size_t>(task.top_k)) list.resize(task.top_k);
      own.push_back(std::move(list));
    }
    task.outcome->Set(std::move(own));
  }
}

absl::StatusOr<FetchItemsResponse> SearchEngine::FetchItems(const FetchItemsRequest& request,
                                                            const CallContext& call) const {
  RETURN_IF_ERROR(call.Check("fetch"));
  ASSIGN_OR_RETURN(const auto shard, FindShard(request.target, request.shard));
  if (request.item_ids.empty() == request.rows.empty()) {
    return absl::InvalidArgumentError("give either item_ids or rows");
  }
  const size_t count = std::max(request.item_ids.size(), request.rows.size());
  if (count > limits::kMaxFetchedItems) {
    return absl::InvalidArgumentError(
        absl::StrCat(count, " items in one call; allowed are 1 to ", limits::kMaxFetchedItems));
  }
  FetchItemsResponse response;
  for (const std::string& id : request.item_ids) {
    const int64_t row = shard->vectors->Find(id);
    response.items.emplace_back();
    if (row < 0) continue;
    ASSIGN_OR_RETURN(response.items.back(),
                     ReadItem(*shard, request.shard, row, request.want_embeddings));
  }
  for (const int64_t row : request.rows) {
    if (row < 0 || row >= shard->vectors->size()) {
      return WithField(absl::InvalidArgumentError(absl::StrCat(
                           "row ", row, " is not one of the shard's ", shard->vectors->size())),
                       "rows");
    }
    ASSIGN_OR_RETURN(StoredItem item,
                     ReadItem(*shard, request.shard, row, request.want_embeddings));
    response.items.emplace_back(std::move(item));
  }
  return response;
}

}  // namespace sightline
