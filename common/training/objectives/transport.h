// How far the words of a text are from the regions of an image, by optimal transport: word-region
// alignment ("UNITER", Chen et al., 2020, 3.2), as its released code has it.
//
//   D = sum_ij T_ij c_ij,  c_ij = 1 - cos(w_i, v_j)
//
// where the plan T, whose rows add up to 1 / words and whose columns to 1 / regions, is found by
// IPOT ("A Fast Proximal Point Method for Computing Exact Wasserstein Distance", Xie et al., 2019)
// with beta 0.5, 50 outer steps and one inner one.  No gradient goes through the plan.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_OBJECTIVES_TRANSPORT_H_
#define SIGHTLINE_COMMON_TRAINING_OBJECTIVES_TRANSPORT_H_

#include <ATen/core/Tensor.h>

namespace sightline {

// Rows of B items, padded: B x L x H, and which of them are rows, B x L of 1 and 0; an undefined
// mask: all.  Each item has one at least.
struct PaddedItems {
  at::Tensor rows;
  at::Tensor mask;
};

// c: B x M x N.
at::Tensor CosineCosts(const PaddedItems& words, const PaddedItems& regions);

// T: B x M x N, 0 at padding, without a graph.  `words` and `regions` say by their masks what is
// padded.
at::Tensor TransportPlan(const at::Tensor& costs, const PaddedItems& words,
                         const PaddedItems& regions);

// D of each item: B.
at::Tensor TransportDistances(const PaddedItems& words, const PaddedItems& regions);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_OBJECTIVES_TRANSPORT_H_
