// Ranks in this process, with the code that the servers run: encoders, exact search over
// all shards, features from the store, cross-encoder, combination and order.
//
// The cross-encoder reads each pair once; every depth and combination follows from these
// numbers.
#ifndef SIGHTLINE_COMMON_EVALUATION_STORE_RANKER_H_
#define SIGHTLINE_COMMON_EVALUATION_STORE_RANKER_H_

#include <vector>

#include "common/embedding/candidate.h"
#include "common/embedding/score.h"
#include "common/evaluation/evaluation_store.h"
#include "common/evaluation/ranker.h"

namespace sightline {

class StoreRanker : public Ranker {
 public:
  // `store` outlives the ranker.
  explicit StoreRanker(const EvaluationStore* store) : store_(*store) {}

  // So many that the pairs of one call keep all threads busy, and so few that their
  // features take some tens of megabytes.
  int batch_size() const override { return 32; }

  // FailedPrecondition for a depth without a cross-encoder; InvalidArgument for an item
  // that the store lacks or a text that the model refuses.
  absl::StatusOr<Rankings> Rank(const RankRequest& request, const CallContext& call) override;

 private:
  // One list for each query.
  using Candidates = std::vector<std::vector<Candidate>>;
  using Scores = std::vector<std::vector<absl::optional<RerankScore>>>;

  absl::StatusOr<std::vector<Candidate>> FindImages(const RankRequest& request) const;
  absl::StatusOr<EmbeddingMatrix> Embed(const RankRequest& request, const CallContext& call) const;
  absl::StatusOr<std::vector<ItemFeatures>> QueryFeatures(const RankRequest& request) const;
  // Of the first `depth` candidates of each query.
  absl::StatusOr<Scores> Score(const RankRequest& request, const Candidates& candidates, int depth,
                               const CallContext& call) const;

  const EvaluationStore& store_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_STORE_RANKER_H_
