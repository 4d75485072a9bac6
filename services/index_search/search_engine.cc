#include "services/index_search/search_engine.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/limits.h"
#include "common/base/random_access_file.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

// Of a search that is brief: how long it takes, how many numbers of rows an exact one multiplies,
// at the pace of memory, and how many hits are put together.
constexpr absl::Duration kBrief = absl::Milliseconds(1);
constexpr int64_t kMostBriefNumbers = int64_t{2} << 20;
constexpr int64_t kMostBriefHits = 512;

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

absl::Status CheckFilter(const TagFilter& filter) {
  size_t count = 0;
  for (const std::vector<std::string>* tags : {&filter.any, &filter.all, &filter.none}) {
    count += tags->size();
    for (const std::string& tag : *tags) {
      if (!tag.empty() && tag.size() <= static_cast<size_t>(limits::kMaxFilterTagBytes)) continue;
      return WithField(
          absl::InvalidArgumentError(absl::StrCat(
              "a tag of ", tag.size(), " bytes; allowed are 1 to ", limits::kMaxFilterTagBytes)),
          "filter");
    }
  }
  if (count <= static_cast<size_t>(limits::kMaxFilterTags)) return absl::OkStatus();
  return WithField(absl::InvalidArgumentError(
                       absl::StrCat(count, " tags in a filter; at most ", limits::kMaxFilterTags)),
                   "filter");
}

absl::Status CheckEffort(const EffortWish& wish) {
  if (wish.recall.has_value() && !(*wish.recall > 0 && *wish.recall <= 1)) {
    return WithField(absl::InvalidArgumentError(absl::StrCat("a recall of ", *wish.recall,
                                                             "; allowed is what is above 0, to 1")),
                     "effort");
  }
  if (wish.effort.has_value() && (*wish.effort < 1 || *wish.effort > limits::kMaxEffort)) {
    return WithField(absl::InvalidArgumentError(absl::StrCat(
                         "an effort of ", *wish.effort, "; allowed are 1 to ", limits::kMaxEffort)),
                     "effort");
  }
  return absl::OkStatus();
}

absl::Status CheckRequest(const SearchShardRequest& request, const VectorIndex& index,
                          int max_queries) {
  RETURN_IF_ERROR(CheckQueries(request.queries, index.dimension(), max_queries));
  if (request.top_k < 1 || request.top_k > limits::kMaxNeighbors) {
    return WithField(absl::InvalidArgumentError(absl::StrCat(
                         "top_k is ", request.top_k, "; allowed are 1 to ", limits::kMaxNeighbors)),
                     "top_k");
  }
  if (request.want_items && request.queries.rows() * request.top_k > limits::kMaxFetchedItems) {
    return WithField(absl::InvalidArgumentError(absl::StrCat(
                         "items of ", request.queries.rows() * request.top_k,
                         " neighbors in one call; at most ", limits::kMaxFetchedItems)),
                     "include_items");
  }
  RETURN_IF_ERROR(CheckFilter(request.filter));
  return CheckEffort(request.effort);
}

