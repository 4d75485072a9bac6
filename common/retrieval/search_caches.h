// What the router keeps of what it has computed, and equal requests that it answers together.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_SEARCH_CACHES_H_
#define SIGHTLINE_COMMON_RETRIEVAL_SEARCH_CACHES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/api/reranker.h"
#include "common/api/search.h"
#include "common/api/server_status.h"
#include "common/base/call_context.h"
#include "common/embedding/embedding_matrix.h"
#include "common/embedding/score.h"
#include "common/metrics/metrics.h"
#include "common/retrieval/lru_cache.h"
#include "common/retrieval/single_flight.h"

namespace sightline {

// The query of a search as the later stages need it.
struct ResolvedQuery {
  EmbeddingMatrix embedding;  // one row
  RerankSide side;            // only if it is to be reranked
  std::string precision;      // of the encoder, if it took part and told
};

struct SearchCacheOptions {
  // Of memory, each; 0 turns it off.
  int64_t max_embedding_bytes = 0;
  int64_t max_score_bytes = 0;
  int64_t max_result_bytes = 0;
};

struct SearchCacheMetrics {
  Counter hits;
  Counter shared;  // answers of equal requests that were under way
  Counter misses;
  Counter gave_up;  // waited for an equal request until their own end
  LruCacheMetrics kept;
};

// `cache` is "embeddings", "scores" or "results".
SearchCacheMetrics AddSearchCacheMetrics(MetricsRegistry* registry, absl::string_view cache);

// Encoded queries, by SearchKeys::encoded.  Thread-safe.
class EmbeddingCache {
 public:
  EmbeddingCache(int64_t max_bytes, SearchCacheMetrics metrics);

  bool enabled() const { return kept_.max_bytes() > 0; }
  // Null if it is not there.
  std::shared_ptr<const ResolvedQuery> Find(const std::string& key);
  void Keep(const std::string& key, const ResolvedQuery& query);
  CacheStatus Describe() const;

 private:
  const SearchCacheMetrics metrics_;
  LruCache<ResolvedQuery> kept_;
};

// A cross-encoder's scores of one query with candidates of one generation.
class KnownScores {
 public:
  absl::optional<RerankScore> Find(int shard, int64_t row) const;
  void Add(int shard, int64_t row, const RerankScore& score);
  size_t size() const { return scores_.size(); }

 private:
  absl::flat_hash_map<std::pair<int, int64_t>, RerankScore> scores_;
};

// These, by SearchKeys::scored: so an answer for which there was not the time goes on where it
// stopped when it is asked for again, and a later page scores nothing anew.  Thread-safe.
class ScoreCache {
 public:
  ScoreCache(int64_t max_bytes, SearchCacheMetrics metrics);

  bool enabled() const { return kept_.max_bytes() > 0; }
  // Null if there are none.
  std::shared_ptr<const KnownScores> Find(const std::string& key) { return kept_.Find(key); }
  // Counts candidates: those of which the score was known, and the others.
  void Count(int known, int unknown);
  // In the place of those that were there.
  void Keep(const std::string& key, KnownScores scores);
  CacheStatus Describe() const;

 private:
  const SearchCacheMetrics metrics_;
  LruCache<KnownScores> kept_;
};

// Answers, by SearchKeys::answer: kept as a whole, and those that are not whole never.
// Thread-safe.
class ResultCache {
 public:
  ResultCache(int64_t max_bytes, SearchCacheMetrics metrics);

  bool enabled() const { return kept_.max_bytes() > 0; }

  // The answer that is kept, that of an equal request which is under way (SingleFlight, as `due`
  // is explained there), or what `search` gives.  With `from_cache` set, and the times of all
  // stages zero, unless `search` has made it for this call.  What it gives is kept if it is whole
  // and `belongs` to the key.
  //
  // An answer under way that turns out to be less than was asked is passed on to those who would
  // not do better: who had no more time for it, or not much more if it is only less deep (all who
  // have about as much time get the same depth), or who have less left than it took.  Of the others
  // one searches, and the rest wait for that one.
  using Search = std::function<absl::StatusOr<SearchResult>(const CallContext& call)>;
  using Belongs = std::function<bool(const SearchResult& result)>;
  absl::StatusOr<SearchResult> Get(const std::string& key, const CallContext& call, absl::Time due,
                                   const Search& search, const Belongs& belongs = nullptr);
  CacheStatus Describe() const;

 private:
  // What a call's own search leaves beside the answer that all share.
  struct Making {
    bool was_kept = false;  // there was nothing to do any more
    std::vector<absl::Status> failures;
  };
  absl::StatusOr<std::shared_ptr<const SearchResult>> Make(const std::string& key,
                                                           const Search& search,
                                                           const Belongs& belongs,
                                                           const CallContext& call, Making* making);
  void Count(SingleFlight<SearchResult>::Part part, bool was_kept);

  const SearchCacheMetrics metrics_;
  LruCache<SearchResult> kept_;
  SingleFlight<SearchResult> flights_;
};

struct SearchCaches {
  // `metrics` outlives the caches.
  SearchCaches(const SearchCacheOptions& options, MetricsRegistry* metrics);

  std::vector<CacheStatus> Describe() const;

  EmbeddingCache embeddings;
  ScoreCache scores;
  ResultCache results;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_SEARCH_CACHES_H_
