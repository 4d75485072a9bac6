// The public calls, which the router answers, as plain values.
#ifndef SIGHTLINE_COMMON_API_SEARCH_H_
#define SIGHTLINE_COMMON_API_SEARCH_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/api/effort.h"
#include "common/api/generation.h"
#include "common/api/item.h"
#include "common/api/query.h"
#include "common/bundle/tag_filter.h"
#include "common/embedding/candidate.h"
#include "common/embedding/score.h"

namespace sightline {

struct SearchRequest {
  // Empty: the only index of images for a text, the only index of captions for an
  // image; InvalidArgument if that is not one.  A stored item counts as what its own
  // index holds; an embedding must name its index.
  std::string index;
  Query query;
  int top_k = 10;  // 1 to limits::kMaxHits
  // Each of the next three, if given, asks for reranking in so many words (a depth of 0 for
  // none), which is then done also where the reranker's bundle declares that by default it
  // is not.
  absl::optional<int> depth;                // 0 to max_depth; unset: the default
  absl::optional<Combination> combination;  // unset: what the reranker's bundle declares
  // Name of one of the generation's cross-encoders; empty: its default.
  std::string reranker;
  TagFilter filter;          // which items may be found
  EffortWish effort;         // how hard to look
  bool want_records = true;  // caption, uri and tags of each hit
  // `next_page_token` of an answer to this request: the hits after those.  Empty: the first.
  std::string page_token;
};

enum class HitStage { kRetrieved, kReranked };

struct Hit {
  std::string item_id;
  HitStage stage = HitStage::kRetrieved;
  // What the list is ordered by within its stage: the retrieval score, or what Combine makes
  // of both.
  float score = 0;
  float retrieval_score = 0;           // inner product of query and item
  absl::optional<float> rerank_score;  // the cross-encoder's, mapped to [0, 1]
  int shard = 0;
  int64_t row = 0;
  std::string caption;  // with want_records, as far as time allowed
  std::string uri;
  std::vector<std::string> tags;
};

// The one order of hits, which every answer is in: what has been reranked first, and within
// each of the two stages ScoreThenId.
inline bool StandsBefore(const Hit& a, const Hit& b) {
  if (a.stage != b.stage) return a.stage == HitStage::kReranked;
  return ScoreThenId(a.score, a.item_id, b.score, b.item_id);
}

enum class RerankOutcome {
  kNotRequested,  // depth 0
  // No text-image pair here, or the generation has no cross-encoder; or the page begins
  // behind what is reranked.
  kNotApplicable,
  // The reranker's bundle declares that in this direction retrieval alone finds more, and the
  // request did not ask to be reranked.
  kNotByDefault,
  kComplete,  // every candidate within the depth was scored
  kPartial,   // some were
  kFailed,    // none was
};

enum class DegradedReason {
  kShardsMissing,   // coverage is below one
  kDepthReduced,    // some candidates were not even sent to the reranker, for lack of time
  kRerankerFailed,  // the reranker was down, refused, or answered nonsense
  kRerankerLate,    // some of what was sent was not answered in the reranker's time
  kRecordsMissing,  // captions and uris of some hits could not be fetched
  kRecallReduced,   // an index was searched with less effort than asked, for lack of time
};

struct StageTimes {
  absl::Duration encode, search, rerank, fetch, total;
};

struct SearchResult {
  GenerationRef target;
  std::vector<Hit> hits;  // reranked block first, then the retrieved tail
  int shard_count = 0;
  int answered_shard_count = 0;
  std::vector<std::string> unreachable;  // "indexes/<index>/shards/<n>"
  // Of the shards that answered, those that the filter lets through.  As many may be found, less
  // the queried item.
  int64_t matched_item_count = 0;
  SearchEffort effort;  // of the shard that looked least hard
  RerankOutcome rerank = RerankOutcome::kNotRequested;
  int requested_depth = 0;
  int achieved_depth = 0;  // candidates with a rerank score
  std::string reranker;    // name of the cross-encoder; empty if kNotRequested, kNotApplicable
  // That every score of the kind was computed in; empty if there is none, or a server did not tell.
  std::string encoder_precision, reranker_precision;
  Combination combination;
  std::vector<DegradedReason> degraded;  // empty: the answer is all that was asked
  std::vector<absl::Status> failures;    // what backends said behind `degraded`; for the log
  StageTimes times;
  // Not computed for this request: of an equal one, earlier, which is whole then, or at the same
  // time, which may be degraded.  Of the times there is only the total.
  bool from_cache = false;
  std::string next_page_token;  // empty: there are no more hits that may be asked for
};

// One side of ScorePairs.
using PairText = std::variant<TextQuery, ItemQuery>;
using PairImage = std::variant<ImageQuery, RegionsQuery, ItemQuery>;

struct ScorePairsRequest {
  std::string index;  // whose models score; as in SearchRequest for a text
  std::vector<PairText> texts;
  std::vector<PairImage> images;
  std::string reranker;  // as in SearchRequest
};
struct PairScore {
  float retrieval_score = 0;  // inner product of the embeddings
  float rerank_score = 0;     // in [0, 1]
  float raw_score = 0;        // as the cross-encoder gives it
};
struct ScorePairsResult {
  GenerationRef target;
  std::string reranker;  // name of the cross-encoder
  ScoreKind score_kind = ScoreKind::kSoftmaxMatch;
  std::vector<PairScore> scores;  // texts x images, row-major
};

struct GetItemsRequest {
  std::string index;
  std::vector<std::string> item_ids;
  bool want_embeddings = false;
};
struct GetItemsResult {
  GenerationRef target;
  std::vector<absl::optional<StoredItem>> items;  // in order; none: unknown or unreachable
  std::vector<std::string> unreachable;           // "indexes/<index>/shards/<n>"
  std::vector<absl::Status> failures;             // why; for the log
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_API_SEARCH_H_
