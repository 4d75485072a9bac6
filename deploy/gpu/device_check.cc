// Whether a GPU finds what the CPU finds, and how fast: of made-up rows of float16.
//
//   device_check --rows 1000000 --dimension 768 --top_k 20 --device 0
//
// Ends with 0 if each list has the CPU's rows, order and bits; with 1 if one has not, and says
// which; with 3 where there is no GPU that can be used.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/compute_pool.h"
#include "common/base/float16.h"
#include "common/index/device_scan.h"
#include "common/index/vector_index.h"

namespace sightline {
namespace {

using Lists = std::vector<std::vector<Neighbor>>;
using Seconds = std::chrono::duration<double>;

struct Options {
  int64_t rows = 1000000;
  int dimension = 768;
  int top_k = 20;
  int device = 0;
};

// Queries that are compared with the CPU's answers, and timed.
constexpr int kBatches[] = {1, 8, 64, 256};
// Of which the median is told.
constexpr int kRounds = 21;

[[noreturn]] void Usage(absl::string_view problem) {
  std::fprintf(stderr,
               "device_check: %s\nusage: device_check [--rows N] [--dimension N] [--top_k N] "
               "[--device N]\n",
               std::string(problem).c_str());
  std::exit(2);
}

template <typename T>
void Read(absl::string_view name, absl::string_view text, T most, T* value) {
  if (!absl::SimpleAtoi(text, value) || *value < 0 || *value > most) {
    Usage(absl::StrCat(name, " is '", text, "'; it is a number from 0 to ", most));
  }
}

Options ReadOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const absl::string_view name = argv[i];
    if (i + 1 == argc) Usage(absl::StrCat(name, " needs a number"));
    if (name == "--rows") {
      Read<int64_t>(name, argv[i + 1], 1000000000, &options.rows);
    } else if (name == "--dimension") {
      Read(name, argv[i + 1], 4096, &options.dimension);
    } else if (name == "--top_k") {
      Read(name, argv[i + 1], 1000, &options.top_k);
    } else if (name == "--device") {
      Read(name, argv[i + 1], 255, &options.device);
    } else {
      Usage(absl::StrCat("unknown argument '", name, "'"));
    }
  }
  if (options.rows == 0 || options.dimension == 0 || options.top_k == 0) {
    Usage("--rows, --dimension and --top_k are 1 at least");
  }
  return options;
}

// Unit vectors, of which some lie close together.
std::vector<float> UnitVector(int dimension, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(dimension);
  float squares = 0;
  for (float& number : numbers) {
    number = normal(random);
    squares += number * number;
  }
  for (float& number : numbers) number /= std::sqrt(squares);
  return numbers;
}

std::vector<uint16_t> MadeUpRows(const Options& options, ComputePool* pool) {
  constexpr int64_t kCentres = 1000;
  std::vector<std::vector<float>> centres(kCentres);
  for (int64_t i = 0; i < kCentres; ++i) centres[i] = UnitVector(options.dimension, i);
  std::vector<uint16_t> rows(options.rows * options.dimension);
  pool->ParallelFor(options.rows, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      // Cheap noise, as uniform numbers of the right length.
      std::minstd_rand random(static_cast<uint32_t>(row) * 2654435761u + 1);
      const float scale = std::sqrt(3.0f / options.dimension);
      std::vector<float> numbers = centres[row % kCentres];
      for (float& number : numbers) {
        number += scale * (static_cast<float>(random()) / 1073741824.0f - 1.0f);
      }
      Float32ToFloat16(numbers.data(), numbers.size(),
                       reinterpret_cast<char*>(rows.data() + row * options.dimension));
    }
  });
  return rows;
}

EmbeddingMatrix MadeUpQueries(int64_t count, int dimension) {
  EmbeddingMatrix queries(count, dimension);
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<float> query = UnitVector(dimension, 1000000 + i);
    std::copy(query.begin(), query.end(), queries.mutable_row(i).begin());
  }
  return queries;
}

template <typename T>
T ValueOrDie(absl::StatusOr<T> value, int exit_status) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "device_check: %s\n", value.status().ToString().c_str());
  std::exit(exit_status);
}

Lists Search(const VectorIndex& index, const EmbeddingMatrix& queries, int top_k) {
  SearchOptions options;
  options.top_k = top_k;
  return ValueOrDie(index.Search(queries, options, CallContext::Unbounded()), 1);
}

// Of the first query whose lists differ; -1: none.
int FirstDifference(const Lists& a, const Lists& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same =
        std::equal(a[i].begin(), a[i].end(), b[i].begin(), b[i].end(),
                   [](const Neighbor& x, const Neighbor& y) {
                     return x.row == y.row && std::memcmp(&x.score, &y.score, sizeof(x.score)) == 0;
                   });
    if (!same) return static_cast<int>(i);
  }
  return -1;
}

double MedianSeconds(const VectorIndex& index, const EmbeddingMatrix& queries, int top_k) {
  std::vector<double> seconds;
  for (int i = 0; i < kRounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    Search(index, queries, top_k);
    seconds.push_back(Seconds(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRounds / 2, seconds.end());
  return seconds[kRounds / 2];
}

int Run(const Options& options) {
  ComputePool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  const std::vector<uint16_t> numbers = MadeUpRows(options, &pool);
  const VectorView rows = {numbers.data(), options.rows, options.dimension, options.dimension,
                           Dtype::kFloat16};
  const auto start = std::chrono::steady_clock::now();
  const auto devices = ValueOrDie(CudaScanDevices(), 3);
  auto scan = ValueOrDie(devices->Load(rows, options.device, CallContext::Unbounded()), 3);
  const double loading = Seconds(std::chrono::steady_clock::now() - start).count();
  const double bytes = static_cast<double>(scan->byte_count().device);
  const auto device = ValueOrDie(OpenDeviceFlatIndex(rows, std::move(scan), &pool), 1);
  const auto cpu = ValueOrDie(OpenFlatIndex(rows, &pool), 1);
  std::printf("%lld rows of %d, top %d; %.2f GB on the device, loaded in %.2f s\n",
              static_cast<long long>(options.rows), options.dimension, options.top_k, bytes / 1e9,
              loading);
  bool same = true;
  for (const int batch : kBatches) {
    const EmbeddingMatrix queries = MadeUpQueries(batch, options.dimension);
    const int differs = FirstDifference(Search(*device, queries, options.top_k),
                                        Search(*cpu, queries, options.top_k));
    const double seconds = MedianSeconds(*device, queries, options.top_k);
    std::printf("batch %3d  %9.3f ms  %10.0f queries a second  %6.0f GB/s of one reading  %s\n",
                batch, seconds * 1e3, batch / seconds, bytes / seconds / 1e9,
                differs < 0 ? "as the CPU" : "DIFFERS FROM THE CPU");
    if (differs >= 0) std::printf("  query %d is the first\n", differs);
    same = same && differs < 0;
  }
  return same ? 0 : 1;
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  return sightline::Run(sightline::ReadOptions(argc, argv));
}