// Whether the shard is at fault as a whole: another request would fare no better.
bool IsOfShard(const absl::Status& status) {
  return IsFailedRead(status) || HasReason(status, reasons::kChecksumMismatch) ||
         HasReason(status, reasons::kDeviceFailed);
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
      clock_(clock),
      searches_(options.batching, clock, [pool = options.pool](std::vector<Task> batch) {
        Process(std::move(batch), pool);
      }) {
  for (const auto& [device, metrics] : options.devices) {
    BatchSchedulerOptions alone = options.batching;
    alone.workers = 1;
    alone.metrics = metrics;
    device_searches_[device] = std::make_unique<BatchScheduler<Task>>(
        alone, clock, [](std::vector<Task> batch) { Process(std::move(batch), /*pool=*/nullptr); });
  }
}

void SearchEngine::Drain() {
  searches_.Drain();
  for (const auto& [device, searches] : device_searches_) searches->Drain();
}

absl::StatusOr<SearchEngine::FoundShard> SearchEngine::FindShard(const GenerationRef& target,
                                                                 int shard) const {
  ASSIGN_OR_RETURN(auto entry, generations_->Find(target.index, target.generation, target.space));
  const auto found = entry.held->shards.find(shard);
  if (found == entry.held->shards.end()) {
    return MakeError(
        reasons::kShardNotHeld,
        absl::StrCat("shard ", shard, " of index '", target.index, "' is not held by this server"),
        {{"index", target.index}, {"shard", absl::StrCat(shard)}});
  }
  return FoundShard{found->second, entry.held};
}

absl::Status SearchEngine::AfterReading(const absl::Status& status, const GenerationRef& target,
                                        const FoundShard& found) const {
  if (!IsOfShard(status)) return status;
  // Where another request has found that out, this one is told as those that come after it.
  RETURN_IF_ERROR(generations_->Find(target.index, target.generation, target.space).status());
  if (const auto held = found.generation.lock()) {
    generations_->table()->Fail(target.index, target.generation, held.get(), status);
  }
  return status;
}

bool SearchEngine::IsBrief(const SearchShardRequest& request) const {
  const absl::StatusOr<FoundShard> found = FindShard(request.target, request.shard);
  if (!found.ok()) return true;
  const SearchableShard& shard = *found->shard;
  if (!CheckRequest(request, *shard.index, options_.max_queries).ok()) return true;  // a refusal
  // To look tags up takes time in proportion to the shard.
  if (!request.filter.empty() || shard.vectors->rows_on_disk() != nullptr) return false;
  const int64_t queries = request.queries.rows();
  if (queries * request.top_k > kMostBriefHits) return false;
  if (shard.device.has_value()) return true;  // it is its thread that computes
  const ShardSearchPlan plan =
      PlanSearch(shard, queries, request.top_k, request.effort, request.budget, /*among=*/nullptr);
  if (plan.promised_seconds > 0) {
    return plan.promised_seconds * shard.pace->factor() <= absl::ToDoubleSeconds(kBrief);
  }
  return shard.index->size() <= kMostBriefNumbers / (queries * shard.index->dimension());
}

absl::StatusOr<SearchShardResponse> SearchEngine::SearchShard(const SearchShardRequest& request,
                                                              const CallContext& call) {
  RETURN_IF_ERROR(call.Check("search"));
  ASSIGN_OR_RETURN(const FoundShard found, FindShard(request.target, request.shard));
  const SearchableShard& shard = *found.shard;
  RETURN_IF_ERROR(CheckRequest(request, *shard.index, options_.max_queries));
  const absl::Time start = clock_->Now();
  SearchShardResponse response;
  response.matched_count = shard.index->size();
  std::shared_ptr<const RowSet> among;
  if (!request.filter.empty()) {
    among = std::make_shared<const RowSet>(shard.tags.Matching(request.filter));
    response.matched_count = among->count();
    options_.metrics.NoteFilter(among->count(), shard.index->size());
  }
  const ShardSearchPlan plan = PlanSearch(shard, request.queries.rows(), request.top_k,
                                          request.effort, request.budget, among.get());
  response.effort = plan.told;
  options_.metrics.Note(plan.told);
  ASSIGN_OR_RETURN(const Neighbors neighbors, Search(request, found, plan, among, call));
  for (const std::vector<Neighbor>& row : neighbors) {
    std::vector<Candidate>& candidates = response.candidates.emplace_back();
    candidates.reserve(row.size());
    for (const Neighbor& neighbor : row) {
      candidates.push_back({std::string(shard.vectors->item_id(neighbor.row)), request.shard,
                            neighbor.row, neighbor.score});
    }
  }
  if (request.want_items) {
    response.items = ItemsOf(response.candidates, shard, start + request.budget);
  }
  return response;
}

std::vector<std::vector<StoredItem>> SearchEngine::ItemsOf(
    const std::vector<std::vector<Candidate>>& candidates, const SearchableShard& shard,
    absl::Time until) const {
  std::vector<std::vector<StoredItem>> items;
  for (const std::vector<Candidate>& list : candidates) {
    std::vector<StoredItem>& of = items.emplace_back();
    of.reserve(list.size());
    for (const Candidate& candidate : list) {
      if (clock_->Now() > until) return {};
      absl::StatusOr<StoredItem> item =
          ReadItem(shard, candidate.shard, candidate.row, /*want_embedding=*/false);
      if (!item.ok()) return {};
      of.push_back(*std::move(item));
    }
  }
  return items;
}

absl::StatusOr<SearchEngine::Neighbors> SearchEngine::Search(const SearchShardRequest& request,
                                                             const FoundShard& found,
                                                             const ShardSearchPlan& plan,
                                                             std::shared_ptr<const RowSet> among,
                                                             const CallContext& call) {
  if (among != nullptr && among->count() == 0) {
    return Neighbors(static_cast<size_t>(request.queries.rows()));
  }
  const absl::Time start = clock_->Now();
  auto outcome = std::make_shared<Outcome<Neighbors>>();
  RETURN_IF_ERROR(
      Submit({found.shard, request.queries, request.top_k, plan, std::move(among), call, outcome}));
  RETURN_IF_ERROR(call.Check("search"));  // it may have been searched for here, and be over
  absl::StatusOr<Neighbors> neighbors = outcome->Await(call, "search");
  if (!neighbors.ok()) return AfterReading(neighbors.status(), request.target, found);
  found.shard->pace->Note(plan.promised_seconds, clock_->Now() - start);
  return neighbors;
}

// A device belongs to one thread, which has no company to wait for; of a CPU's cores the caller's
// is as good as any.
absl::Status SearchEngine::Submit(Task task) {
  const SearchableShard& shard = *task.shard;
  const int64_t queries = task.queries.rows();
  if (!shard.device.has_value()) {
    return searches_.SubmitOrProcess(std::move(task), &shard, queries);
  }
  return device_searches_.at(*shard.device)->SubmitAwaited(std::move(task), &shard, queries);
}

// Tasks that one search of the index can do are one: those whose lists are parts of the same, and
// those that ask alike.  What a task finds is the same in any company.
void SearchEngine::Process(std::vector<Task> batch, ComputePool* pool) {
  std::map<std::tuple<bool, int, int, const RowSet*>, std::vector<Task*>> groups;
  for (Task& task : batch) {
    const ShardSearchPlan& plan = task.plan;
    groups[plan.shares_lists ? std::make_tuple(true, 0, 0, task.among.get())
                             : std::make_tuple(false, task.top_k, plan.effort, task.among.get())]
        .push_back(&task);
  }
  std::vector<std::vector<Task*>> searches;
  for (auto& [alike, tasks] : groups) searches.push_back(std::move(tasks));
  const auto search = [&searches](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) SearchTogether(searches[static_cast<size_t>(i)]);
  };
  const auto count = static_cast<int64_t>(searches.size());
  if (pool == nullptr || count == 1) {
    search(0, count);
  } else {
    pool->ParallelFor(count, /*grain=*/1, search);
  }
}

