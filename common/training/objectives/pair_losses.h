// Losses of a cross-encoder over pairs.
//
// A pair's logits are two (no match, match), or one: a raw score, which stands for match minus
// no match.  Then sigmoid(raw) is the softmax's probability of a match, and binary
// cross-entropy and that of two classes are the same number.
//
// Problems: logits P x C x 2 or P x C x 1; candidate 0 of each of P problems is right, the
// others are wrong.  `first` is the share of problems whose right candidate scores highest.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_OBJECTIVES_PAIR_LOSSES_H_
#define SIGHTLINE_COMMON_TRAINING_OBJECTIVES_PAIR_LOSSES_H_

#include <ATen/core/Tensor.h>

#include "common/training/objectives/loss.h"

namespace sightline {

// Softmax cross-entropy over the candidates' match - no match, mean over problems ("Learning to
// Rank: From Pairwise Approach to Listwise Approach", Cao et al., 2007, with one right).
Loss ListwiseLoss(const at::Tensor& logits);

// Two-class cross-entropy of each pair, mean over all pairs.  With one wrong candidate: OSCAR's
// matched and mismatched pair (Li et al., 2020), and the cross-encoder's loss of "Retrieve Fast,
// Rerank Smart" (Geigle et al., 2022).
Loss PairwiseLoss(const at::Tensor& logits);

// The same of N pairs, each with a label of its own: image-text matching ("UNITER", Chen et al.,
// 2020).  logits N x 2 or N x 1, matches N, nonzero for a match.  `first` is the share of pairs
// that are told rightly.
Loss MatchingLoss(const at::Tensor& logits, const at::Tensor& matches);

// Mean over all wrong candidates of relu(margin + sigmoid(wrong) - sigmoid(right)): UNITER's
// ranking loss (its image-text retrieval, margin 0.2).
Loss SigmoidHingeLoss(const at::Tensor& logits, double margin);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_OBJECTIVES_PAIR_LOSSES_H_
