// What an objective says of a batch.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_OBJECTIVES_LOSS_H_
#define SIGHTLINE_COMMON_TRAINING_OBJECTIVES_LOSS_H_

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

namespace sightline {

// A loss and how often the right answer came first.  Both are scalars on the inputs'
// device; `first` is a share and has no gradient, and is undefined where nothing is ranked.
struct Loss {
  at::Tensor value;
  at::Tensor first;
};

// Losses are computed in float32, whatever the network computes in; float64 stays.
inline at::Tensor InLossPrecision(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
}

// Mean over the first dimension of `x`, whose other dimensions are summed; 0 where there is
// nothing: a batch in which nothing is masked teaches nothing.
inline at::Tensor MeanOfRows(const at::Tensor& x) {
  return x.sum().div(std::max<int64_t>(x.size(0), 1));
}

// Share of rows whose largest number is the one at `column`; 0 of no rows.
inline at::Tensor ShareOfFirst(const at::Tensor& rows, const at::Tensor& column) {
  return MeanOfRows(rows.detach().argmax(1).eq(column).to(at::kFloat));
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_OBJECTIVES_LOSS_H_
