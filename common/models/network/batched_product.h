// Products of many small matrices, as attention's.  LibTorch without MKL, as distributions build
// it, takes them one by one to a BLAS, which takes longer to get to work than to do it.
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_BATCHED_PRODUCT_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_BATCHED_PRODUCT_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sightline {

// Of more multiplications a product is no small one, and a BLAS is as fast or faster.
inline constexpr int64_t kMostOfSmall = int64_t{1} << 18;

// a[i] b[i] of every i: ... x M x K times ... x K x N, with the same one or two dimensions in
// front, on one device, and of one type unless they are rounded.  With gradients, though not of
// gradients.
//
// In float32 on a CPU small ones are computed by kernels of ours (small_products.h): there the bits
// of each number depend on its row and its column alone, and where `b` is of heads, B x h x L x d
// that lies as B x L x h x d, so is the product, and they are put together again without a copy.
// All else, and where products are rounded (autocast.h), is at::matmul's.
at::Tensor BatchedProduct(const at::Tensor& a, const at::Tensor& b);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_BATCHED_PRODUCT_H_
