// What retrieval finds and reranking reads: items of one generation, with scores.
#ifndef SIGHTLINE_COMMON_EMBEDDING_CANDIDATE_H_
#define SIGHTLINE_COMMON_EMBEDDING_CANDIDATE_H_

#include <cstdint>
#include <string>
#include <vector>

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

// The order of every result list: higher score first, then smaller item id (bytewise).
inline bool RanksBefore(const Candidate& a, const Candidate& b) {
  return a.score != b.score ? a.score > b.score : a.item_id < b.item_id;
}

// Merges lists that are each in RanksBefore order into the best `top_k` of all.
// `lists` are consumed.  Shards are disjoint, so no item occurs twice.
std::vector<Candidate> MergeTopK(std::vector<std::vector<Candidate>> lists, int top_k);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EMBEDDING_CANDIDATE_H_
