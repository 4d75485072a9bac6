// What retrieval finds and reranking reads: items of one generation, with scores.
#ifndef SIGHTLINE_COMMON_EMBEDDING_CANDIDATE_H_
#define SIGHTLINE_COMMON_EMBEDDING_CANDIDATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sightline {

// A value.  `shard` and `row` mean something only together with the generation that
// the candidate came from.
struct Candidate {
  std::string item_id;
  int shard = 0;
  int64_t row = 0;
  // Inner product of query and item; higher is better.
  float score = 0;
};

// The one order of results, which every list of them is in, of whatever type: the higher
// score first, then the smaller item id (bytewise).  The scores are those that are reported
// with the items and numbers, so that whoever holds a list can tell whether it is in order;
// ids differ, so that the order is total.
inline bool ScoreThenId(float score, absl::string_view id, float other_score,
                        absl::string_view other_id) {
  return score != other_score ? score > other_score : id < other_id;
}

inline bool RanksBefore(const Candidate& a, const Candidate& b) {
  return ScoreThenId(a.score, a.item_id, b.score, b.item_id);
}

// Merges lists that are each in RanksBefore order into the best `top_k` of all.
// `lists` are consumed.  Shards are disjoint, so no item occurs twice.
std::vector<Candidate> MergeTopK(std::vector<std::vector<Candidate>> lists, int top_k);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EMBEDDING_CANDIDATE_H_
