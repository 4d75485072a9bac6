// How fast the exact kinds are, beside what memory can give at the same moment.
//
//   bazel run -c opt //tests/common/index:flat_index_benchmark -- [--rows=1000000]
//
// bytes_per_second counts once per search, whatever the number of queries, what is scanned: the
// rows as they are stored, or the codes.  Next to ReadMemory it tells whether memory or arithmetic
// is the limit.  `rescored` are the rows that a query has scored exactly after a scan of codes.
#include <benchmark/benchmark.h>
#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/base/files.h"
#include "common/base/float16.h"
#include "common/base/resident_memory.h"
#include "common/embedding/embedding_matrix.h"
#include "common/embedding/row_set.h"
#include "common/index/index_kinds.h"
#include "common/index/row_scores.h"
#include "common/index/vector_index.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

int64_t rows_of_benchmark = 123287;  // images of COCO 2017
constexpr int kDimension = 768;
constexpr int kThreads = 2;

ComputePool& Pool() {
  static ComputePool* const pool = new ComputePool(kThreads);
  return *pool;
}

// About normal, of a spectrum that falls as embeddings' do.
void FillRow(std::minstd_rand& random, float* row) {
  for (int i = 0; i < kDimension; ++i) {
    float sum = 0;
    for (int j = 0; j < 4; ++j) sum += static_cast<float>(random()) * 0x1p-31f - 0.5f;
    row[i] = sum / std::sqrt(1 + static_cast<float>(i) / 32);
  }
}

void Normalize(float* row) {
  const float length = std::sqrt(std::inner_product(row, row + kDimension, row, 0.0f));
  for (int i = 0; i < kDimension; ++i) row[i] /= length;
}

// In memory as servers have it.
VectorView Vectors(Dtype dtype) {
  static const auto make = [](Dtype type) {
    const auto row_bytes = kDimension * static_cast<int64_t>(DtypeSize(type));
    char* const bytes = ResidentMemory::Allocate(rows_of_benchmark * row_bytes)->release()->data();
    Pool().ParallelFor(rows_of_benchmark, 1024, [&](int64_t begin, int64_t end) {
      std::vector<float> row(kDimension);
      for (int64_t i = begin; i < end; ++i) {
        std::minstd_rand random(i * 7919 + 1);
        FillRow(random, row.data());
        Normalize(row.data());
        if (type == Dtype::kFloat16) {
          Float32ToFloat16(row.data(), kDimension, bytes + i * row_bytes);
        } else {
          std::memcpy(bytes + i * row_bytes, row.data(), row_bytes);
        }
      }
    });
    VectorView view{bytes, rows_of_benchmark, kDimension, kDimension};
    view.dtype = type;
    return view;
  };
  static const VectorView floats = make(Dtype::kFloat32);
  static const VectorView halves = make(Dtype::kFloat16);
  return dtype == Dtype::kFloat16 ? halves : floats;
}

// Each near some row.
EmbeddingMatrix Queries(int64_t count) {
  EmbeddingMatrix queries(count, kDimension);
  std::minstd_rand random(1);
  for (int64_t i = 0; i < count; ++i) {
    float* const query = queries.mutable_row(i).data();
    FillRow(random, query);
    const float* const near =
        Vectors(Dtype::kFloat32).float_row(static_cast<int64_t>(random() % rows_of_benchmark));
    Normalize(query);
    for (int k = 0; k < kDimension; ++k) query[k] = near[k] + 1.5f * query[k];
    Normalize(query);
  }
  return queries;
}

// Counts the rows that are scored exactly.
class CountingReader : public RowReader {
 public:
  explicit CountingReader(const VectorView& rows) : rows_(rows) {}

  absl::Status Read(absl::Span<const int64_t> rows, char* to) const override {
    const auto row_bytes = kDimension * static_cast<int64_t>(DtypeSize(rows_.dtype));
    for (size_t i = 0; i < rows.size(); ++i) {
      std::memcpy(to + static_cast<int64_t>(i) * row_bytes, rows_.row(rows[i]), row_bytes);
    }
    read_ += static_cast<int64_t>(rows.size());
    return absl::OkStatus();
  }
  int64_t read() const { return read_; }

