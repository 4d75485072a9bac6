// Asks the shards of an index for their best rows, and merges these into the best of all.
//
// Rows are spread over shards by a hash of their ids (bundle/layout.h, ShardOf), so a shard of n
// has about k / n of the best k, and hardly ever many more.  Each is asked for so many first
// (RowsToAskFor).  Once all have answered or failed, a shard that has answered as many as it was
// asked for, the last of which is still among the best k of all, may have more of them: it is asked
// again, for k.  So the answer is that of asking each for k, row for row, and 100 shards send 3 000
// rows for k = 1 000 instead of 100 000.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_SEARCH_SHARDS_H_
#define SIGHTLINE_COMMON_RETRIEVAL_SEARCH_SHARDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/embedding/candidate.h"
#include "common/embedding/embedding_matrix.h"
#include "common/retrieval/pinned_index.h"

namespace sightline {

struct ShardAnswers {
  std::vector<Candidate> best;  // of all shards that answered, RanksBefore
  int answered = 0;
  std::vector<std::string> unreachable;  // names of the others, in shard order
  std::vector<absl::Status> failures;    // what they said
};

// Of so many rows each of `shard_count` shards of rows at random is asked first: so many that one
// search in a thousand, at most, asks a shard again while all answer.  `top_k`, where that is not a
// quarter or less of it.
int RowsToAskFor(int top_k, int shard_count);

// The best `top_k` of all shards.  Waits for all of them until `planned`; if none has answered by
// then, until the first does or `latest`, because any answer is better than none.  How long a
// silent replica is waited for alone is measured by `planned`, so that another one can still answer
// by then.  While a shard is silent none is asked again: the answer is degraded in any case.  A
// shard that was asked again and did not answer counts as one that has not answered; what it gave
// at first is used.
//
// INVALID_ARGUMENT of any shard is returned; other failures are, by NoShardAnswered,
// when no shard answered.  CANCELLED when the caller has gone.
absl::StatusOr<ShardAnswers> SearchShards(const PinnedIndex& index, const EmbeddingMatrix& query,
                                          int top_k, absl::Time planned, absl::Time latest,
                                          const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_SEARCH_SHARDS_H_
