// What a learner's network gives, as objectives and rankings compare it.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_LEARNER_OUTPUTS_H_
#define SIGHTLINE_COMMON_TRAINING_LEARNER_OUTPUTS_H_

#include <ATen/ATen.h>

#include "common/models/network/trainable_network.h"

namespace sightline {

// Embeddings B x D, of length one where the bundle compares by cosine.
inline at::Tensor ComparedRows(const TrainableNetwork& learner, const at::Tensor& rows) {
  if (!learner.cosine) return rows;
  return rows / rows.norm(2, {1}, /*keepdim=*/true).clamp_min(1e-12);
}

// A head's outputs, B x 2 or B x 1, as pair losses read them: logits as they are, a probability as
// the raw score that it is the sigmoid of.
inline at::Tensor PairLogitsOf(const TrainableNetwork& learner, const at::Tensor& heads) {
  constexpr double kLeastProbability = 1e-6;
  return learner.scores_probabilities ? at::logit(heads, kLeastProbability) : heads;
}

// The same as probabilities of a match, B.
inline at::Tensor MatchProbabilities(const TrainableNetwork& learner, const at::Tensor& heads) {
  if (heads.size(1) == 2) return at::softmax(heads, 1).select(1, 1);
  return learner.scores_probabilities ? heads.select(1, 0) : at::sigmoid(heads.select(1, 0));
}

// The same as numbers that rank alike and do not saturate: one score, or match minus no match.
inline at::Tensor RankingScores(const at::Tensor& heads) {
  return heads.size(1) == 1 ? heads.select(1, 0) : heads.select(1, 1) - heads.select(1, 0);
}

// Whether the network norms by what it computes together, when it learns: what keeps running
// statistics does.
inline bool NormsByBatch(const TrainableNetwork& learner) {
  return !learner.module->buffers().empty();
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_LEARNER_OUTPUTS_H_