void SearchEngine::SearchTogether(absl::Span<Task* const> tasks) {
  const Task& first = *tasks.front();
  const VectorIndex& index = *first.shard->index;
  SearchOptions options;
  options.top_k = 0;
  options.effort = first.plan.effort;
  options.among = first.among.get();
  int64_t rows = 0;
  absl::Time latest = absl::InfinitePast();
  for (const Task* task : tasks) {
    rows += task->queries.rows();
    options.top_k = std::max(options.top_k, task->top_k);
    latest = std::max(latest, task->call.deadline());
  }
  EmbeddingMatrix queries(rows, index.dimension());
  float* next = queries.mutable_data();
  for (const Task* task : tasks) {
    next = std::copy(task->queries.values().begin(), task->queries.values().end(), next);
  }
  // As long as any of them wants it.
  const CallContext call = tasks.size() == 1 ? first.call : CallContext(first.call.clock(), latest);
  absl::StatusOr<Neighbors> found = index.Search(queries, options, call);
  int64_t row = 0;
  for (Task* task : tasks) {
    if (!found.ok()) {
      task->outcome->Set(found.status());
      continue;
    }
    Neighbors own;
    for (int64_t i = 0; i < task->queries.rows(); ++i, ++row) {
      std::vector<Neighbor>& list = (*found)[row];
      // The best k of a longer list are the list for k: order is total.
      if (list.size() > static_cast<size_t>(task->top_k)) list.resize(task->top_k);
      own.push_back(std::move(list));
    }
    task->outcome->Set(std::move(own));
  }
}

absl::StatusOr<FetchItemsResponse> SearchEngine::FetchItems(const FetchItemsRequest& request,
                                                            const CallContext& call) const {
  RETURN_IF_ERROR(call.Check("fetch"));
  ASSIGN_OR_RETURN(const FoundShard found, FindShard(request.target, request.shard));
  const SearchableShard& shard = *found.shard;
  if (request.item_ids.empty() == request.rows.empty()) {
    return absl::InvalidArgumentError("give either item_ids or rows");
  }
  const size_t count = std::max(request.item_ids.size(), request.rows.size());
  if (count > limits::kMaxFetchedItems) {
    return absl::InvalidArgumentError(
        absl::StrCat(count, " items in one call; allowed are 1 to ", limits::kMaxFetchedItems));
  }
  const auto read = [&](int64_t row) -> absl::StatusOr<StoredItem> {
    absl::StatusOr<StoredItem> item = ReadItem(shard, request.shard, row, request.want_embeddings);
    if (!item.ok()) return AfterReading(item.status(), request.target, found);
    return item;
  };
  FetchItemsResponse response;
  for (const std::string& id : request.item_ids) {
    const int64_t row = shard.vectors->Find(id);
    response.items.emplace_back();
    if (row < 0) continue;
    ASSIGN_OR_RETURN(response.items.back(), read(row));
  }
  for (const int64_t row : request.rows) {
    if (row < 0 || row >= shard.vectors->size()) {
      return WithField(absl::InvalidArgumentError(absl::StrCat(
                           "row ", row, " is not one of the shard's ", shard.vectors->size())),
                       "rows");
    }
    ASSIGN_OR_RETURN(StoredItem item, read(row));
    response.items.emplace_back(std::move(item));
  }
  return response;
}

}  // namespace sightline
