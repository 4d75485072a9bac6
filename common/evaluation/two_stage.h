// Where the relevant candidates of a query stand after its best ones have been reranked: the
// policies of "Retrieve Fast, Rerank Smart" (Sep+Coop, Joint+Coop) over rows of scores.
//
// As a search does it (OrderHits of common/retrieval, which the test holds this to): the best
// `depth` candidates by retrieval are put in the order of Combine of common/embedding/score.h, and
// all others follow in the order of retrieval.
#ifndef SIGHTLINE_COMMON_EVALUATION_TWO_STAGE_H_
#define SIGHTLINE_COMMON_EVALUATION_TWO_STAGE_H_

#include <vector>

#include "absl/types/span.h"
#include "common/embedding/score.h"
#include "common/evaluation/method.h"
#include "common/evaluation/tie_groups.h"

namespace sightline {

// Of one query.  Immutable.
class TwoStageRow {
 public:
  // `retrieval` has the scores of all candidates, none of them NaN, and outlives the row.  At most
  // `depth` are reranked.
  TwoStageRow(absl::Span<const float> retrieval, int depth);

  // Those, best first; which of several that tie at the end, their order decides.
  absl::Span<const int> best() const { return best_; }

  // `rerank` has the scores of best(); those of the first `method.depth`, and their retrieval
  // scores, are finite.  Ties count by `ties` within the block and behind it, never across.
  std::vector<TieGroup> Rank(const Method& method, absl::Span<const RerankScore> rerank,
                             absl::Span<const int> relevant, TieRule ties) const;

 private:
  std::vector<TieGroup> RankBlock(const Method& method, absl::Span<const RerankScore> rerank,
                                  absl::Span<const int> relevant, TieRule ties) const;
  std::vector<TieGroup> RankRest(size_t depth, absl::Span<const int> relevant, TieRule ties) const;

  const absl::Span<const float> retrieval_;
  std::vector<int> best_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_TWO_STAGE_H_
