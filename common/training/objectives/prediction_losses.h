// Losses of predictions against what was there: masked words and regions, and the scores of a
// teacher.  The mean is over the N rows that were predicted; of none it is 0.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_OBJECTIVES_PREDICTION_LOSSES_H_
#define SIGHTLINE_COMMON_TRAINING_OBJECTIVES_PREDICTION_LOSSES_H_

#include <ATen/core/Tensor.h>

#include "common/training/objectives/loss.h"
#include "common/training/objectives/loss_choices.h"

namespace sightline {

struct Predictions {
  at::Tensor predicted;
  at::Tensor targets;  // without a gradient
};

// Masked language modelling: cross-entropy of logits N x V against token ids N, mean over masked
// tokens (Devlin et al., 2019).  Of rows to which the image's global vector was added: VMLM
// ("LightningDOT", Sun et al., 2021).  Of rows of words in the picture, with the text's global
// vector: masked scene-text modelling, -log P(s_m | V without s_m, w_CLS), of the scene-text
// aware dual encoder.  `first`: share of tokens that are predicted.
Loss MaskedTokenLoss(const Predictions& tokens);

// Masked region feature regression: squared difference of predicted and true features, N x F,
// mean over numbers and masked regions ("UNITER", Chen et al., 2020).
Loss RegionFeatureLoss(const Predictions& features);

// Masked region classification: KL(soft label || softmax(logits)), N x K each, mean over masked
// regions ("UNITER", MRC-kl).  Summed over classes in the paper, and averaged in its code, which
// for 1 601 classes makes it that much smaller beside clipping.  `first`: share of regions whose
// likeliest class is the label's.
Loss RegionClassLoss(const Predictions& classes, ClassReduction reduction);

// T^2 KL(softmax(teacher / T) || softmax(student / T)) over the candidates of each of N problems,
// mean over problems: scores N x C of two models for the same pairs ("Distilling the Knowledge in
// a Neural Network", Hinton et al., 2015; T^2 keeps the gradients' size).  LightningDOT's code
// distils a UNITER so, averaged over candidates.  `first`: share of problems whose best candidate
// is the teacher's.
Loss DistillationLoss(const Predictions& scores, double temperature, ClassReduction reduction);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_OBJECTIVES_PREDICTION_LOSSES_H_
