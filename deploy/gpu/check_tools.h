// What device_check and faiss_check have alike: queries, searches that must not fail, and where
// lists differ.
#ifndef SIGHTLINE_DEPLOY_GPU_CHECK_TOOLS_H_
#define SIGHTLINE_DEPLOY_GPU_CHECK_TOOLS_H_

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "common/base/call_context.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/vector_index.h"
#include "deploy/gpu/check_output.h"

namespace sightline {

using Lists = std::vector<std::vector<Neighbor>>;
using Seconds = std::chrono::duration<double>;

// Queries that are compared with the CPU's answers, and timed.
inline constexpr int kBatches[] = {1, 8, 64, 256};
// Of which the median is told.
inline constexpr int kRounds = 21;

// Unit vectors, of which some lie close together.
inline std::vector<float> UnitVector(int dimension, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(dimension);
  float squares = 0;
  for (float& number : numbers) {
    number = normal(random);
    squares += number * number;
  }
  for (float& number : numbers) number /= std::sqrt(squares);
  return numbers;
}

inline EmbeddingMatrix MadeUpQueries(int64_t count, int dimension) {
  EmbeddingMatrix queries(count, dimension);
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<float> query = UnitVector(dimension, 1000000 + i);
    std::copy(query.begin(), query.end(), queries.mutable_row(i).begin());
  }
  return queries;
}

inline Lists Search(const VectorIndex& index, const EmbeddingMatrix& queries,
                    const SearchOptions& options) {
  return ValueOrDie(index.Search(queries, options, CallContext::Unbounded()), 1);
}

// Of the first query whose lists differ; -1: none.
inline int FirstDifference(const Lists& a, const Lists& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same =
        std::equal(a[i].begin(), a[i].end(), b[i].begin(), b[i].end(),
                   [](const Neighbor& x, const Neighbor& y) {
                     return x.row == y.row && std::memcmp(&x.score, &y.score, sizeof(x.score)) == 0;
                   });
    if (!same) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace sightline

#endif  // SIGHTLINE_DEPLOY_GPU_CHECK_TOOLS_H_
