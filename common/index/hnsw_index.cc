// A graph of rows, each linked to some of those near it, that a search walks through from one to
// the next nearer one (hnsw_graph.h): kind "hnsw".
//
// A search that would look at about as many rows as there are looks at all of them instead, and is
// exact; so is one among few rows.  Which one that is follows from its options alone.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/index/hnsw_build.h"
#include "common/index/hnsw_file.h"
#include "common/index/hnsw_scan.h"
#include "common/index/hnsw_spaces.h"
#include "common/index/hnsw_walk.h"
#include "common/index/index_checks.h"
#include "common/index/index_kind.h"
#include "common/index/row_scores.h"
#include "common/index/vector_index.h"
#include "common/kernels/cpu.h"
#include "common/kernels/int8_rows.h"

namespace sightline {
namespace {

// What a walk writes on, kept from search to search.
struct Scratch {
  SeenVertices seen;
  SortedBeam sorted;
  HeapBeam heap;
};

// Thread-safe.
class ScratchPool {
 public:
  std::unique_ptr<Scratch> Take() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (idle_.empty()) return std::make_unique<Scratch>();
    std::unique_ptr<Scratch> scratch = std::move(idle_.back());
    idle_.pop_back();
    return scratch;
  }
  void GiveBack(std::unique_ptr<Scratch> scratch) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    idle_.push_back(std::move(scratch));
  }

 private:
  Mutex mutex_;
  std::vector<std::unique_ptr<Scratch>> idle_ GUARDED_BY(mutex_);
};

class HnswIndex : public VectorIndex {
 public:
  HnswIndex(const VectorView& vectors, LoadedHnswGraph loaded, int refine, ComputePool* pool)
      : vectors_(vectors), loaded_(std::move(loaded)), refine_(refine), pool_(pool) {}

  absl::StatusOr<std::vector<std::vector<Neighbor>>> Search(
      const EmbeddingMatrix& queries, const SearchOptions& options,
      const CallContext& call) const override {
    RETURN_IF_ERROR(CheckSearch(queries, options, vectors_, call));
    std::vector<absl::StatusOr<std::vector<Neighbor>>> found(static_cast<size_t>(queries.rows()),
                                                             std::vector<Neighbor>());
    ComputePool* const pool = options.pool != nullptr ? options.pool : pool_;
    pool->ParallelFor(queries.rows(), 1, [&](int64_t begin, int64_t end) {
      std::unique_ptr<Scratch> scratch = scratch_.Take();
      for (int64_t i = begin; i < end; ++i) {
        found[i] = SearchOne(queries.row(i).data(), options, scratch.get(), call);
      }
      scratch_.GiveBack(std::move(scratch));
    });
    std::vector<std::vector<Neighbor>> lists;
    lists.reserve(found.size());
    for (auto& one : found) {
      RETURN_IF_ERROR(one.status());
      lists.push_back(*std::move(one));
    }
    return lists;
  }

  // A walk that keeps n candidates looks at about n * link_count rows; one that keeps only those of
  // a set, at as many more as the set has fewer rows.
  bool IsExact(const SearchOptions& options) const override {
    if (options.effort == limits::kMaxEffort) return true;
    const int64_t rows = graph().shape.rows;
    const int64_t count = options.among != nullptr ? options.among->count() : rows;
    const int64_t looks = int64_t{Width(options)} * graph().shape.link_count;
    return count == 0 || count <= looks * rows / count;
  }

  double WorkOf(const SearchOptions& options) const override {
    const double wider = static_cast<double>(Width(options)) / options.effort;
    if (options.among == nullptr || options.among->count() == 0) return wider;
    return wider * static_cast<double>(graph().shape.rows) /
           static_cast<double>(options.among->count());
  }

  int64_t byte_count() const override { return graph().shape.byte_count(); }
  int dimension() const override { return vectors_.dimension; }
  int64_t size() const override { return vectors_.rows; }

 private:
  const HnswGraph& graph() const { return loaded_.graph; }
  static int Width(const SearchOptions& options) { return std::max(options.effort, options.top_k); }

  absl::StatusOr<std::vector<Neighbor>> SearchOne(const float* query, const SearchOptions& options,
                                                  Scratch* scratch, const CallContext& call) const {
    std::vector<int64_t> rows;
    const int64_t most = options.among != nullptr ? options.among->count() : graph().shape.rows;
    // A walk that finds too few has been to all that can be linked, which other rows cannot.
    if (IsExact(options) || !WalkFor(query, options, call, scratch, &rows) ||
        static_cast<int64_t>(rows.size()) < std::min<int64_t>(options.top_k, most)) {
      RETURN_IF_ERROR(call.Check("index search"));
      return ScanRows(graph(), vectors_, query, options.among, options.top_k, call);
    }
    return BestOfRows(vectors_, query, std::move(rows), options.top_k, call);
  }