 private:
  const VectorView rows_;
  mutable std::atomic<int64_t> read_{0};
};

enum Scanned { kFloat32Rows, kFloat16Rows, kInt8Codes };
constexpr int64_t kScannedBytes[] = {4, 2, 1};  // of a number

// The generation of kind flat_int8, built once.
const bundle::v1::GenerationManifest& Int8Generation(const std::string& directory) {
  static const auto* const manifest = [&] {
    auto* const made = new bundle::v1::GenerationManifest;
    made->mutable_index_spec()->set_kind("flat_int8");
    made->mutable_embedding()->set_dimension(kDimension);
    made->add_shards()->set_item_count(rows_of_benchmark);
    if (!MakeDirectories(directory + "/shards").ok()) std::abort();
    const CallContext call = CallContext::Unbounded();
    IndexBuild build;
    build.directory = directory;
    build.manifest = made;
    build.vectors = Vectors(Dtype::kFloat32);
    build.pool = &Pool();
    build.call = &call;
    const absl::Time start = absl::Now();
    const auto files = (*IndexKindOf(*made))->build(build);
    if (!files.ok()) std::abort();
    std::cout << "flat_int8: " << rows_of_benchmark << " rows built in "
              << absl::FormatDuration(absl::Now() - start) << "\n";
    *made->mutable_shards(0)->add_index_files() = files->front();
    return made;
  }();
  return *manifest;
}

std::unique_ptr<VectorIndex> Open(Scanned scanned, const VectorView& vectors) {
  static const TempDir* const directory = new TempDir;
  bundle::v1::GenerationManifest manifest;
  if (scanned == kInt8Codes) manifest = Int8Generation(directory->path());
  auto index =
      (*IndexKindOf(manifest))
          ->open(directory->path(), manifest, 0, vectors, &Pool(), CallContext::Unbounded());
  if (!index.ok()) std::abort();
  return *std::move(index);
}

const VectorIndex& Index(Scanned scanned) {
  static const std::unique_ptr<VectorIndex> indexes[] = {
      Open(kFloat32Rows, Vectors(Dtype::kFloat32)), Open(kFloat16Rows, Vectors(Dtype::kFloat16)),
      Open(kInt8Codes, Vectors(Dtype::kFloat32))};
  return *indexes[scanned];
}

double RescoredPerQuery(const EmbeddingMatrix& queries, const SearchOptions& options) {
  const CountingReader reader(Vectors(Dtype::kFloat32));
  VectorView view = Vectors(Dtype::kFloat32);
  view.data = nullptr;
  view.reader = &reader;
  const auto index = Open(kInt8Codes, view);
  if (!index->Search(queries, options, CallContext::Unbounded()).ok()) std::abort();
  return static_cast<double>(reader.read()) / static_cast<double>(queries.rows());
}

// So many bytes, as fast as the same threads can take them in.
void ReadMemory(benchmark::State& state) {
  // Explicit vectors: the compiler may not reorder a sum of floats to make some.
  constexpr int64_t kLanes = 8;
  constexpr int64_t kStep = 4 * kLanes;
  const int64_t floats = rows_of_benchmark * kDimension;
  const float* const data = Vectors(Dtype::kFloat32).float_row(0);
  for (auto _ : state) {
    Pool().ParallelFor(floats / kStep, 1 << 14, [&](int64_t begin, int64_t end) {
      __m256 sums[4] = {};
      for (int64_t i = begin * kStep; i < end * kStep; i += kStep) {
        for (int j = 0; j < 4; ++j) {
          sums[j] = _mm256_add_ps(sums[j], _mm256_loadu_ps(data + i + j * kLanes));
        }
      }
      benchmark::DoNotOptimize(sums);
    });
  }
  state.SetBytesProcessed(state.iterations() * floats * sizeof(float));
}
BENCHMARK(ReadMemory)->UseRealTime()->Unit(benchmark::kMillisecond);

void RunSearch(benchmark::State& state, Scanned scanned, const EmbeddingMatrix& queries,
               const SearchOptions& options) {
  const VectorIndex& index = Index(scanned);
  for (auto _ : state) {
    auto neighbors = index.Search(queries, options, CallContext::Unbounded());
    benchmark::DoNotOptimize(neighbors);
  }
  if (scanned == kInt8Codes) state.counters["rescored"] = RescoredPerQuery(queries, options);
}

