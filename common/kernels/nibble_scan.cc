#include "common/kernels/nibble_scan.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

namespace sightline::kernels {
namespace {

constexpr int64_t kEntries = 16;  // of a table

// Where a chunk's tables have those of its groups.
constexpr int64_t kPlaceOfGroup[kNibbleChunkGroups] = {0, 2, 1, 3};

__m256 Lowest(__m256 v) {
  v = _mm256_min_ps(v, _mm256_permute2f128_ps(v, v, 1));
  v = _mm256_min_ps(v, _mm256_shuffle_ps(v, v, 0x4E));
  return _mm256_min_ps(v, _mm256_shuffle_ps(v, v, 0xB1));
}

__m256 Highest(__m256 v) {
  v = _mm256_max_ps(v, _mm256_permute2f128_ps(v, v, 1));
  v = _mm256_max_ps(v, _mm256_shuffle_ps(v, v, 0x4E));
  return _mm256_max_ps(v, _mm256_shuffle_ps(v, v, 0xB1));
}

// round((values - lowest) * inverse) of 16 numbers, each in [0, 127], as bytes.
__m128i Quantized(const float* values, __m256 lowest, __m256 inverse) {
  const __m256i a =
      _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(values), lowest), inverse));
  const __m256i b = _mm256_cvtps_epi32(
      _mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(values + 8), lowest), inverse));
  const __m256i shorts = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xD8);
  const __m128i bytes =
      _mm_packus_epi16(_mm256_castsi256_si128(shorts), _mm256_extracti128_si256(shorts, 1));
  return _mm_min_epu8(bytes, _mm_set1_epi8(kMostNibbleEntry));
}

}  // namespace

const NibbleScanKernel& NibbleScanKernelFor(const CpuFeatures& features) {
  return features.avx512 ? kAvx512NibbleScan : kAvx2NibbleScan;
}

void StoreNibbles(const uint8_t* groups, int64_t group_count, int64_t row, uint8_t* block) {
  uint8_t* const first = block + (row / 16) * 32 + row % 16;
  for (int64_t group = 0; group < group_count; group += 2) {
    const int high = group + 1 < group_count ? groups[group + 1] : 0;
    first[group / kNibbleChunkGroups * kNibbleChunkBytes + group % kNibbleChunkGroups * 8] =
        static_cast<uint8_t>(groups[group] | high << 4);
  }
}

void StoreNibbleScalars(float slope, float offset, int64_t group_count, int64_t row,
                        uint8_t* block) {
  uint8_t* const slopes = block + NibbleChunks(group_count) * kNibbleChunkBytes;
  std::memcpy(slopes + row * sizeof(float), &slope, sizeof(slope));
  std::memcpy(slopes + (kNibbleBlockRows + row) * sizeof(float), &offset, sizeof(offset));
}

NibbleTables::NibbleTables(const float* values, int64_t group_count)
    : tables_(NibbleChunks(group_count) * kNibbleChunkBytes) {
  float range = 0;
  std::vector<float> lowest(group_count);
  for (int64_t group = 0; group < group_count; ++group) {
    const __m256 a = _mm256_loadu_ps(values + group * kEntries);
    const __m256 b = _mm256_loadu_ps(values + group * kEntries + 8);
    lowest[group] = _mm256_cvtss_f32(Lowest(_mm256_min_ps(a, b)));
    range = std::max(range, _mm256_cvtss_f32(Highest(_mm256_max_ps(a, b))) - lowest[group]);
    bias_ += lowest[group];
  }
  step_ = range / kMostNibbleEntry;
  const float inverse = step_ > 0 ? kMostNibbleEntry / range : 0;
  for (int64_t group = 0; group < group_count; ++group) {
    const int64_t place = kPlaceOfGroup[group % kNibbleChunkGroups];
    uint8_t* const table =
        tables_.data() + group / kNibbleChunkGroups * kNibbleChunkBytes + place * kEntries;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(table),
                     Quantized(values + group * kEntries, _mm256_set1_ps(lowest[group]),
                               _mm256_set1_ps(inverse)));
  }
}

NibbleScan NibbleTables::Scan() const {
  NibbleScan scan;
  scan.chunk_count = static_cast<int64_t>(tables_.size()) / kNibbleChunkBytes;
  scan.tables = tables_.data();
  scan.step = step_;
  scan.bias = bias_;
  return scan;
}

}  // namespace sightline::kernels
