#include "common/kernels/inner_products.h"

#include <cmath>
#include <limits>

namespace sightline::kernels {
namespace {

int64_t Padded(int64_t count) {
  return (count + kQueryPanelWidth - 1) / kQueryPanelWidth * kQueryPanelWidth;
}

}  // namespace

QueryPanels::QueryPanels(const float* queries, int64_t stride, int64_t count, int64_t dimension)
    : count_(count),
      dimension_(dimension),
      panels_(Padded(count) * dimension * static_cast<int64_t>(sizeof(float))) {
  float* const panels = reinterpret_cast<float*>(panels_.data());
  for (int64_t query = 0; query < count; ++query) {
    const int64_t place = query % kQueryPanelWidth;
    float* to = panels + (query - place) * dimension + place;
    for (int64_t k = 0; k < dimension; ++k, to += kQueryPanelWidth)
      *to = queries[query * stride + k];
  }
}

int64_t QueryPanels::padded_count() const {
  return Padded(count_);
}

InnerProducts QueryPanels::Products() const {
  InnerProducts products;
  products.panels = reinterpret_cast<const float*>(panels_.data());
  products.query_count = count_;
  products.dimension = dimension_;
  return products;
}

float InnerProductError(int64_t dimension, double length_a, double length_b) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // What rounds a term: its product and at most dimension - 1 sums; two for good measure.
  const double roundings = static_cast<double>(dimension) + 2;
  const double unit = roundings * 0x1p-24;
  if (unit >= 0.5) return kInfinity;
  const double gamma = unit / (1 - unit);
  const double product = length_a * length_b;
  // Also where one is infinite and the other zero.
  if (!(product * (1 + gamma) < std::numeric_limits<float>::max())) return kInfinity;
  // Of each sum: what is lost of its terms, and of its numbers below the normal ones.
  const double error = 2 * (gamma * product + 2 * roundings * 0x1p-126);
  return std::nextafter(static_cast<float>(error), kInfinity);
}

double LengthBound(const float* numbers, int64_t n) {
  constexpr int kLanes = 8;
  double squares[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const double x = numbers[i + lane];
      squares[lane] += x * x;
    }
  }
  for (; i < n; ++i) squares[0] += double{numbers[i]} * numbers[i];
  for (int lane = 1; lane < kLanes; ++lane) squares[0] += squares[lane];
  // Sums of double round by far less than that.
  const double length = std::sqrt(squares[0]) * (1 + 1e-9);
  return std::isnan(length) ? std::numeric_limits<double>::infinity() : length;
}

const InnerProductKernel& InnerProductKernelFor(const CpuFeatures& features) {
  return features.avx512 ? kAvx512InnerProducts : kAvx2InnerProducts;
}

}  // namespace sightline::kernels
