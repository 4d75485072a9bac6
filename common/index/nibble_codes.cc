#include "common/index/nibble_codes.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sightline {
namespace {

constexpr int64_t kCodesOfPart = 16;
constexpr int64_t kLanes = 8;

// What scalars are made of.  Sums of eight lanes, which the compiler keeps in registers.
class Products {
 public:
  // Of numbers `r`, `c` and `s` of residual, centroid and code at place `i`.
  void Add(int64_t i, float r, float c, float s) {
    const int64_t lane = i % kLanes;
    rr_[lane] += r * r;
    rs_[lane] += r * s;
    cr_[lane] += c * r;
    cs_[lane] += c * s;
  }

  NibbleScalars Scalars() const {
    const double rr = Sum(rr_), rs = Sum(rs_);
    const double slope = rs > 0 ? rr / rs : 0;
    const double offset = Sum(cr_) - slope * Sum(cs_);
    const NibbleScalars scalars = {static_cast<float>(slope), static_cast<float>(offset)};
    return std::isfinite(scalars.slope) && std::isfinite(scalars.offset) ? scalars : kLastOfAll;
  }

 private:
  static double Sum(const float* lanes) {
    double sum = 0;
    for (int64_t lane = 0; lane < kLanes; ++lane) sum += lanes[lane];
    return sum;
  }

  float rr_[kLanes] = {}, rs_[kLanes] = {}, cr_[kLanes] = {}, cs_[kLanes] = {};
};

// The code of the part whose numbers are [begin, end) of `residual`.
uint8_t NearestCode(const float* residual, int64_t begin, int64_t end, const float* codebooks) {
  __m256 low = _mm256_setzero_ps(), high = low;
  for (int64_t j = begin; j < end; ++j) {
    const __m256 x = _mm256_set1_ps(residual[j]);
    const __m256 a = _mm256_sub_ps(x, _mm256_loadu_ps(codebooks + j * kCodesOfPart));
    const __m256 b = _mm256_sub_ps(x, _mm256_loadu_ps(codebooks + j * kCodesOfPart + kLanes));
    low = _mm256_fmadd_ps(a, a, low);
    high = _mm256_fmadd_ps(b, b, high);
  }
  float distances[kCodesOfPart];
  _mm256_storeu_ps(distances, low);
  _mm256_storeu_ps(distances + kLanes, high);
  return static_cast<uint8_t>(std::min_element(distances, distances + kCodesOfPart) - distances);
}

}  // namespace

NibbleScalars EncodeSigns(const float* row, const float* centroid, int64_t size, uint8_t* groups) {
  Products products;
  for (int64_t i = 0; i < size; i += 4) {
    unsigned bits = 0;
    for (int64_t j = 0; j < 4; ++j) {
      const float residual = row[i + j] - centroid[i + j];
      const bool positive = residual > 0;
      bits |= static_cast<unsigned>(positive) << j;
      products.Add(i + j, residual, centroid[i + j], positive ? 1.0f : -1.0f);
    }
    groups[i / 4] = static_cast<uint8_t>(bits);
  }
  return products.Scalars();
}

void TablesOfSigns(const float* query, int64_t size, float* values) {
  const __m256 first = _mm256_setr_ps(-1, 1, -1, 1, -1, 1, -1, 1);
  const __m256 second = _mm256_setr_ps(-1, -1, 1, 1, -1, -1, 1, 1);
  const __m256 third = _mm256_setr_ps(-1, -1, -1, -1, 1, 1, 1, 1);
  for (int64_t i = 0; i < size; i += 4, values += kCodesOfPart) {
    __m256 sum = _mm256_mul_ps(_mm256_set1_ps(query[i]), first);
    sum = _mm256_fmadd_ps(_mm256_set1_ps(query[i + 1]), second, sum);
    sum = _mm256_fmadd_ps(_mm256_set1_ps(query[i + 2]), third, sum);
    const __m256 fourth = _mm256_set1_ps(query[i + 3]);
    _mm256_storeu_ps(values, _mm256_sub_ps(sum, fourth));
    _mm256_storeu_ps(values + kLanes, _mm256_add_ps(sum, fourth));
  }
}

NibbleScalars EncodeParts(const float* row, const float* centroid, const IvfShape& shape,
                          const float* codebooks, uint8_t* groups) {
  std::vector<float> residual(shape.dimension);
  for (int j = 0; j < shape.dimension; ++j) residual[j] = row[j] - centroid[j];
  Products products;
  for (int64_t p = 0; p < shape.parts; ++p) {
    const int64_t begin = shape.PartBegin(p), end = shape.PartBegin(p + 1);
    groups[p] = NearestCode(residual.data(), begin, end, codebooks);
    for (int64_t j = begin; j < end; ++j) {
      products.Add(j, residual[j], centroid[j], codebooks[j * kCodesOfPart + groups[p]]);
    }
  }
  return products.Scalars();
}

void TablesOfParts(const float* query, const IvfShape& shape, const float* codebooks,
                   float* values) {
  for (int64_t p = 0; p < shape.parts; ++p, values += kCodesOfPart) {
    __m256 low = _mm256_setzero_ps(), high = low;
    for (int64_t j = shape.PartBegin(p); j < shape.PartBegin(p + 1); ++j) {
      const __m256 x = _mm256_set1_ps(query[j]);
      low = _mm256_fmadd_ps(x, _mm256_loadu_ps(codebooks + j * kCodesOfPart), low);
      high = _mm256_fmadd_ps(x, _mm256_loadu_ps(codebooks + j * kCodesOfPart + kLanes), high);
    }
    _mm256_storeu_ps(values, low);
    _mm256_storeu_ps(values + kLanes, high);
  }
}

}  // namespace sightline
