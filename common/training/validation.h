// How well a model finds: text to image over all pictures of a set, and with a cross-encoder
// image to text over all captions that may be read, too; and how the cross-encoder's order of
// the first candidates compares.
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
  std::vector<int64_t> items;        // rows of pictures, or captions
  std::vector<float> retrieval;      // cosine
  std::vector<RerankScore> reranks;  // of the first of them, by the cross-encoder
  std::vector<bool> right;
};

// Over the candidates in the order of `combination`, ties in the order of retrieval;
// without, in the order of retrieval.  A right answer beyond the candidates is not found.
Recall RecallOf(const std::vector<RankedQuery>& queries, const Combination* combination);

// Whether `a` is higher at recall at 1, then at mean reciprocal rank.
bool IsBetter(const Recall& a, const Recall& b);

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
  // A caption, and the rows that are right for it; or a row, and the captions.
  struct Query {
    int64_t asking = 0;
    std::vector<int64_t> right;  // sorted
  };
  // Queries of one direction, at least one, and what they search.
  struct Questions {
    bool by_text = true;
    const std::vector<Query>& queries;
    at::Tensor embeddings;  // of the queries
    const std::vector<int64_t>& pool;
    at::Tensor pool_embeddings;
  };

  std::vector<Query> TextQueries(const std::vector<int64_t>& rows) const;
  std::vector<Query> ImageQueries(const std::vector<int64_t>& rows) const;
  static std::vector<int64_t> Asking(const std::vector<Query>& queries);
  std::vector<RankedQuery> Retrieve(const Questions& questions) const;
  absl::Status Rerank(const Questions& questions, JointNet* net, GridSource* source,
                      const CallContext& call, std::vector<RankedQuery>* ranked) const;
  absl::StatusOr<QueriesReport> Ask(const Questions& questions, JointNet* reranker,
                                    GridSource* source, const CallContext& call) const;

  const TrainingSet& set_;
  const TrainingOptions& options_;
  const ScoreKind kind_;
  std::vector<int64_t> rows_;      // all
  std::vector<int64_t> captions_;  // all but those of held-out rows
  std::vector<Query> validation_;
  std::vector<Query> training_;
  std::vector<Query> validation_images_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_VALIDATION_H_
