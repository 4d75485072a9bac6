#include "common/index/nibble_codes.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sightline {
namespace {

constexpr int64_t kCodesOfPart = 16;
constexpr int64_t kLanes = 8;

// A sum of products in eight lanes, which the compiler keeps in registers.
class Sum {
 public:
  void Add(int64_t i, float product) { lanes_[i % kLanes] += product; }
  double value() const {
    double sum = 0;
    for (const float lane : lanes_) sum += lane;
    return sum;
  }

 private:
  float lanes_[kLanes] = {};
};

NibbleScalars ScalarsOf(const ResidualProducts& products, double residual_code,
                        double centroid_code) {
  const double slope = residual_code > 0 ? products.residual_residual / residual_code : 0;
  const double offset = products.centroid_residual - slope * centroid_code;
  const NibbleScalars scalars = {static_cast<float>(slope), static_cast<float>(offset)};
  return std::isfinite(scalars.slope) && std::isfinite(scalars.offset) ? scalars : kLastOfAll;
}

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

// Of numbers spread normally with deviation one: the levels, and what lies between them.
constexpr float kInnerLevel = 0.4528f;
constexpr float kOuterLevel = 1.5104f;
constexpr float kBetweenLevels = 0.9816f;

float LevelOf(unsigned code) {
  const float level = (code & 1) != 0 ? kOuterLevel : kInnerLevel;
  return (code & 2) != 0 ? level : -level;
}

// The sign, and whether the number is among the larger ones.
unsigned LevelCode(float number, float between) {
  return static_cast<unsigned>(number > 0) << 1 |
         static_cast<unsigned>(std::fabs(number) > between);
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

void TablesOfLevels(const float* query, int64_t size, float* values) {
  const __m256 inner = _mm256_setr_ps(-kInnerLevel, -kOuterLevel, kInnerLevel, kOuterLevel,
                                      -kInnerLevel, -kOuterLevel, kInnerLevel, kOuterLevel);
  const __m256 low = _mm256_setr_ps(-kInnerLevel, -kInnerLevel, -kInnerLevel, -kInnerLevel,
                                    -kOuterLevel, -kOuterLevel, -kOuterLevel, -kOuterLevel);
  for (int64_t i = 0; i < size; i += 2, values += kCodesOfPart) {
    const __m256 first = _mm256_mul_ps(_mm256_set1_ps(query[i]), inner);
    const __m256 second = _mm256_set1_ps(query[i + 1]);
    _mm256_storeu_ps(values, _mm256_fmadd_ps(second, low, first));
    _mm256_storeu_ps(values + kLanes, _mm256_fnmadd_ps(second, low, first));
  }
}

}  // namespace

ResidualProducts ProductsOf(const float* row, const float* centroid, int64_t dimension) {
  Sum residual_residual, centroid_residual;
  for (int64_t i = 0; i < dimension; ++i) {
    const float residual = row[i] - centroid[i];
    residual_residual.Add(i, residual * residual);
    centroid_residual.Add(i, centroid[i] * residual);
  }
  return {residual_residual.value(), centroid_residual.value()};
}

NibbleScalars EncodeBits(const ResidualProducts& products, const float* placed_row,
                         const float* placed_centroid, int64_t size, int bits, uint8_t* groups) {
  float between = 0;
  if (bits == 2) {
    Sum squares;
    for (int64_t i = 0; i < size; ++i) {
      const float residual = placed_row[i] - placed_centroid[i];
      squares.Add(i, residual * residual);
    }
    const double deviation = std::sqrt(squares.value() / static_cast<double>(size));
    between = static_cast<float>(kBetweenLevels * deviation);
  }
  std::fill_n(groups, size * bits / 4, uint8_t{0});
  Sum residual_code, centroid_code;
  for (int64_t i = 0; i < size; ++i) {
    const float centroid = placed_centroid[i];
    const float residual = placed_row[i] - centroid;
    const unsigned code =
        bits == 1 ? static_cast<unsigned>(residual > 0) : LevelCode(residual, between);
    const float level = bits == 1 ? (code != 0 ? 1.0f : -1.0f) : LevelOf(code);
    residual_code.Add(i, residual * level);
    centroid_code.Add(i, centroid * level);
    groups[i * bits / 4] |= static_cast<uint8_t>(code << i * bits % 4);
  }
  return ScalarsOf(products, residual_code.value(), centroid_code.value());
}

void TablesOfBits(const float* query, int64_t size, int bits, float* values) {
  if (bits == 1) {
    TablesOfSigns(query, size, values);
  } else {
    TablesOfLevels(query, size, values);
  }
}

NibbleScalars EncodeParts(const float* row, const float* centroid, const IvfShape& shape,
                          const float* codebooks, uint8_t* groups) {
  std::vector<float> residual(shape.dimension);
  for (int j = 0; j < shape.dimension; ++j) residual[j] = row[j] - centroid[j];
  Sum residual_code, centroid_code;
  for (int64_t p = 0; p < shape.parts; ++p) {
    const int64_t begin = shape.PartBegin(p), end = shape.PartBegin(p + 1);
    groups[p] = NearestCode(residual.data(), begin, end, codebooks);
    for (int64_t j = begin; j < end; ++j) {
      const float code = codebooks[j * kCodesOfPart + groups[p]];
      residual_code.Add(j, residual[j] * code);
      centroid_code.Add(j, centroid[j] * code);
    }
  }
  return ScalarsOf(ProductsOf(row, centroid, shape.dimension), residual_code.value(),
                   centroid_code.value());
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
