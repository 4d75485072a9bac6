// Who is most alike among those that are wrong, by embeddings.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_NEAREST_ROWS_H_
#define SIGHTLINE_COMMON_TRAINING_NEAREST_ROWS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace sightline {

// For each row of `queries`, Q x D, the `kept` rows of `pool`, P x D, of the largest inner product
// for which is_wrong(query, row), largest first: Q x kept, -1 where there are no more.  Both on
// one device.
std::vector<int64_t> NearestRows(const at::Tensor& queries, const at::Tensor& pool, int64_t kept,
                                 const std::function<bool(int64_t query, int64_t row)>& is_wrong);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_NEAREST_ROWS_H_
