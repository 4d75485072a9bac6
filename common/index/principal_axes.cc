#include "common/index/principal_axes.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "common/base/status_macros.h"

namespace sightline {
namespace {

// What is left out of the best space after as many is of no account.
constexpr int kRounds = 8;
constexpr int64_t kLanes = 8;
// Rows of the sample that stay in the cache while they are added.
constexpr int64_t kRowsAtOnce = 64;

// y += a x
void AddScaled(float a, const float* x, int64_t n, float* y) {
  const __m256 factor = _mm256_set1_ps(a);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    _mm256_storeu_ps(y + i,
                     _mm256_fmadd_ps(factor, _mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i)));
  }
  for (; i < n; ++i) y[i] = std::fma(a, x[i], y[i]);
}

double Product(const float* x, const float* y, int64_t n) {
  double sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += double{x[i + lane]} * y[i + lane];
  }
  for (; i < n; ++i) sums[0] += double{x[i]} * y[i];
  double sum = 0;
  for (const double lane : sums) sum += lane;
  return sum;
}

// The sums of products of each two numbers of the rows, n x n.
std::vector<float> Moments(const Sample& sample, ComputePool* pool) {
  const int64_t n = sample.dimension;
  std::vector<float> moments(n * n);
  pool->ParallelFor(n, std::max<int64_t>(1, n / 16), [&](int64_t begin, int64_t end) {
    for (int64_t first = 0; first < sample.rows(); first += kRowsAtOnce) {
      const int64_t last = std::min(first + kRowsAtOnce, sample.rows());
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t row = first; row < last; ++row) {
          AddScaled(sample.row(row)[i], sample.row(row), n, moments.data() + i * n);
        }
      }
    }
  });
  return moments;
}

// Takes off each axis what the ones before it have, twice, as once leaves what rounding hid.  One
// that is left with nothing becomes zero.
void MakeOrthonormal(int64_t count, int64_t n, std::vector<float>* axes) {
  for (int64_t i = 0; i < count; ++i) {
    float* const axis = axes->data() + i * n;
    const double before = Product(axis, axis, n);
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t j = 0; j < i; ++j) {
        const float* const other = axes->data() + j * n;
        AddScaled(static_cast<float>(-Product(axis, other, n)), other, n, axis);
      }
    }
    const double squares = Product(axis, axis, n);
    const double scale = squares > 1e-10 * before ? 1 / std::sqrt(squares) : 0;
    for (int64_t k = 0; k < n; ++k) axis[k] = static_cast<float>(axis[k] * scale);
  }
}

}  // namespace

absl::StatusOr<std::vector<float>> PrincipalAxes(const Sample& sample, int64_t count, uint64_t seed,
                                                 ComputePool* pool, const CallContext& call) {
  const int64_t n = sample.dimension;
  const std::vector<float> moments = Moments(sample, pool);
  std::vector<float> axes(count * n);
  std::mt19937_64 random(seed);
  for (float& number : axes) number = static_cast<float>(random() >> 40) * 0x1p-23f - 1.0f;
  MakeOrthonormal(count, n, &axes);
  for (int round = 0; round < kRounds; ++round) {
    RETURN_IF_ERROR(call.Check("training of codes"));
    std::vector<float> next(count * n);
    pool->ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t k = 0; k < n; ++k) {
          AddScaled(axes[i * n + k], moments.data() + k * n, n, next.data() + i * n);
        }
      }
    });
    axes = std::move(next);
    MakeOrthonormal(count, n, &axes);
  }
  return axes;
}

}  // namespace sightline
