// How well a model finds: text to image over all pictures of a set, and how the
// cross-encoder's order of the first candidates compares.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_VALIDATION_H_
#define SIGHTLINE_COMMON_TRAINING_VALIDATION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/embedding/score.h"
#include "common/training/grid_source.h"
#include "common/training/joint_net.h"
#include "common/training/joint_trainer.h"
#include "common/training/training_rows.h"
#include "common/training/training_set.h"

namespace sightline {

// The first candidates of one query, best first.
struct RankedQuery {
  std::vector<int64_t> rows;
  std::vector<float> retrieval;      // cosine
  std::vector<RerankScore> reranks;  // of the first of them, by the cross-encoder
  std::vector<bool> right;
};

// Over the candidates in the order of `combination`, ties in the order of retrieval;
// without, in the order of retrieval.  A right answer beyond the candidates is not found.
Recall RecallOf(const std::vector<RankedQuery>& queries, const Combination* combination);

// The combination that is best at recall at 1, then at mean reciprocal rank: the
// cross-encoder alone, or one of the weighted sums with 0.1 to 0.9.
CombinedRecall BestCombination(const std::vector<RankedQuery>& queries);

// Immutable.  What it is made of must outlive it.
class Validator {
 public:
  // Chooses the queries.  `kind`: what the model's score is.
  Validator(const TrainingSet* set, const TrainingRows* rows, const TrainingOptions* options,
            ScoreKind kind);

  // Fills all of a report but stage, step, epoch and time: `retriever` retrieves, and
  // `reranker`, which may be the same, reranks unless it is null.  The nets' modes are
  // restored.  Cancelled, DeadlineExceeded when `call` ends.
  absl::StatusOr<ValidationReport> Run(JointNet* retriever, JointNet* reranker, GridSource* source,
                                       const CallContext& call) const;

 private:
  // A caption, and the rows that are right for it, sorted.
  struct Query {
    int64_t caption = 0;
    std::vector<int64_t> right;
  };

  std::vector<Query> QueriesOf(const std::vector<int64_t>& rows) const;
  std::vector<RankedQuery> Retrieve(const std::vector<Query>& queries, const at::Tensor& images,
                                    JointNet* net) const;
  absl::Status Rerank(const std::vector<Query>& queries, JointNet* net, GridSource* source,
                      const CallContext& call, std::vector<RankedQuery>* ranked) const;
  absl::StatusOr<QueriesReport> Ask(const std::vector<Query>& queries, const at::Tensor& images,
                                    JointNet* retriever, JointNet* reranker, GridSource* source,
                                    const CallContext& call) const;

  const TrainingSet& set_;
  const TrainingOptions& options_;
  const ScoreKind kind_;
  std::vector<Query> validation_;
  std::vector<Query> training_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_VALIDATION_H_
