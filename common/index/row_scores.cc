#include "common/index/row_scores.h"

#include <faiss/utils/distances.h>
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "common/base/float16.h"
#include "common/base/status_macros.h"
#include "common/index/prefetch.h"

namespace sightline {
namespace {

// Rows that are looked at between two looks at the call, and read from a disk at once.
constexpr size_t kRowsAtOnce = 256;

float Sum(__m256 v) {
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}

__m256 Widened(const uint16_t* halves) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves)));
}

__m256 Plus(__m256 sum, const float* query, const uint16_t* row) {
  return _mm256_fmadd_ps(_mm256_loadu_ps(query), Widened(row), sum);
}

// Four sums side by side, so that none waits for the one before.
float Float16Score(const float* query, const uint16_t* row, int dimension) {
  __m256 sum = _mm256_setzero_ps(), second = sum, third = sum, fourth = sum;
  int i = 0;
  for (; i + 32 <= dimension; i += 32) {
    sum = Plus(sum, query + i, row + i);
    second = Plus(second, query + i + 8, row + i + 8);
    third = Plus(third, query + i + 16, row + i + 16);
    fourth = Plus(fourth, query + i + 24, row + i + 24);
  }
  for (; i + 8 <= dimension; i += 8) sum = Plus(sum, query + i, row + i);
  float rest = 0;
  for (; i < dimension; ++i) rest = std::fma(query[i], _cvtsh_ss(row[i]), rest);
  // What rounds to -0 is +0, as it is on a device, whose sums begin with more zeros.
  return Sum(_mm256_add_ps(_mm256_add_ps(sum, second), _mm256_add_ps(third, fourth))) + rest + 0.0f;
}

float Score(const float* query, const char* row, int dimension, Dtype dtype) {
  return dtype == Dtype::kFloat16
             ? Float16Score(query, reinterpret_cast<const uint16_t*>(row), dimension)
             : faiss::fvec_inner_product(query, reinterpret_cast<const float*>(row), dimension);
}

// Rows that lie anywhere are on their way from memory while the ones before are multiplied.
constexpr size_t kRowsAhead = 2;

}  // namespace

float RowScore(const VectorView& vectors, const float* query, int64_t row) {
  return Score(query, vectors.row(row), vectors.dimension, vectors.dtype);
}

absl::Status ScoreRows(const VectorView& vectors, const float* query,
                       absl::Span<const int64_t> rows, absl::Span<float> scores,
                       const CallContext& call) {
  const auto row_bytes = vectors.dimension * static_cast<int64_t>(DtypeSize(vectors.dtype));
  std::vector<char> read;
  if (vectors.on_disk()) read.resize(std::min(rows.size(), kRowsAtOnce) * row_bytes);
  for (size_t first = 0; first < rows.size(); first += kRowsAtOnce) {
    RETURN_IF_ERROR(call.Check("index search"));
    const absl::Span<const int64_t> some = rows.subspan(first, kRowsAtOnce);
    if (vectors.on_disk()) RETURN_IF_ERROR(vectors.reader->Read(some, read.data()));
    for (size_t i = 0; i < some.size(); ++i) {
      if (vectors.on_disk()) {
        scores[first + i] =
            Score(query, read.data() + i * row_bytes, vectors.dimension, vectors.dtype);
      } else {
        if (i + kRowsAhead < some.size())
          PrefetchBytes(vectors.row(some[i + kRowsAhead]), row_bytes);
        scores[first + i] = RowScore(vectors, query, some[i]);
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Neighbor>> BestOfRows(const VectorView& vectors, const float* query,
                                                 std::vector<int64_t> rows, int top_k,
                                                 const CallContext& call) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  std::vector<float> scores(rows.size());
  RETURN_IF_ERROR(ScoreRows(vectors, query, rows, absl::MakeSpan(scores), call));
  std::vector<Neighbor> best;
  best.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!std::isnan(scores[i])) best.push_back({rows[i], scores[i]});
  }
  const size_t wanted = std::min(best.size(), static_cast<size_t>(top_k));
  std::partial_sort(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(wanted), best.end(),
                    RanksBefore);
  best.resize(wanted);
  return best;
}

void MergeBest(absl::Span<const Neighbor> more, int top_k, std::vector<Neighbor>* best) {
  const auto middle = static_cast<std::ptrdiff_t>(best->size());
  best->insert(best->end(), more.begin(), more.end());
  std::inplace_merge(best->begin(), best->begin() + middle, best->end(), RanksBefore);
  best->resize(std::min(best->size(), static_cast<size_t>(top_k)));
}

absl::StatusOr<std::vector<Neighbor>> BestOfRange(const VectorView& vectors, const float* query,
                                                  const RowSet* among, RowRange range, int top_k,
                                                  const CallContext& call) {
  constexpr size_t kRowsOfTurn = 16384;
  RowSetCursor cursor(among, range.begin, range.end);
  std::vector<Neighbor> best;
  for (int64_t row = cursor.Next(); row >= 0;) {
    std::vector<int64_t> rows;
    rows.reserve(kRowsOfTurn);
    for (; row >= 0 && rows.size() < kRowsOfTurn; row = cursor.Next()) rows.push_back(row);
    ASSIGN_OR_RETURN(const std::vector<Neighbor> some,
                     BestOfRows(vectors, query, std::move(rows), top_k, call));
    MergeBest(some, top_k, &best);
  }
  return best;
}

absl::Status CopyRows(const VectorView& vectors, int64_t first, int64_t count, float* to) {
  const int dimension = vectors.dimension;
  std::vector<char> read;
  if (vectors.on_disk()) {
    std::vector<int64_t> rows(count);
    std::iota(rows.begin(), rows.end(), first);
    read.resize(static_cast<size_t>(count) * dimension * DtypeSize(vectors.dtype));
    RETURN_IF_ERROR(vectors.reader->Read(rows, read.data()));
  }
  for (int64_t i = 0; i < count; ++i, to += dimension) {
    const char* const row =
        vectors.on_disk()
            ? read.data() + i * dimension * static_cast<int64_t>(DtypeSize(vectors.dtype))
            : vectors.row(first + i);
    if (vectors.dtype == Dtype::kFloat16) {
      Float16ToFloat32(row, static_cast<size_t>(dimension), to);
    } else {
      std::copy_n(reinterpret_cast<const float*>(row), dimension, to);
    }
  }
  return absl::OkStatus();
}

}  // namespace sightline
