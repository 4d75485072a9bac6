// What a network makes of texts and pictures that it does not learn from: embeddings and scores in
// evaluation mode and without gradients, in passes of like lengths that fit into memory.  What
// development, mining and teachers ask for.  Results are those of one item at a time, but for
// rounding.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_CORPUS_OUTPUTS_H_
#define SIGHTLINE_COMMON_TRAINING_CORPUS_OUTPUTS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/models/network/trainable_network.h"
#include "common/training/learnt_pairs.h"

namespace sightline {

// A network's mode is evaluation while one of these lives, then what it was.
class EvaluationMode {
 public:
  explicit EvaluationMode(const TrainableNetwork& learner)
      : module_(*learner.module), was_training_(module_.is_training()) {
    module_.eval();
  }
  ~EvaluationMode() { module_.train(was_training_); }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  torch::nn::Module& module_;
  const bool was_training_;
};

// Of N texts the rows that are compared (ComparedRows), N x D, in their order.  Errors as the
// call's.
absl::StatusOr<at::Tensor> EmbedTexts(const TrainableNetwork& learner,
                                      const std::vector<TokenSpan>& texts, const CallContext& call);

// The same of pictures `begin` to below `end`, at least one, which are read as they are needed.
// Errors as LearntPairs::ReadImage and the call's.
absl::StatusOr<at::Tensor> EmbedPictures(const LearntPairs& pairs, int64_t begin, int64_t end,
                                         const CallContext& call);

// RankingScores of N pairs of these lengths (tokens and regions), N, in their order.
absl::StatusOr<at::Tensor> ScorePrepared(const TrainableNetwork& learner,
                                         const std::vector<NetworkPair>& pairs,
                                         const std::vector<int64_t>& lengths,
                                         const CallContext& call);

// The same of captions with pictures, by number; pictures are read as they are needed.  Errors as
// LearntPairs::ReadImage and the call's.
absl::StatusOr<at::Tensor> ScoreCaptioned(const LearntPairs& pairs,
                                          absl::Span<const std::pair<int64_t, int64_t>> captioned,
                                          const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_CORPUS_OUTPUTS_H_
