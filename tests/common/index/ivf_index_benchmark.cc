// What an inverted file finds, and what that takes: recall among the 10 and the 100 best, and
// microseconds of a query alone on one thread, by code and effort.
//
//   bazel run -c opt //tests/common/index:ivf_index_benchmark -- [options]
//     --items 100000 --dimension 768 --queries 200 --fp32 0 (1: rows as float32)
//     --lists 1024 --codes rows,int8,pq4/192,rabitq,rabitq/64 (with pq_parts)
//     --efforts 1,2,4,8,16,32,64,128,256
//     --refine 10 --threads 2 (of builds)
//     --shares 0.01,0.1,0.5 (of filters) --work FOLDER --rows FILE (kept for the next run)
//
// Items and queries are spread as the demo's embeddings are (loadtest/synthesize).
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/base/float16.h"
#include "common/base/resident_memory.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/index_kinds.h"
#include "common/index/vector_index.h"
#include "loadtest/synthesize/synthetic_vectors.h"

namespace sightline {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

[[noreturn]] void Die(const std::string& problem) {
  std::fprintf(stderr, "%s\n", problem.c_str());
  std::exit(1);
}

struct Options {
  std::map<std::string, std::string> values = {{"items", "100000"},
                                               {"dimension", "768"},
                                               {"queries", "200"},
                                               {"lists", "1024"},
                                               {"codes", "rows,int8,pq4/192,rabitq,rabitq/64"},
                                               {"efforts", "1,2,4,8,16,32,64,128,256"},
                                               {"refine", "10"},
                                               {"threads", "2"},
                                               {"work", "/tmp/ivf_index_benchmark"},
                                               {"fp32", "0"},
                                               {"shares", ""},
                                               {"rows", ""}};

  int64_t Int(const std::string& name) const { return std::atoll(values.at(name).c_str()); }
  double Real(const std::string& name) const { return std::atof(values.at(name).c_str()); }
};

// Rows as a server has them, and queries like them.
struct Data {
  std::unique_ptr<ResidentMemory> memory;
  VectorView rows;
  EmbeddingMatrix queries;
};

Data MakeData(const Options& options, ComputePool* pool) {
  Data data;
  const int64_t items = options.Int("items");
  const int dimension = static_cast<int>(options.Int("dimension"));
  const bool fp32 = options.Int("fp32") != 0;
  VectorSpec spec;
  spec.dimension = dimension;
  spec.clusters = ClustersFor(items);
  const SyntheticVectors vectors(spec);
  const int64_t row_bytes = dimension * (fp32 ? 4 : 2);
  data.memory = *ResidentMemory::Allocate(items * row_bytes);
  const std::string& kept = options.values.at("rows");
  const bool is_kept = !kept.empty() && std::filesystem::exists(kept);
  if (is_kept) {
    std::ifstream file(kept, std::ios::binary);
    file.read(data.memory->data(), items * row_bytes);
    if (!file) Die(kept + " has other rows");
  }
  pool->ParallelFor(is_kept ? 0 : items, 1024, [&](int64_t begin, int64_t end) {
    std::vector<float> rows(256 * dimension);
    for (; begin < end; begin += 256) {
      const int64_t count = std::min<int64_t>(256, end - begin);
      std::vector<uint32_t> numbers(count);
      std::iota(numbers.begin(), numbers.end(), static_cast<uint32_t>(begin));
      vectors.Fill(numbers, rows.data());
      char* const to = data.memory->data() + begin * row_bytes;
      if (fp32) {
        std::memcpy(to, rows.data(), count * row_bytes);
      } else {
        Float32ToFloat16(rows.data(), count * dimension, to);
      }
    }
  });
  if (!kept.empty() && !is_kept) {
    std::ofstream(kept, std::ios::binary).write(data.memory->data(), items * row_bytes);
  }
  data.rows = {data.memory->data(), items, dimension, dimension,
               fp32 ? Dtype::kFloat32 : Dtype::kFloat16};
  const int64_t queries = options.Int("queries");
  data.queries = EmbeddingMatrix(queries, dimension);
  std::vector<uint32_t> numbers(queries);
  for (int64_t i = 0; i < queries; ++i) {
    numbers[i] = static_cast<uint32_t>(items * i / std::max<int64_t>(1, queries));
  }
  vectors.FillQueries(numbers, data.queries.mutable_data());
  return data;
}

using Lists = std::vector<std::vector<Neighbor>>;

double Recall(const Lists& found, const Lists& truth, size_t k) {
  double hits = 0, wanted = 0;
  for (size_t q = 0; q < truth.size(); ++q) {
    const size_t n = std::min(k, truth[q].size());
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < std::min(k, found[q].size()); ++j) {
        hits += found[q][j].row == truth[q][i].row;
      }
    }
    wanted += static_cast<double>(n);
  }
  return wanted == 0 ? 1 : hits / wanted;
}

