#include "common/index/nearest_centroids.h"

#include <algorithm>
#include <limits>

#include "common/kernels/cpu.h"
#include "common/kernels/inner_products.h"

namespace sightline {
namespace {

// Rows whose panels stay in a core's L2 cache beside a block of centroids.
constexpr int64_t kTileRows = 64;

}  // namespace

NearestCentroids::NearestCentroids(const float* centroids, int64_t count, int dimension)
    : dimension_(dimension), count_(count), centroids_(count * (int64_t{dimension} + 1)) {
  for (int64_t i = 0; i < count; ++i) {
    float* const to = centroids_.data() + i * (dimension + 1);
    std::copy_n(centroids + i * dimension, dimension, to);
    double squares = 0;
    for (int j = 0; j < dimension; ++j) squares += double{to[j]} * to[j];
    to[dimension] = static_cast<float>(-squares / 2);
  }
}

void NearestCentroids::Assign(const float* rows, int64_t count, int32_t* nearest) const {
  for (int64_t first = 0; first < count; first += kTileRows) {
    AssignTile(rows + first * dimension_, std::min(kTileRows, count - first), nearest + first);
  }
}

void NearestCentroids::AssignTile(const float* rows, int64_t count, int32_t* nearest) const {
  const int64_t width = int64_t{dimension_} + 1;
  std::vector<float> widened(count * width, 1.0f);
  for (int64_t i = 0; i < count; ++i) {
    std::copy_n(rows + i * dimension_, dimension_, widened.data() + i * width);
  }
  const kernels::QueryPanels panels(widened.data(), width, count, width);
  std::vector<float> best(panels.padded_count(), std::numeric_limits<float>::infinity());
  std::fill_n(best.begin(), count, -std::numeric_limits<float>::infinity());
  std::fill_n(nearest, count, 0);

  const kernels::InnerProductKernel& kernel = kernels::InnerProductKernelFor(kernels::ThisCpu());
  kernels::InnerProducts products = panels.Products();
  products.row_stride = width;
  products.limits = best.data();
  std::vector<kernels::Reached> reached(kernels::kMostProductRows * count);
  for (int64_t first = 0; first < count_; first += kernels::kMostProductRows) {
    products.rows = centroids_.data() + first * width;
    products.row_count = std::min(kernels::kMostProductRows, count_ - first);
    const int64_t found = kernel.find(products, reached.data());
    for (int64_t i = 0; i < found; ++i) {
      const kernels::Reached& one = reached[i];
      if (!(one.product > best[one.query])) continue;
      best[one.query] = one.product;
      nearest[one.query] = static_cast<int32_t>(first + one.row);
    }
  }
}

}  // namespace sightline
