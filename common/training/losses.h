// What training minimises.  All in float32, whatever the network computes in.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_LOSSES_H_
#define SIGHTLINE_COMMON_TRAINING_LOSSES_H_

#include <ATen/core/Tensor.h>

namespace sightline {

// A loss and how often the right answer came first.  Both are scalars on the inputs'
// device; `first` is a share and has no gradient.
struct Loss {
  at::Tensor value;
  at::Tensor first;
};

// Bi-encoder losses.  texts B x H and images (B + D) x H are of length one; image i < B is
// right for text i.  related B x (B + D), bool: pairs that count neither as right nor as
// wrong; false on the diagonal.  `first` looks from text to image.

// Softmax cross-entropy of exp(log_scale) * cosine, mean over texts (against all images)
// and over the first B images (against all texts), halved ("CLIP", Radford et al., 2021).
Loss ContrastiveLoss(const at::Tensor& texts, const at::Tensor& images, const at::Tensor& related,
                     const at::Tensor& log_scale);

// Mean over i of relu(d_ii - min_j d_ij + margin) + relu(d_ii - min_j d_ji + margin), where
// d is one minus cosine and j runs over what is wrong for i: related pairs and the pair
// itself get 2 added, the largest distance that there is ("Retrieve Fast, Rerank Smart").
Loss HingeLoss(const at::Tensor& texts, const at::Tensor& images, const at::Tensor& related,
               double margin);

// Cross-encoder losses.  logits P x C x 2 (no match, match); candidate 0 of each of P
// problems is right.

// Softmax cross-entropy over the candidates' match - no match, mean over problems.
Loss ListwiseLoss(const at::Tensor& logits);

// Two-class cross-entropy of each pair, mean over all pairs.
Loss PairwiseLoss(const at::Tensor& logits);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_LOSSES_H_
