// How fast the exact scan is, beside what memory can give at the same moment.
//
//   bazel run -c opt //tests/common/index:flat_index_benchmark
//
// bytes_per_second counts the matrix once per search, whatever the number of queries:
// next to ReadMemory it tells whether memory or arithmetic is the limit.
#include <benchmark/benchmark.h>
#include <immintrin.h>

#include <cstdint>
#include <random>

#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/base/resident_memory.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/vector_index.h"

namespace sightline {
namespace {

constexpr int64_t kRows = 123287;  // images of COCO 2017
constexpr int kDimension = 768;
constexpr int64_t kFloats = kRows * kDimension;
constexpr int kThreads = 2;

ComputePool& Pool() {
  static ComputePool* const pool = new ComputePool(kThreads);
  return *pool;
}

// In memory as servers have it.
const float* Vectors() {
  static const float* const vectors = [] {
    auto* const memory = ResidentMemory::Allocate(kFloats * sizeof(float))->release();
    auto* const values = reinterpret_cast<float*>(memory->data());
    Pool().ParallelFor(kRows, 1024, [&](int64_t begin, int64_t end) {
      std::minstd_rand random(begin + 1);
      for (int64_t i = begin * kDimension; i < end * kDimension; ++i) {
        values[i] = static_cast<float>(random()) * 0x1p-31f - 0.5f;
      }
    });
    return values;
  }();
  return vectors;
}

// The same bytes, as fast as the same threads can take them in.
void ReadMemory(benchmark::State& state) {
  // Explicit vectors: the compiler may not reorder a sum of floats to make some.
  constexpr int64_t kLanes = 8;
  constexpr int64_t kStep = 4 * kLanes;
  const float* const data = Vectors();
  for (auto _ : state) {
    Pool().ParallelFor(kFloats / kStep, 1 << 14, [&](int64_t begin, int64_t end) {
      __m256 sums[4] = {};
      for (int64_t i = begin * kStep; i < end * kStep; i += kStep) {
        for (int j = 0; j < 4; ++j) {
          sums[j] = _mm256_add_ps(sums[j], _mm256_loadu_ps(data + i + j * kLanes));
        }
      }
      benchmark::DoNotOptimize(sums);
    });
  }
  state.SetBytesProcessed(state.iterations() * kFloats * sizeof(float));
}
BENCHMARK(ReadMemory)->UseRealTime()->Unit(benchmark::kMillisecond);

void Search(benchmark::State& state) {
  auto index = OpenFlatIndex({Vectors(), kRows, kDimension, kDimension}, &Pool());
  if (!index.ok()) {
    state.SkipWithError(index.status().ToString().c_str());
    return;
  }
  EmbeddingMatrix queries(state.range(0), kDimension);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < queries.rows() * kDimension; ++i)
    queries.mutable_data()[i] = normal(random);
  const SearchOptions options = {static_cast<int>(state.range(1))};
  for (auto _ : state) {
    auto neighbors = (*index)->Search(queries, options, CallContext::Unbounded());
    benchmark::DoNotOptimize(neighbors);
  }
  state.SetBytesProcessed(state.iterations() * kFloats * sizeof(float));
  state.counters["queries_per_second"] = benchmark::Counter(
      static_cast<double>(state.iterations() * queries.rows()), benchmark::Counter::kIsRate);
}
BENCHMARK(Search)
    ->ArgNames({"queries", "top_k"})
    ->Args({1, 20})
    ->Args({4, 20})
    ->Args({16, 20})
    ->Args({64, 20})
    ->Args({16, 1000})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sightline

BENCHMARK_MAIN();
