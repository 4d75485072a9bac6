#include "common/index/code_space.h"

#include <vector>

#include "common/kernels/cpu.h"

namespace sightline {

void CodeSpace::Place(const float* vector, const kernels::Int16Query& codes, float* placed) const {
  if (axes_ == nullptr) {
    rotation_.Rotate(vector, placed);
    return;
  }
  std::vector<int32_t> sums(count_);
  kernels::Int8RowKernelFor(kernels::ThisCpu())
      .products(codes.codes.data(), axes_, axis_bytes_, count_, axis_bytes_, sums.data());
  std::vector<float> along(count_);
  for (int64_t i = 0; i < count_; ++i) {
    along[i] = kernels::Int8Product(codes, {scales_[i], 0, 0}, sums[i]);
  }
  rotation_.Rotate(along.data(), placed);
}

void CodeSpace::Place(const float* vector, int64_t dimension, float* placed) const {
  Place(vector, kernels::Int16Query(vector, dimension), placed);
}

}  // namespace sightline