EmbeddingMatrix RowOf(const EmbeddingMatrix& matrix, int64_t row) {
  EmbeddingMatrix one(1, matrix.dimension());
  std::copy(matrix.row(row).begin(), matrix.row(row).end(), one.mutable_row(0).begin());
  return one;
}

// Of the calling thread, which does all of the work: other processes do not count.
double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Each query alone, three times; the median of the queries' least processor times, in microseconds.
double TimeAlone(const VectorIndex& index, const EmbeddingMatrix& queries,
                 const SearchOptions& options, Lists* found) {
  constexpr int kRounds = 3;
  std::vector<double> times(queries.rows(), 1e9);
  for (int64_t round = 0; round < kRounds; ++round) {
    found->clear();
    for (int64_t q = 0; q < queries.rows(); ++q) {
      const EmbeddingMatrix query = RowOf(queries, q);
      const double start = CpuSeconds();
      auto lists = index.Search(query, options, CallContext::Unbounded());
      times[q] = std::min(times[q], (CpuSeconds() - start) * 1e6);
      if (!lists.ok()) Die(lists.status().ToString());
      found->push_back(std::move((*lists)[0]));
    }
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

RowSet Strewn(int64_t rows, double share) {
  std::vector<uint64_t> words((rows + 63) / 64);
  std::mt19937_64 random(9);
  for (int64_t row = 0; row < rows; ++row) {
    if (static_cast<double>(random() >> 11) * 0x1p-53 < share) {
      words[row / 64] |= uint64_t{1} << row % 64;
    }
  }
  return RowSet::OfBits(std::move(words), rows);
}

bundle::v1::GenerationManifest ManifestOf(const Options& options, const Data& data,
                                          const std::string& code) {
  bundle::v1::GenerationManifest manifest;
  manifest.mutable_embedding()->set_dimension(data.rows.dimension);
  manifest.set_item_count(data.rows.rows);
  bundle::v1::IndexSpec* const spec = manifest.mutable_index_spec();
  spec->set_kind("ivf");
  spec->set_seed(1);
  spec->mutable_ivf()->set_list_count(static_cast<int>(options.Int("lists")));
  const size_t slash = code.find('/');
  spec->mutable_ivf()->set_code(code.substr(0, slash));
  if (slash != std::string::npos) {
    spec->mutable_ivf()->set_pq_parts(std::atoi(code.c_str() + slash + 1));
  }
  if (code != "rows") spec->mutable_ivf()->set_refine(static_cast<int>(options.Int("refine")));
  manifest.add_shards()->set_item_count(data.rows.rows);
  return manifest;
}

// An index of one code, built and opened.
std::unique_ptr<VectorIndex> MakeIndex(const Options& options, const Data& data,
                                       const std::string& code, ComputePool* pool,
                                       ComputePool* alone) {
  bundle::v1::GenerationManifest manifest = ManifestOf(options, data, code);
  const IndexKind* const kind = *IndexKindOf(manifest);
  const std::string folder = options.values.at("work") + "/" + code;
  std::filesystem::create_directories(folder + "/shards");
  const CallContext call = CallContext::Unbounded();
  IndexBuild build;
  build.directory = folder;
  build.manifest = &manifest;
  build.vectors = data.rows;
  build.work_directory = folder;
  build.pool = pool;
  build.call = &call;
  auto start = Clock::now();
  const auto files = kind->build(build);
  if (!files.ok()) Die(files.status().ToString());
  const double build_seconds = SecondsSince(start);
  *manifest.mutable_shards(0)->add_index_files() = (*files)[0];
  start = Clock::now();
  auto index = kind->open(folder, manifest, 0, data.rows, alone, call);
  if (!index.ok()) Die(index.status().ToString());
  std::printf("%s: built in %.1f s, opened in %.2f s, %.1f bytes an item\n", code.c_str(),
              build_seconds, SecondsSince(start),
              static_cast<double>((*index)->byte_count()) / static_cast<double>(data.rows.rows));
  return *std::move(index);
}

Lists Exactly(const VectorIndex& index, const EmbeddingMatrix& queries, const RowSet* among,
              ComputePool* pool) {
  SearchOptions all;
  all.top_k = 100;
  all.effort = 1'000'000;
  all.pool = pool;
  all.among = among;
  auto lists = index.Search(queries, all, CallContext::Unbounded());
  if (!lists.ok()) Die(lists.status().ToString());
  return *std::move(lists);
}

void MeasureShares(const Options& options, const Data& data, const VectorIndex& index,
                   SearchOptions search, ComputePool* pool) {
  for (const auto word : absl::StrSplit(options.values.at("shares"), ',', absl::SkipEmpty())) {
    double share = 0;
    if (!absl::SimpleAtod(word, &share)) Die("--shares: not a number");
    const RowSet among = Strewn(data.rows.rows, share);
    search.top_k = 10;
    search.among = &among;
    Lists found;
    const double time = TimeAlone(index, data.queries, search, &found);
    const double recall = Recall(found, Exactly(index, data.queries, &among, pool), 10);
    std::printf("    share %.4f  recall@10 %.4f  %8.1f us  %s\n", share, recall, time,
                index.IsExact(search) ? "exact" : "");
  }
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name.rfind("--", 0) != 0 || options.values.count(name.substr(2)) == 0 || i + 1 == argc) {
      Die("what is " + name + "? see the top of ivf_index_benchmark.cc");
    }
    options.values[name.substr(2)] = argv[++i];
  }
  ComputePool pool(static_cast<int>(options.Int("threads")));
  ComputePool alone(1);
  const Data data = MakeData(options, &pool);
  Lists truth;
  for (const std::string& code :
       std::vector<std::string>(absl::StrSplit(options.values.at("codes"), ','))) {
    const auto index = MakeIndex(options, data, code, &pool, &alone);
    if (truth.empty()) truth = Exactly(*index, data.queries, nullptr, &pool);
#ifdef DUMP
#endif
    if (!options.values.at("rows").empty()) {
      std::ofstream(options.values.at("rows") + ".queries", std::ios::binary)
          .write(reinterpret_cast<const char*>(data.queries.data()),
                 data.queries.rows() * data.queries.dimension() * 4);
      std::ofstream out(options.values.at("rows") + ".truth", std::ios::binary);
      for (const auto& list : truth) {
        for (const Neighbor& n : list) {
          const int32_t row = static_cast<int32_t>(n.row);
          out.write(reinterpret_cast<const char*>(&row), 4);
        }
      }
    }
    for (const auto word : absl::StrSplit(options.values.at("efforts"), ',')) {
      SearchOptions search;
      if (!absl::SimpleAtoi(word, &search.effort)) Die("--efforts: not a number");
      Lists ten, hundred;
      search.top_k = 10;
      const double of_ten = TimeAlone(*index, data.queries, search, &ten);
      search.top_k = 100;
      const double of_hundred = TimeAlone(*index, data.queries, search, &hundred);
      std::printf("  effort %5d  recall@10 %.4f  %8.1f us   recall@100 %.4f  %8.1f us\n",
                  search.effort, Recall(ten, truth, 10), of_ten, Recall(hundred, truth, 100),
                  of_hundred);
      MeasureShares(options, data, *index, search, &pool);
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  return sightline::Main(argc, argv);
}
