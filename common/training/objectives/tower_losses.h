// Losses over a batch of texts and images, each of which is compared with all of the others:
// by two towers' embeddings, or by a cross-encoder that has scored every pair.
//
// There are B texts and B + D images; image i < B is right for text i, and what else there is
// is wrong.  `related` B x (B + D), bool, marks pairs that count neither as right nor as wrong;
// it is false on the diagonal, and undefined where there are none.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_OBJECTIVES_TOWER_LOSSES_H_
#define SIGHTLINE_COMMON_TRAINING_OBJECTIVES_TOWER_LOSSES_H_

#include <ATen/core/Tensor.h>

#include "common/training/objectives/loss.h"
#include "common/training/objectives/loss_choices.h"

namespace sightline {

// Embeddings of a batch; of length one where a loss says "cosine".
struct TowerRows {
  at::Tensor texts;   // B x H
  at::Tensor images;  // (B + D) x H
  at::Tensor related;
  // Made to be wrong, each for every item of the other side: N x H and M x H, undefined for
  // none.
  at::Tensor hard_texts;
  at::Tensor hard_images;
};

// One score for each pair, B x (B + D).
struct BatchScores {
  at::Tensor scores;
  at::Tensor related;
};

// In each loss `first` looks from text to image.

// Softmax cross-entropy of s_ij = exp(log_scale) e_i e_j, mean over texts (against all images)
// and over the first B images (against all texts), halved.  Without a scale, undefined, it is
// cross-modal retrieval, over raw inner products, with nothing related ("LightningDOT", Sun et
// al., 2021); with a learned one, over cosines, CLIP's (Radford et al., 2021).
Loss ContrastiveLoss(const TowerRows& rows, const at::Tensor& log_scale);

// L_t + L_v over cosines, where
//   L_t = mean_i -log e^(t_i v_i / T) / sum_j (e^(t_i v_j / T) + e^(t_i v'_j / T)),
// v' are hard images, and L_v is the same from image to text, with hard texts ("VLDeformer",
// Zhang et al., 2022; T 0.005).  Without hard ones it is what the released code trains.
Loss DecomposedLoss(const TowerRows& rows, double temperature);

// Mean over i, or the sum, of relu(d_ii - min_j d_ij + margin) + relu(d_ii - min_j d_ji + margin),
// where d is one minus cosine and j runs over what is wrong for i, hard ones included: related
// pairs and the pair itself get 2 added, the largest distance that there is ("Retrieve Fast, Rerank
// Smart", Geigle et al., 2022; margin 0.1; the paper sums, its code takes the mean).
Loss HingeLoss(const TowerRows& rows, double margin, BatchReduction reduction);

// Sum over i of what the wrong j cost, relu(margin + s_ij - s_ii) and relu(margin + s_ji - s_ii):
// the dearest of each direction, or all of them together ("Similarity Reasoning and Filtration
// for Image-Text Matching", Diao et al., 2021; the hardest after VSE++, Faghri et al., 2018;
// margin 0.2).  Scores lie within 2 of each other, as probabilities and cosines do.
Loss MatrixHingeLoss(const BatchScores& matrix, double margin, WrongPairs wrong);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_OBJECTIVES_TOWER_LOSSES_H_
