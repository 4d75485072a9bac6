#include "loadtest/bench/machine_peak.h"

#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/kernels/cpu.h"

namespace sightline {
namespace {

// Enough independent chains for two units with a latency of four or five cycles.
constexpr int kChains = 12;

constexpr int64_t kPieceBytes = int64_t{1} << 20;  // of a buffer, for one thread at a time

// Where results go that nobody reads, so that the compiler cannot leave the work out.
volatile float unread_float;

// x -> 0.5 x + 0.5 stays near 1 for ever: no slow denormals, no infinities.
void MultiplyAddAvx2(int64_t vectors) {
  const __m256 half = _mm256_set1_ps(0.5f);
  __m256 chains[kChains];
  for (__m256& chain : chains) chain = _mm256_set1_ps(1.0f + static_cast<float>(&chain - chains));
  for (int64_t i = 0; i < vectors; i += kChains) {
#pragma GCC unroll 12
    for (int k = 0; k < kChains; ++k) chains[k] = _mm256_fmadd_ps(chains[k], half, half);
  }
  __m256 sum = chains[0];
  for (int k = 1; k < kChains; ++k) sum = _mm256_add_ps(sum, chains[k]);
  unread_float = _mm256_cvtss_f32(sum);
}

__attribute__((target("avx512f"))) void MultiplyAddAvx512(int64_t vectors) {
  const __m512 half = _mm512_set1_ps(0.5f);
  __m512 chains[kChains];
  for (__m512& chain : chains) chain = _mm512_set1_ps(1.0f + static_cast<float>(&chain - chains));
  for (int64_t i = 0; i < vectors; i += kChains) {
#pragma GCC unroll 12
    for (int k = 0; k < kChains; ++k) chains[k] = _mm512_fmadd_ps(chains[k], half, half);
  }
  __m512 sum = chains[0];
  for (int k = 1; k < kChains; ++k) sum = _mm512_add_ps(sum, chains[k]);
  unread_float = _mm512_cvtss_f32(sum);
}

void ReadBytes(const char* data, int64_t bytes) {
  __m256i sums[4] = {};
  for (int64_t i = 0; i < bytes; i += static_cast<int64_t>(sizeof(sums))) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      const auto* const from = reinterpret_cast<const __m256i*>(data + i) + k;
      sums[k] = _mm256_xor_si256(sums[k], _mm256_loadu_si256(from));
    }
  }
  sums[0] =
      _mm256_xor_si256(_mm256_xor_si256(sums[0], sums[1]), _mm256_xor_si256(sums[2], sums[3]));
  unread_float = _mm256_cvtss_f32(_mm256_castsi256_ps(sums[0]));
}

double SecondsOf(const std::function<void()>& work) {
  const absl::Time start = Clock::Real()->Now();
  work();
  return std::max(absl::ToDoubleSeconds(Clock::Real()->Now() - start), 1e-9);
}

// The best of several rounds.
double BestOf(int rounds, const std::function<double()>& rate) {
  double best = 0;
  for (int round = 0; round < rounds; ++round) best = std::max(best, rate());
  return best;
}

}  // namespace

double MeasureFlops(ComputePool* pool, int64_t vectors) {
  const bool wide = kernels::ThisCpu().avx512;
  vectors = std::max<int64_t>(vectors / kChains, 1) * kChains;
  const double seconds = SecondsOf([&] {
    pool->ParallelFor(pool->threads(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        wide ? MultiplyAddAvx512(vectors) : MultiplyAddAvx2(vectors);
      }
    });
  });
  return 2.0 * (wide ? 16 : 8) * static_cast<double>(vectors * pool->threads()) / seconds;
}

double MeasureReading(ComputePool* pool, const char* data, int64_t bytes) {
  const int64_t pieces = bytes / kPieceBytes;
  const double seconds = SecondsOf([&] {
    pool->ParallelFor(pieces, 1, [&](int64_t begin, int64_t end) {
      ReadBytes(data + begin * kPieceBytes, (end - begin) * kPieceBytes);
    });
  });
  return static_cast<double>(pieces * kPieceBytes) / seconds;
}

double PeakOf(const kernels::ProductKernel& kernel, ComputePool* pool) {
  return BestOf(7, [&] {
    std::atomic<int64_t> operations = 0;
    const auto exercise = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) operations += kernel.exercise(1'000'000);
    };
    const double seconds = SecondsOf([&] {
      pool == nullptr ? exercise(0, 1) : pool->ParallelFor(pool->threads(), 1, exercise);
    });
    return static_cast<double>(operations) / seconds;
  });
}

MachinePeak MeasureMachinePeak(ComputePool* pool, const PeakOptions& options) {
  MachinePeak peak;
  peak.instructions = kernels::ThisCpu().avx512 ? "AVX-512" : "AVX2";
  peak.flops =
      BestOf(options.rounds, [&] { return MeasureFlops(pool, options.kilo_vectors * 1000); });

  const int64_t pieces = std::max<int64_t>(2, options.buffer_bytes / kPieceBytes) / 2 * 2;
  const std::unique_ptr<char[]> buffer(new char[static_cast<size_t>(pieces * kPieceBytes)]);
  // Touched by all threads, so that every page is there before anything is timed.
  pool->ParallelFor(pieces, 1, [&](int64_t begin, int64_t end) {
    std::memset(&buffer[begin * kPieceBytes], 1, static_cast<size_t>((end - begin) * kPieceBytes));
  });
  peak.read_bytes = BestOf(
      options.rounds, [&] { return MeasureReading(pool, buffer.get(), pieces * kPieceBytes); });
  const int64_t half = pieces / 2;
  peak.copy_bytes = BestOf(options.rounds, [&] {
    const double seconds = SecondsOf([&] {
      pool->ParallelFor(half, 1, [&](int64_t begin, int64_t end) {
        std::memcpy(&buffer[(half + begin) * kPieceBytes], &buffer[begin * kPieceBytes],
                    static_cast<size_t>((end - begin) * kPieceBytes));
      });
    });
    return static_cast<double>(half * kPieceBytes) / seconds;
  });
  unread_float = static_cast<float>(buffer[static_cast<size_t>(half * kPieceBytes)]);
  return peak;
}

}  // namespace sightline