  // False if the call ended, or all rows of a set are looked at with less effort.
  bool WalkFor(const float* query, const SearchOptions& options, const CallContext& call,
               Scratch* scratch, std::vector<int64_t>* rows) const {
    if (graph().shape.coded) {
      const kernels::Int16Query coded(query, vectors_.dimension);
      return WalkIn(CodedSpace(graph(), coded), options, call, scratch, rows);
    }
    if (vectors_.dtype == Dtype::kFloat16) {
      return WalkIn(Float16Space(vectors_, query), options, call, scratch, rows);
    }
    return WalkIn(Float32Space(vectors_, query), options, call, scratch, rows);
  }

  template <typename Space>
  bool WalkIn(const Space& space, const SearchOptions& options, const CallContext& call,
              Scratch* scratch, std::vector<int64_t>* rows) const {
    WalkLimit limit;
    limit.call = &call;
    if (options.among != nullptr) limit.similarities = options.among->count();
    const uint32_t start = Descend(graph(), space, 0, &scratch->seen);
    scratch->seen.Reset(graph().shape.rows);
    scratch->seen.Mark(start);
    const Reached first = {space.Similarity(start), start};
    const int width = Width(options);
    if (options.among == nullptr && width <= SortedBeam::kWidest) {
      scratch->sorted.Reset(width);
      scratch->sorted.Offer(first);
      if (!Walk(graph().base(), space, limit, &scratch->seen, &scratch->sorted)) return false;
      TakeBest(scratch->sorted, options.top_k, rows);
      return true;
    }
    scratch->heap.Reset(width, options.among);
    scratch->heap.Offer(first);
    if (!Walk(graph().base(), space, limit, &scratch->seen, &scratch->heap)) return false;
    scratch->heap.Sort();
    TakeBest(scratch->heap, options.top_k, rows);
    return true;
  }

  // Those that are scored.  Rows that are not coded are known but for the last bits.
  template <typename Beam>
  void TakeBest(const Beam& beam, int top_k, std::vector<int64_t>* rows) const {
    constexpr int64_t kMoreThanAsked = 4;
    const int64_t wanted = graph().shape.coded ? int64_t{top_k} * refine_ : top_k + kMoreThanAsked;
    const size_t count = std::min(beam.size(), static_cast<size_t>(wanted));
    rows->reserve(count);
    for (size_t i = 0; i < count; ++i) rows->push_back(beam.at(i).vertex);
  }

  const VectorView vectors_;
  const LoadedHnswGraph loaded_;
  const int refine_;
  ComputePool* const pool_;
  mutable ScratchPool scratch_;
};

bool CanLeaveRows(const bundle::v1::IndexSpec& spec) {
  return spec.hnsw().code() == "int8";  // else each step of a walk reads rows
}

absl::StatusOr<std::unique_ptr<VectorIndex>> Open(absl::string_view directory,
                                                  const bundle::v1::GenerationManifest& manifest,
                                                  int shard, const VectorView& vectors,
                                                  ComputePool* pool, const CallContext& call) {
  RETURN_IF_ERROR(kernels::CheckCpuLimit());
  RETURN_IF_ERROR(CheckView(vectors));
  RETURN_IF_ERROR(CheckHnsw(manifest.index_spec(), vectors.dimension));
  if (pool == nullptr) return absl::InvalidArgumentError("an hnsw index needs a compute pool");
  const bundle::v1::HnswSpec& spec = manifest.index_spec().hnsw();
  const bool coded = spec.code() == "int8";
  if (vectors.on_disk() && !coded) {
    return absl::InvalidArgumentError(
        "an hnsw index of code 'rows' reads rows at each step of a search: they have to lie in "
        "memory; code 'int8' leaves them on a disk");
  }
  const HnswShape shape = {vectors.rows, vectors.dimension, spec.link_count(), coded};
  if (shape.rows > kMostHnswRows) return TooManyHnswRows(shape.rows);
  ASSIGN_OR_RETURN(const std::string path, HnswPath(directory, manifest, shard));
  ASSIGN_OR_RETURN(LoadedHnswGraph loaded, LoadHnswGraph(path, shape, call));
  return std::make_unique<HnswIndex>(vectors, std::move(loaded), std::max(spec.refine(), 1), pool);
}

}  // namespace

extern const IndexKind kHnswIndexKind = {"hnsw",
                                         /*exact=*/false,
                                         &CanLeaveRows,
                                         /*serial_build=*/true,
                                         &CheckHnsw,
                                         &HnswFootprint,
                                         &HnswBuildMemory,
                                         &BuildHnsw,
                                         &Open,
                                         /*on_device=*/nullptr};

}  // namespace sightline
