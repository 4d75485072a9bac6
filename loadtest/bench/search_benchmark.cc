// Exact search over vectors spread like real ones.
//
// bytes_per_second counts the matrix once a search, whatever the number of queries:
// memory_share near 1 says that memory is the limit, flops_share that arithmetic is.
//
// Batch measures in turns one reading of the matrix, the peak of multiplications, and a search;
// of each the fastest counts.  Concurrent has clients that ask one query each.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/base/outcome.h"
#include "common/base/resident_memory.h"
#include "common/batching/batch_scheduler.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/vector_index.h"
#include "loadtest/bench/bench_main.h"
#include "loadtest/synthesize/synthetic_vectors.h"

namespace sightline {
namespace {

constexpr int kMostQueries = 64;
constexpr int kTopK = 20;

// The vectors of one size, and queries about some of them.
struct Collection {
  Collection(int64_t rows, int dimension)
      : memory(*ResidentMemory::Allocate(rows * dimension * int64_t{sizeof(float)})),
        vectors(reinterpret_cast<float*>(memory->data())) {
    VectorSpec spec;
    spec.dimension = dimension;
    spec.clusters = ClustersFor(rows);
    const SyntheticVectors synthetic(spec);
    std::vector<uint32_t> numbers(rows);
    std::iota(numbers.begin(), numbers.end(), 0);
    const absl::Span<const uint32_t> all(numbers);
    BenchPool().ParallelFor(rows, 1024, [&](int64_t begin, int64_t end) {
      synthetic.Fill(all.subspan(begin, end - begin), &vectors[begin * dimension]);
    });
    queries = EmbeddingMatrix(kMostQueries, dimension);
    synthetic.FillQueries(all.subspan(0, kMostQueries), queries.mutable_data());
  }

  EmbeddingMatrix Queries(int count) const {
    EmbeddingMatrix some(count, queries.dimension());
    std::copy_n(queries.data(), count * queries.dimension(), some.mutable_data());
    return some;
  }

