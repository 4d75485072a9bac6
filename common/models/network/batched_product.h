// Products of many small matrices, as attention's.  LibTorch without MKL, as distributions build
// it, takes them one by one to a BLAS, which takes longer to get to work than to do it.
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_BATCHED_PRODUCT_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_BATCHED_PRODUCT_H_

#include <ATen/core/Tensor.h>

namespace sightline {

// a[i] b[i] of every i: ... x M x K times ... x K x N, with the same one or two dimensions in
// front.  With gradients, and in float32 on a CPU by kernels of ours (small_products.h): there the
// bits of each number depend on its row and its column alone.  Else, and where products are rounded
// (autocast.h), as at::matmul.  What it makes lies as `b` does where that is by rows, so that heads
// that were taken apart are put together again without a copy.
at::Tensor BatchedProduct(const at::Tensor& a, const at::Tensor& b);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_BATCHED_PRODUCT_H_
