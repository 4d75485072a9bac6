// Rows that checks search.
#ifndef SIGHTLINE_DEPLOY_GPU_MADE_UP_ROWS_H_
#define SIGHTLINE_DEPLOY_GPU_MADE_UP_ROWS_H_

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "common/base/compute_pool.h"
#include "common/base/float16.h"
#include "deploy/gpu/check_tools.h"

namespace sightline {

// `count` rows of float16, around a thousand unit vectors.
inline std::vector<uint16_t> MadeUpRows(int64_t count, int dimension, ComputePool* pool) {
  constexpr int64_t kCentres = 1000;
  std::vector<std::vector<float>> centres(kCentres);
  for (int64_t i = 0; i < kCentres; ++i) centres[i] = UnitVector(dimension, i);
  std::vector<uint16_t> rows(count * dimension);
  pool->ParallelFor(count, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      // Cheap noise, as uniform numbers of the right length.
      std::minstd_rand random(static_cast<uint32_t>(row) * 2654435761u + 1);
      const float scale = std::sqrt(3.0f / static_cast<float>(dimension));
      std::vector<float> numbers = centres[row % kCentres];
      for (float& number : numbers) {
        number += scale * (static_cast<float>(random()) / 1073741824.0f - 1.0f);
      }
      Float32ToFloat16(numbers.data(), numbers.size(),
                       reinterpret_cast<char*>(rows.data() + row * dimension));
    }
  });
  return rows;
}

}  // namespace sightline

#endif  // SIGHTLINE_DEPLOY_GPU_MADE_UP_ROWS_H_
