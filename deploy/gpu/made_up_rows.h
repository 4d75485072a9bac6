// Rows that checks search.
#ifndef SIGHTLINE_DEPLOY_GPU_MADE_UP_ROWS_H_
#define SIGHTLINE_DEPLOY_GPU_MADE_UP_ROWS_H_

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "common/base/compute_pool.h"
#include "common/base/float16.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/vector_index.h"
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

// Queries as users have them whose items are like what they ask for: rows from all over `rows`,
// each moved by half as much as rows are from their vectors.
inline EmbeddingMatrix QueriesNear(const VectorView& rows, int64_t count) {
  constexpr float kMoved = 0.5f;
  EmbeddingMatrix queries(count, rows.dimension);
  for (int64_t i = 0; i < count; ++i) {
    // By a prime, so that they are of many vectors.
    const int64_t row = (i + 1) * 7919 % rows.rows;
    const std::vector<float> moves = UnitVector(rows.dimension, 2000000 + i);
    float* const query = queries.mutable_row(i).data();
    Float16ToFloat32(rows.row(row), rows.dimension, query);
    float squares = 0;
    for (int j = 0; j < rows.dimension; ++j) {
      query[j] += kMoved * moves[j];
      squares += query[j] * query[j];
    }
    for (int j = 0; j < rows.dimension; ++j) query[j] /= std::sqrt(squares);
  }
  return queries;
}

}  // namespace sightline

#endif  // SIGHTLINE_DEPLOY_GPU_MADE_UP_ROWS_H_