  // As servers have it.
  std::unique_ptr<ResidentMemory> memory;
  float* vectors;
  EmbeddingMatrix queries;
};

const Collection& OfSize(int64_t rows, int dimension) {
  static auto* const made = new std::map<std::pair<int64_t, int>, Collection>;
  const std::pair<int64_t, int> size = {rows, dimension};
  const auto found = made->find(size);
  if (found != made->end()) return found->second;
  made->clear();  // one at a time: a large one takes a good part of the memory
  return made->emplace(size, Collection(rows, dimension)).first->second;
}

void Search(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const int dimension = static_cast<int>(state.range(1));
  const Collection& collection = OfSize(rows, dimension);
  const auto index = OpenFlatIndex({collection.vectors, rows, dimension, dimension}, &BenchPool());
  if (!index.ok()) return state.SkipWithError(index.status().ToString().c_str());
  const EmbeddingMatrix queries = collection.Queries(static_cast<int>(state.range(2)));
  Rounds rounds(&state, [&] {
    return (*index)->Search(queries, {kTopK}, CallContext::Unbounded()).status();
  });
  const double numbers = static_cast<double>(rows) * dimension;
  rounds.Bytes(numbers * sizeof(float), Peak().read_bytes);
  rounds.Flops(2 * numbers * static_cast<double>(queries.rows()));
  rounds.Items("queries_per_second", static_cast<double>(queries.rows()));
}
// 123 287: the pictures of COCO 2017, which the papers search.
BENCHMARK(Search)
    ->ArgNames({"rows", "dimension", "queries"})
    ->Args({10'000, 256, 1})
    ->Args({123'287, 768, 1})
    ->Args({123'287, 768, 4})
    ->Args({123'287, 768, 16})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Of many queries at once, beside what it takes to read the matrix once and to multiply it with
// them at the peak.
void Batch(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const int dimension = static_cast<int>(state.range(1));
  const Collection& collection = OfSize(rows, dimension);
  const auto index = OpenFlatIndex({collection.vectors, rows, dimension, dimension}, &BenchPool());
  if (!index.ok()) return state.SkipWithError(index.status().ToString().c_str());
  const EmbeddingMatrix queries = collection.Queries(static_cast<int>(state.range(2)));
  const SearchOptions options = {static_cast<int>(state.range(3))};
  const double bytes = static_cast<double>(collection.memory->size());
  double searched = HUGE_VAL, read_bytes = 0, flops = 0;
  for (auto _ : state) {
    read_bytes = std::max(read_bytes, MeasureReading(&BenchPool(), collection.memory->data(),
                                                     collection.memory->size()));
    flops = std::max(flops, MeasureFlops(&BenchPool(), 4'000'000));
    const absl::Time start = Clock::Real()->Now();
    const auto found = (*index)->Search(queries, options, CallContext::Unbounded());
    const double seconds = absl::ToDoubleSeconds(Clock::Real()->Now() - start);
    if (!found.ok()) return state.SkipWithError(found.status().ToString().c_str());
    state.SetIterationTime(seconds);
    searched = std::min(searched, seconds);
  }
  const double read = bytes / read_bytes;
  const double multiplied = bytes / sizeof(float) * 2 * static_cast<double>(queries.rows()) / flops;
  state.counters["best_ms"] = 1e3 * searched;
  state.counters["read_ms"] = 1e3 * read;
  state.counters["multiply_ms"] = 1e3 * multiplied;
  state.counters["readings"] = searched / read;
  state.counters["multiplications"] = searched / multiplied;
  // Of the larger of two readings and 1.3 times the multiplications: the goal is 1.
  state.counters["of_goal"] = searched / std::max(2 * read, 1.3 * multiplied);
  state.counters["queries_per_second"] = static_cast<double>(queries.rows()) / searched;
}
BENCHMARK(Batch)
    ->ArgNames({"rows", "dimension", "queries", "top_k"})
    ->ArgsProduct({{123'287}, {768}, {1, 2, 4, 8, 16, 32, 64}, {20}})
    ->Args({123'287, 768, 16, 1'000})
    ->Iterations(25)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// One client after the other asks one query as soon as the last is answered, through the scheduler
// that a server has: what comes while a batch is searched makes the next one.
class Clients {
 public:
  Clients(const VectorIndex* index, const EmbeddingMatrix& queries)
      : index_(index),
        queries_(queries),
        scheduler_(Options(), Clock::Real(), [this](auto batch) { Process(std::move(batch)); }) {}

  // Waits for the answer.
  void Ask(int64_t query) {
    const auto outcome = std::make_shared<Outcome<std::vector<Neighbor>>>();
    const CallContext call = CallContext::Unbounded();
    const absl::Status taken = scheduler_.SubmitAwaited({query, call, outcome}, index_, 1);
    if (taken.ok()) (void)outcome->Await(call, "search");
  }

  double MeanBatch() const {
    const BatchSchedulerStats stats = scheduler_.stats();
    return static_cast<double>(stats.processed_tasks) / static_cast<double>(stats.batches);
  }

 private:
  struct Task {
    int64_t query;
    CallContext call;
    std::shared_ptr<Outcome<std::vector<Neighbor>>> outcome;
  };

  static BatchSchedulerOptions Options() {
    BatchSchedulerOptions options;
    options.max_batch_cost = kMostQueries;
    return options;
  }

  void Process(std::vector<Task> batch) {
    EmbeddingMatrix queries(static_cast<int64_t>(batch.size()), queries_.dimension());
    for (size_t i = 0; i < batch.size(); ++i) {
      const auto row = queries_.row(batch[i].query);
      std::copy(row.begin(), row.end(), queries.mutable_row(static_cast<int64_t>(i)).begin());
    }
    auto found = index_->Search(queries, {kTopK}, CallContext::Unbounded());
    for (size_t i = 0; i < batch.size(); ++i) {
      if (found.ok()) {
        batch[i].outcome->Set(std::move((*found)[i]));
      } else {
        batch[i].outcome->Set(found.status());
      }
    }
  }

  const VectorIndex* const index_;
  const EmbeddingMatrix& queries_;
  BatchScheduler<Task> scheduler_;
};

void Concurrent(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const int dimension = static_cast<int>(state.range(1));
  const auto clients = static_cast<int>(state.range(2));
  constexpr int kQuestions = 20;  // of each client
  const Collection& collection = OfSize(rows, dimension);
  const auto index = OpenFlatIndex({collection.vectors, rows, dimension, dimension}, &BenchPool());
  if (!index.ok()) return state.SkipWithError(index.status().ToString().c_str());
  Clients asked(index->get(), collection.queries);
  std::vector<double> waits(clients * kQuestions);
  Rounds rounds(&state, [&] {
    std::vector<std::thread> threads;
    for (int client = 0; client < clients; ++client) {
      threads.emplace_back([&, client] {
        for (int i = 0; i < kQuestions; ++i) {
          const absl::Time start = Clock::Real()->Now();
          asked.Ask((client + i) % kMostQueries);
          waits[client * kQuestions + i] = absl::ToDoubleMilliseconds(Clock::Real()->Now() - start);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return absl::OkStatus();
  });
  rounds.Items("queries_per_second", clients * kQuestions);
  state.counters["mean_batch"] = asked.MeanBatch();
  std::sort(waits.begin(), waits.end());
  state.counters["p50_ms"] = waits[waits.size() / 2];
  state.counters["p99_ms"] = waits[waits.size() * 99 / 100];
}
BENCHMARK(Concurrent)
    ->ArgNames({"rows", "dimension", "clients"})
    ->ArgsProduct({{123'287}, {768}, {1, 2, 4, 8, 16, 32}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sightline
