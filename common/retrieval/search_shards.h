// Asks the shards of an index for their best rows, and merges these into the best of all.
//
// Rows are spread over shards by a hash of their ids (bundle/layout.h, ShardOf), so a shard of n
// has about k / n of the best k, and hardly ever many more.  Each is asked for so many first
// (RowsToAskFor).  Once all have answered or failed, a shard that has answered as many as it was
// asked for, the last of which is still among the best k of all, may have more of them: it is asked
// again, for k.  So the answer is that of asking each for k, row for row, and 100 shards send 3 000
// rows for k = 1 000 instead of 100 000.  That a shard which answers fewer than it was asked for
// has no more holds with a filter too, which shards apply while they search.
//
// An index that is not searched exactly may find other rows when it is asked for more: that of a
// shard which is asked again is what it found either time, each row once.  What it found at first
// is not lost, and since all scores are exact products of stored rows, the union is a list of rows
// of that shard in their true order, from which none is missing that either search had found.  An
// exact shard finds the same rows at the front again, so that the union is its second answer.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_SEARCH_SHARDS_H_
#define SIGHTLINE_COMMON_RETRIEVAL_SEARCH_SHARDS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/api/effort.h"
#include "common/api/item.h"
#include "common/base/call_context.h"
#include "common/bundle/tag_filter.h"
#include "common/embedding/candidate.h"
#include "common/embedding/embedding_matrix.h"
#include "common/retrieval/pinned_index.h"

namespace sightline {

struct ShardQuery {
  const EmbeddingMatrix& embedding;  // one row
  int top_k = 10;
  TagFilter filter;
  EffortWish effort;
  // Whether shards are told how long they have, to look less hard where it would take longer.
  bool lower_effort = true;
  // Whether shards are asked for what is stored of their rows at once, where these are few.
  bool want_items = false;
};

// By shard and row.
using ItemsByPlace = absl::flat_hash_map<std::pair<int, int64_t>, StoredItem>;

struct ShardAnswers {
  std::vector<Candidate> best;  // of all shards that answered, RanksBefore
  int answered = 0;
  std::vector<std::string> unreachable;  // names of the others, in shard order
  std::vector<absl::Status> failures;    // what they said
  int64_t matched = 0;                   // items of those that answered that pass the filter
  SearchEffort effort;                   // the least of those that answered
  ItemsByPlace items;                    // those that came with their rows; not all, or others too
};

// How long a shard may search that is asked at `now` and wanted by `planned`: a tenth of the time,
// 1 to 10 ms, is left for the way there and back and for merging.  Never negative.
absl::Duration SearchBudget(absl::Time now, absl::Time planned);

// What can be said of an answer that is made of two: the lesser of their efforts, that is one that
// is not exact, of these the one of the lower recall; `reduced` if either is.
SearchEffort LesserEffort(const SearchEffort& a, const SearchEffort& b);

// Of so many rows each of `shard_count` shards of rows at random is asked first: so many that one
// search in a thousand, at most, asks a shard again while all answer.  `top_k`, where that is not a
// quarter or less of it.
int RowsToAskFor(int top_k, int shard_count);

// The best `query.top_k` of all shards.  Waits for all of them until `planned`; if none has
// answered by then, until the first does or `latest`, because any answer is better than none.  How
// long a silent replica is waited for alone is measured by `planned`, so that another one can still
// answer by then.  While a shard is silent none is asked again: the answer is degraded in any case.
// A shard that was asked again and did not answer counts as one that has not answered; what it gave
// at first is used.
//
// INVALID_ARGUMENT of any shard is returned; other failures are, by NoShardAnswered,
// when no shard answered.  CANCELLED when the caller has gone.
absl::StatusOr<ShardAnswers> SearchShards(const PinnedIndex& index, const ShardQuery& query,
                                          absl::Time planned, absl::Time latest,
                                          const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_SEARCH_SHARDS_H_
