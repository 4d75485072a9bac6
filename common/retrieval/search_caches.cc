#include "common/retrieval/search_caches.h"

#include <utility>
#include <variant>

namespace sightline {
namespace {

constexpr char kEmbeddings[] = "embeddings";
constexpr char kScores[] = "scores";
constexpr char kResults[] = "results";

// A call that had this many times as much time as another may do better than that did.
constexpr double kMoreTime = 1.1;
// The same where it was only less deep: who has about as much time gets about the same depth.
constexpr double kMoreTimeForDepth = 2;

// What an allocation takes beside what was asked for, at most.
constexpr int64_t kAllocation = 16;

int64_t HeapBytes(const std::string& text) {
  static const size_t kInside = std::string().capacity();
  return text.capacity() > kInside ? static_cast<int64_t>(text.capacity()) + 1 + kAllocation : 0;
}

template <typename T>
int64_t ArrayBytes(const std::vector<T>& values) {
  return static_cast<int64_t>(values.capacity() * sizeof(T)) + kAllocation;
}

int64_t BytesOf(const GenerationRef& ref) {
  return HeapBytes(ref.index) + HeapBytes(ref.generation) + HeapBytes(ref.space);
}

int64_t BytesOf(const Hit& hit) {
  int64_t bytes = HeapBytes(hit.item_id) + HeapBytes(hit.caption) + HeapBytes(hit.uri);
  if (!hit.tags.empty()) bytes += ArrayBytes(hit.tags);
  for (const std::string& tag : hit.tags) bytes += HeapBytes(tag);
  return bytes;
}

int64_t BytesOf(const SearchResult& result) {
  int64_t bytes = sizeof(SearchResult) + BytesOf(result.target) + ArrayBytes(result.hits) +
                  HeapBytes(result.reranker) + HeapBytes(result.encoder_precision) +
                  HeapBytes(result.reranker_precision) + HeapBytes(result.next_page_token);
  for (const Hit& hit : result.hits) bytes += BytesOf(hit);
  return bytes;  // what is whole has no reasons and no failures
}

int64_t BytesOf(const RerankSide& side) {
  if (const auto* text = std::get_if<TextQuery>(&side)) return HeapBytes(text->text);
  const auto* features = std::get_if<Shared<ItemFeatures>>(&side);
  if (features == nullptr) return BytesOf(std::get<StoredRef>(side).target);
  int64_t bytes = sizeof(ItemFeatures) + kAllocation + ArrayBytes((*features)->tensors);
  for (const FeatureTensor& tensor : (*features)->tensors) {
    bytes += HeapBytes(tensor.name) + HeapBytes(tensor.bytes);
  }
  return bytes;
}

int64_t BytesOf(const ResolvedQuery& query) {
  return static_cast<int64_t>(sizeof(ResolvedQuery) +
                              query.embedding.values().size() * sizeof(float)) +
         kAllocation + BytesOf(query.side);
}

bool IsWhole(const SearchResult& result) {
  return result.degraded.empty();
}

// Whether a call that had `own` is served with what another had `others` for.
bool Suits(const SearchResult& made, absl::Duration others, absl::Duration own,
           absl::Duration left) {
  if (IsWhole(made) || left < made.times.total) return true;
  const bool only_depth =
      made.degraded.size() == 1 && made.degraded.front() == DegradedReason::kDepthReduced;
  return own <= (only_depth ? kMoreTimeForDepth : kMoreTime) * others;
}

template <typename Cache>
CacheStatus StatusOf(const char* name, const Cache& kept, const SearchCacheMetrics& metrics) {
  CacheStatus status;
  status.name = name;
  status.entries = kept.entries();
  status.bytes = kept.bytes();
  status.max_bytes = kept.max_bytes();
  status.hits = static_cast<int64_t>(metrics.hits.value());
  status.shared = static_cast<int64_t>(metrics.shared.value());
  status.misses = static_cast<int64_t>(metrics.misses.value());
  return status;
}

}  // namespace

SearchCacheMetrics AddSearchCacheMetrics(MetricsRegistry* registry, absl::string_view cache) {
  const auto lookups = [&](const char* outcome) {
    return registry->AddCounter("cache_lookups_total",
                                "What was asked for in a cache, and whether it was there.",
                                {{"cache", std::string(cache)}, {"outcome", outcome}});
  };
  const MetricLabels labels = {{"cache", std::string(cache)}};
  SearchCacheMetrics metrics;
  metrics.hits = lookups("hit");
  metrics.shared = lookups("shared");
  metrics.misses = lookups("miss");
  metrics.gave_up = lookups("gave_up");
  metrics.kept.bytes = registry->AddGauge("cache_bytes", "What a cache holds, in bytes.", labels);
  metrics.kept.entries = registry->AddGauge("cache_entries", "Entries of a cache.", labels);
  metrics.kept.evictions = registry->AddCounter(
      "cache_evictions_total", "Entries that had to go to make room in a cache.", labels);
  return metrics;
}

EmbeddingCache::EmbeddingCache(int64_t max_bytes, SearchCacheMetrics metrics)
    : metrics_(metrics), kept_(max_bytes, metrics_.kept) {}

std::shared_ptr<const ResolvedQuery> EmbeddingCache::Find(const std::string& key) {
  std::shared_ptr<const ResolvedQuery> found = kept_.Find(key);
  (found != nullptr ? metrics_.hits : metrics_.misses).Increment();
  return found;
}

void EmbeddingCache::Keep(const std::string& key, const ResolvedQuery& query) {
  auto copy = std::make_shared<const ResolvedQuery>(query);  // as large as it has to be
  const int64_t bytes = BytesOf(*copy);
  kept_.Put(key, std::move(copy), bytes);
}

CacheStatus EmbeddingCache::Describe() const {
  return StatusOf(kEmbeddings, kept_, metrics_);
}

absl::optional<RerankScore> KnownScores::Find(int shard, int64_t row) const {
  const auto found = scores_.find(std::make_pair(shard, row));
  return found == scores_.end() ? absl::nullopt : absl::make_optional(found->second);
}

void KnownScores::Add(int shard, int64_t row, const RerankScore& score) {
  scores_[std::make_pair(shard, row)] = score;
}

ScoreCache::ScoreCache(int64_t max_bytes, SearchCacheMetrics metrics)
    : metrics_(metrics), kept_(max_bytes, metrics_.kept) {}

void ScoreCache::Count(int known, int unknown) {
  metrics_.hits.Increment(known);
  metrics_.misses.Increment(unknown);
}

void ScoreCache::Keep(const std::string& key, KnownScores scores) {
  // A hash table has up to two places and two bytes for each of what is in it, and some to spare.
  constexpr int64_t kTable = 64, kPlace = sizeof(std::pair<std::pair<int, int64_t>, RerankScore>);
  const int64_t bytes = sizeof(KnownScores) + kAllocation + kTable +
                        static_cast<int64_t>(scores.size()) * (kPlace + 1) * 5 / 2;
  kept_.Put(key, std::make_shared<const KnownScores>(std::move(scores)), bytes);
}

CacheStatus ScoreCache::Describe() const {
  return StatusOf(kScores, kept_, metrics_);
}

ResultCache::ResultCache(int64_t max_bytes, SearchCacheMetrics metrics)
    : metrics_(metrics), kept_(max_bytes, metrics_.kept) {}

// Searches, keeps the answer if it is whole, and shares it without what was said of failures:
// that is for the log of the call that met them.
absl::StatusOr<std::shared_ptr<const SearchResult>> ResultCache::Make(const std::string& key,
                                                                      const Search& search,
                                                                      const Belongs& belongs,
                                                                      const CallContext& call,
                                                                      Making* making) {
  // Between a look and the next somebody may have answered.
  if (std::shared_ptr<const SearchResult> kept = kept_.Find(key)) {
    making->was_kept = true;
    return kept;
  }
  absl::StatusOr<SearchResult> made = search(call);
  if (!made.ok()) return made.status();
  making->failures.swap(made->failures);
  auto result = std::make_shared<const SearchResult>(*made);  // as large as it has to be
  if (IsWhole(*result) && (belongs == nullptr || belongs(*result)))
    kept_.Put(key, result, BytesOf(*result));
  return result;
}

absl::StatusOr<SearchResult> ResultCache::Get(const std::string& key, const CallContext& call,
                                              absl::Time due, const Search& search,
                                              const Belongs& belongs) {
  const absl::Time start = call.clock()->Now();
  const auto from_others = [&](const SearchResult& kept) {
    SearchResult result = kept;
    result.from_cache = true;
    result.times = StageTimes();
    result.times.total = call.clock()->Now() - start;
    return result;
  };
  if (const std::shared_ptr<const SearchResult> kept = kept_.Find(key)) {
    metrics_.hits.Increment();
    return from_others(*kept);
  }
  Making making;
  const auto flight = flights_.Do(
      key, call, due,
      [&](const CallContext& own) { return Make(key, search, belongs, own, &making); },
      [&](const SearchResult& made, absl::Duration others, absl::Duration own) {
        return Suits(made, others, own, call.remaining());
      });
  const bool shared = flight.part == SingleFlight<SearchResult>::Part::kShared;
  Count(flight.part, making.was_kept);
  if (!flight.value.ok()) return flight.value.status();
  if (making.was_kept || shared) return from_others(**flight.value);
  SearchResult result = **flight.value;
  result.failures = std::move(making.failures);
  return result;
}

void ResultCache::Count(SingleFlight<SearchResult>::Part part, bool was_kept) {
  using Part = SingleFlight<SearchResult>::Part;
  const Counter& outcome = part == Part::kShared   ? metrics_.shared
                           : part == Part::kGaveUp ? metrics_.gave_up
                           : was_kept              ? metrics_.hits
                                                   : metrics_.misses;
  outcome.Increment();
}

CacheStatus ResultCache::Describe() const {
  return StatusOf(kResults, kept_, metrics_);
}

SearchCaches::SearchCaches(const SearchCacheOptions& options, MetricsRegistry* metrics)
    : embeddings(options.max_embedding_bytes, AddSearchCacheMetrics(metrics, kEmbeddings)),
      scores(options.max_score_bytes, AddSearchCacheMetrics(metrics, kScores)),
      results(options.max_result_bytes, AddSearchCacheMetrics(metrics, kResults)) {}

std::vector<CacheStatus> SearchCaches::Describe() const {
  return {embeddings.Describe(), scores.Describe(), results.Describe()};
}

}  // namespace sightline
