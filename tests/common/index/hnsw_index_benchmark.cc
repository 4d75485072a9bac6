// What building a graph takes, and what a search through it finds and takes, one query at a time.
//
//   bazel run //tests/common/index:hnsw_index_benchmark -- [rows 100000] [links 16] [effort 100]
//
// Vectors and queries are loadtest/synthesize's.  Times are of the processor, so that a busy
// machine tells about the same; each query's is the least of some passes.  Beside peers graphs are
// measured by loadtest/baseline/ann_peers.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/base/resident_memory.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/index_kinds.h"
#include "common/index/vector_index.h"
#include "loadtest/synthesize/synthetic_vectors.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kDimension = 768;
constexpr int kQueries = 500;
constexpr int kPasses = 3;
constexpr int kEfforts[] = {16, 32, 64, 128, 256, 512};

double ProcessorSeconds() {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <typename T>
T OrExit(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "%s\n", value.status().ToString().c_str());
  std::exit(1);
}

struct Corpus {
  explicit Corpus(int64_t count) : queries(kQueries, kDimension) {
    VectorSpec spec;
    spec.dimension = kDimension;
    spec.clusters = ClustersFor(count);
    const SyntheticVectors vectors(spec);
    memory = OrExit(ResidentMemory::Allocate(count * kDimension * sizeof(float)));
    std::vector<uint32_t> numbers(std::max<int64_t>(count, kQueries));
    std::iota(numbers.begin(), numbers.end(), 0);
    const auto all = absl::MakeConstSpan(numbers);
    auto* const rows = reinterpret_cast<float*>(memory->data());
    pool.ParallelFor(count, 1024, [&](int64_t begin, int64_t end) {
      vectors.Fill(all.subspan(begin, end - begin), rows + begin * kDimension);
    });
    view = {rows, count, kDimension, kDimension};
    vectors.FillQueries(all.subspan(0, kQueries), queries.mutable_data());
    SearchOptions options;
    options.top_k = 100;
    truth = OrExit(OrExit(OpenFlatIndex(view, &pool))->Search(queries, options, call));
  }

  ComputePool pool{2};
  CallContext call = CallContext::Unbounded();
  std::unique_ptr<ResidentMemory> memory;
  VectorView view;
  EmbeddingMatrix queries;
  std::vector<std::vector<Neighbor>> truth;
};

int CountFound(const std::vector<Neighbor>& truth, const std::vector<Neighbor>& found, int top_k) {
  int count = 0;
  for (int i = 0; i < top_k; ++i) {
    count += std::any_of(found.begin(), found.end(),
                         [&](const Neighbor& one) { return one.row == truth[i].row; });
  }
  return count;
}

void MeasureSearches(const Corpus& corpus, const VectorIndex& index, const std::string& code) {
  ComputePool alone(1);
  for (const int top_k : {10, 100}) {
    for (const int effort : kEfforts) {
      if (effort < top_k) continue;
      int64_t found = 0;
      std::vector<double> seconds(kQueries, 1e9);
      for (int pass = 0; pass < kPasses; ++pass) {
        for (int q = 0; q < kQueries; ++q) {
          EmbeddingMatrix query(1, kDimension);
          std::copy_n(corpus.queries.row(q).data(), kDimension, query.mutable_data());
          const double begin = ProcessorSeconds();
          const auto lists =
              OrExit(index.Search(query, {top_k, &alone, effort, nullptr}, corpus.call));
          seconds[q] = std::min(seconds[q], ProcessorSeconds() - begin);
          if (pass == 0) found += CountFound(corpus.truth[q], lists[0], top_k);
        }
      }
      const double mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / kQueries;
      std::printf("%-5s effort %4d  recall@%-3d %.4f  %7.1f us\n", code.c_str(), effort, top_k,
                  static_cast<double>(found) / kQueries / top_k, 1e6 * mean);
    }
  }
}

void Measure(const Corpus& corpus, const std::string& code, int links, int build_effort) {
  bundle::v1::GenerationManifest manifest;
  bundle::v1::IndexSpec* const spec = manifest.mutable_index_spec();
  spec->set_kind("hnsw");
  spec->mutable_hnsw()->set_link_count(links);
  spec->mutable_hnsw()->set_build_effort(build_effort);
  spec->mutable_hnsw()->set_code(code);
  if (code != "rows") spec->mutable_hnsw()->set_refine(4);
  manifest.mutable_embedding()->set_dimension(kDimension);
  manifest.add_shards()->set_item_count(corpus.view.rows);
  const IndexKind& kind = *OrExit(IndexKindOf(manifest));

  const TempDir folder;
  ComputePool pool(1);
  IndexBuild build;
  build.directory = folder.path();
  build.manifest = &manifest;
  build.vectors = corpus.view;
  build.pool = &pool;
  build.call = &corpus.call;
  const double begin = ProcessorSeconds();
  const auto files = OrExit(kind.build(build));
  std::printf("%-5s built in %.1f s\n", code.c_str(), ProcessorSeconds() - begin);
  *manifest.mutable_shards(0)->add_index_files() = files[0];
  const auto index = OrExit(kind.open(folder.path(), manifest, 0, corpus.view, &pool, corpus.call));
  std::printf("%-5s %.0f bytes a row beside the row\n", code.c_str(),
              static_cast<double>(index->byte_count()) / static_cast<double>(corpus.view.rows));
  MeasureSearches(corpus, *index, code);
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  const auto argument = [&](int place, int otherwise) {
    return argc > place ? std::max(std::atoi(argv[place]), 1) : otherwise;
  };
  const sightline::Corpus corpus(argument(1, 100000));
  for (const char* code : {"rows", "int8"}) {
    sightline::Measure(corpus, code, argument(2, 16), argument(3, 100));
  }
}