void Search(benchmark::State& state, Scanned scanned) {
  const EmbeddingMatrix queries = Queries(state.range(0));
  RunSearch(state, scanned, queries, {static_cast<int>(state.range(1))});
  state.SetBytesProcessed(state.iterations() * rows_of_benchmark * kDimension *
                          kScannedBytes[scanned]);
  state.counters["queries_per_second"] = benchmark::Counter(
      static_cast<double>(state.iterations() * queries.rows()), benchmark::Counter::kIsRate);
}

void SearchArguments(benchmark::internal::Benchmark* b) {
  b->ArgNames({"queries", "top_k"});
  for (const auto& [queries, top_k] :
       {std::pair(1, 20), {4, 20}, {16, 20}, {64, 20}, {1, 1000}, {16, 1000}}) {
    b->Args({queries, top_k});
  }
  b->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(Search, float32, kFloat32Rows)->Apply(SearchArguments);
BENCHMARK_CAPTURE(Search, float16, kFloat16Rows)->Apply(SearchArguments);
BENCHMARK_CAPTURE(Search, int8, kInt8Codes)->Apply(SearchArguments);

// So many of a thousand rows, at random: a list or bits, whichever takes less.
RowSet SomeRows(int64_t of_a_thousand) {
  std::mt19937 random(3);
  std::vector<uint32_t> rows;
  std::vector<uint64_t> words((rows_of_benchmark + 63) / 64);
  for (int64_t row = 0; row < rows_of_benchmark; ++row) {
    if (static_cast<int64_t>(random() % 1000) >= of_a_thousand) continue;
    rows.push_back(static_cast<uint32_t>(row));
    words[row >> 6] |= uint64_t{1} << (row & 63);
  }
  const auto count = static_cast<int64_t>(rows.size());
  return count * RowSet::kLeastRowsOfList <= rows_of_benchmark
             ? RowSet::OfRows(std::move(rows), rows_of_benchmark)
             : RowSet::OfBits(std::move(words), rows_of_benchmark);
}

void Filter(benchmark::State& state, Scanned scanned) {
  const RowSet among = SomeRows(state.range(1));
  SearchOptions options = {20};
  options.among = &among;
  RunSearch(state, scanned, Queries(state.range(0)), options);
}

// What a filter's search is measured by: the scores of its rows, one after another.
void ScoresAlone(benchmark::State& state, Dtype dtype) {
  const RowSet among = SomeRows(state.range(1));
  std::vector<int64_t> rows;
  among.ForEach([&](int64_t row) { rows.push_back(row); });
  std::vector<float> scores(rows.size());
  const EmbeddingMatrix queries = Queries(state.range(0));
  for (auto _ : state) {
    for (int64_t i = 0; i < queries.rows(); ++i) {
      const auto status = ScoreRows(Vectors(dtype), queries.row(i).data(), rows,
                                    absl::MakeSpan(scores), CallContext::Unbounded());
      if (!status.ok()) std::abort();
    }
    benchmark::DoNotOptimize(scores);
  }
}

void FilterArguments(benchmark::internal::Benchmark* b) {
  b->ArgNames({"queries", "of_a_thousand"});
  for (const int queries : {1, 16}) {
    for (const int of_a_thousand : {1, 10, 100, 500}) b->Args({queries, of_a_thousand});
  }
  b->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(ScoresAlone, float32, Dtype::kFloat32)->Apply(FilterArguments);
BENCHMARK_CAPTURE(Filter, float32, kFloat32Rows)->Apply(FilterArguments);
BENCHMARK_CAPTURE(ScoresAlone, float16, Dtype::kFloat16)->Apply(FilterArguments);
BENCHMARK_CAPTURE(Filter, float16, kFloat16Rows)->Apply(FilterArguments);
BENCHMARK_CAPTURE(Filter, int8, kInt8Codes)->Apply(FilterArguments);

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (!absl::StartsWith(argv[i], "--rows=")) continue;
    sightline::rows_of_benchmark = std::atoll(argv[i] + std::strlen("--rows="));
  }
  benchmark::RunSpecifiedBenchmarks();
}
