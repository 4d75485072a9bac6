// Exact search that reads a quarter of what the rows take: rows in int8, in memory, tell each score
// roughly and by how much it may be off, and the few rows that may be among the best are scored
// exactly, wherever they lie.
//
// What is found is what a flat index finds, bit for bit.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/index/flat_scan.h"
#include "common/index/index_checks.h"
#include "common/index/index_kind.h"
#include "common/index/int8_codes.h"
#include "common/index/int8_scan.h"
#include "common/index/rough_best.h"
#include "common/index/row_scores.h"
#include "common/kernels/cpu.h"

namespace sightline {
namespace {

// Queries that share a reading of the codes.
constexpr int64_t kMostOfGroup = 64;
// Rough neighbors of a query and part at most.
constexpr int64_t kMostRough = 16384;

class Scan {
 public:
  Scan(const VectorView& vectors, const Int8Codes& codes, const EmbeddingMatrix& queries,
       const SearchOptions& options, int threads, const CallContext& call)
      : vectors_(vectors),
        codes_(codes),
        queries_(queries),
        among_(options.among),
        call_(call),
        watch_(call),
        floors_(queries.rows()) {
    for (int64_t i = 0; i < queries.rows(); ++i) {
      rough_.emplace_back(queries.row(i).data(), queries.dimension());
    }
    const int64_t rows = among_ == nullptr ? vectors.rows : among_->count();
    // A part smaller than this would spend its time on candidates.
    const int64_t least_rows = std::max(Int8Chunk::kMostRows, 4 * int64_t{options.top_k});
    const int64_t most_parts = threads == 1 ? 1 : kRowPartsPerThread * threads;
    const int64_t affordable = kMostKept / (queries.rows() * Candidates::Capacity(options.top_k));
    parts_ = std::clamp<int64_t>(std::min(rows / least_rows, affordable), 1, most_parts);
    group_ = std::clamp<int64_t>(queries.rows() * parts_ / threads, 1, kMostOfGroup);
    best_.resize(
        parts_ * queries.rows(),
        RoughBest(options.top_k, std::min(kMostRough, kMostKept / (queries.rows() * parts_))));
  }

  absl::StatusOr<NeighborLists> Run(ComputePool* pool) {
    const int64_t groups = (queries_.rows() + group_ - 1) / group_;
    RETURN_IF_ERROR(ForEach(pool, parts_ * groups, [this, groups](int64_t cell) {
      return ScanCell(cell / groups, cell % groups * group_);
    }));
    RETURN_IF_ERROR(watch_.status());
    NeighborLists lists(queries_.rows());
    RETURN_IF_ERROR(ForEach(pool, queries_.rows(), [&](int64_t query) -> absl::Status {
      ASSIGN_OR_RETURN(lists[query], Merge(query));
      return absl::OkStatus();
    }));
    return lists;
  }

 private:
  // Calls `work` for 0 to before `count`; the first one's error.
  template <typename Work>
  static absl::Status ForEach(ComputePool* pool, int64_t count, const Work& work) {
    std::vector<absl::Status> statuses(count);
    pool->ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) statuses[i] = work(i);
    });
    for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
    return absl::OkStatus();
  }

  // Compares the rows of a part with the queries of a group, chunk after chunk.
  absl::Status ScanCell(int64_t part, int64_t first_query) {
    const int64_t last_query = std::min(first_query + group_, queries_.rows());
    Int8Chunk chunk(codes_);
    RowRange range = PartOf(vectors_.rows, among_, chunk.most_rows(), part, parts_);
    RowSetCursor cursor(among_, range.begin, range.end);
    while (!watch_.IsOver()) {
      if (among_ == nullptr) {
        chunk.Take(range.begin, range.end);
        range.begin += chunk.count();
      } else {
        chunk.Take(&cursor);
      }
      if (chunk.count() == 0) break;
      for (int64_t query = first_query; query < last_query; ++query) {
        RETURN_IF_ERROR(ScanChunk(part, query, &chunk));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ScanChunk(int64_t part, int64_t query, Int8Chunk* chunk) {
    RoughBest& best = BestOf(query, part);
    for (const auto& found : chunk->Find(rough_[query], floors_[query].score())) {
      best.Add({found.row, found.score, found.error});
      if (!best.full()) continue;
      RETURN_IF_ERROR(best.MakeRoom(ExactScoresOf(query)));
      floors_[query].Raise(best.floor());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Neighbor>> Merge(int64_t query) {
    RoughBest all = std::move(BestOf(query, 0));
    for (int64_t part = 1; part < parts_; ++part) all.Merge(std::move(BestOf(query, part)));
    return all.Take(ExactScoresOf(query));
  }

  // Scores stored rows with the query.
  struct ExactScorer {
    absl::Status operator()(absl::Span<const int64_t> rows, absl::Span<float> scores) const {
      return ScoreRows(scan->vectors_, scan->queries_.row(query).data(), rows, scores, scan->call_);
    }
    const Scan* scan;
    int64_t query;
  };
  ExactScorer ExactScoresOf(int64_t query) const { return {this, query}; }

  // Written by one cell.
  RoughBest& BestOf(int64_t query, int64_t part) { return best_[query * parts_ + part]; }

  const VectorView& vectors_;
  const Int8Codes& codes_;
  const EmbeddingMatrix& queries_;
  const RowSet* const among_;
  const CallContext& call_;
  CallWatch watch_;
  std::vector<RoughQuery> rough_;
  int64_t parts_ = 1;
  int64_t group_ = 1;            // queries
  std::vector<RoughBest> best_;  // of each query and part, query-major
  std::vector<Floor> floors_;    // of each query
};

class FlatInt8Index : public VectorIndex {
 public:
  FlatInt8Index(const VectorView& vectors, Int8Codes codes, ComputePool* pool)
      : vectors_(vectors), codes_(std::move(codes)), pool_(pool) {}

  absl::StatusOr<std::vector<std::vector<Neighbor>>> Search(
      const EmbeddingMatrix& queries, const SearchOptions& options,
      const CallContext& call) const override {
    RETURN_IF_ERROR(CheckSearch(queries, options, vectors_, call));
    if (queries.rows() == 0) return std::vector<std::vector<Neighbor>>();
    ComputePool* const pool = options.pool != nullptr ? options.pool : pool_;
    return Scan(vectors_, codes_, queries, options, pool->threads(), call).Run(pool);
  }

  bool IsExact(const SearchOptions&) const override { return true; }
  int64_t byte_count() const override { return Int8CodesBytes(vectors_.rows, vectors_.dimension); }
  int dimension() const override { return vectors_.dimension; }
  int64_t size() const override { return vectors_.rows; }

 private:
  const VectorView vectors_;
  const Int8Codes codes_;
  ComputePool* const pool_;
};

absl::Status Check(const bundle::v1::IndexSpec& spec, int) {
  return CheckNoParameters(spec);
}

int64_t Footprint(const bundle::v1::GenerationManifest& manifest, int shard) {
  return Int8CodesBytes(manifest.shards(shard).item_count(), manifest.embedding().dimension());
}

int64_t BuildMemory(const bundle::v1::GenerationManifest& manifest, int shard, int /*threads*/) {
  return Int8WriteBytes(manifest.shards(shard).item_count(), manifest.embedding().dimension());
}

// One pass over the rows, a microsecond or two of a thread for each: a build that was killed begins
// anew.
absl::StatusOr<std::vector<bundle::v1::BundleFile>> Build(const IndexBuild& build) {
  RETURN_IF_ERROR(CheckView(build.vectors));
  bundle::v1::BundleFile file;
  file.set_path(ShardFileName(build.shard, build.manifest->shards_size(), "int8"));
  ASSIGN_OR_RETURN(const auto summary,
                   WriteInt8Codes(build, absl::StrCat(build.directory, "/", file.path())));
  file.set_byte_count(summary.byte_count);
  file.set_sha256(summary.sha256);
  return std::vector<bundle::v1::BundleFile>{file};
}

absl::StatusOr<std::unique_ptr<VectorIndex>> Open(absl::string_view directory,
                                                  const bundle::v1::GenerationManifest& manifest,
                                                  int shard, const VectorView& vectors,
                                                  ComputePool* pool, const CallContext& call) {
  RETURN_IF_ERROR(kernels::CheckCpuLimit());
  RETURN_IF_ERROR(CheckView(vectors));
  if (pool == nullptr) return absl::InvalidArgumentError("a flat_int8 index needs a compute pool");
  const auto& files = manifest.shards(shard).index_files();
  if (files.size() != 1) {
    return MakeError(reasons::kContentInvalid,
                     absl::StrCat("shard ", shard, " has ", files.size(),
                                  " index_files; kind flat_int8 has one"));
  }
  ASSIGN_OR_RETURN(Int8Codes codes, Int8Codes::Load(absl::StrCat(directory, "/", files[0].path()),
                                                    vectors.rows, vectors.dimension, call));
  return std::make_unique<FlatInt8Index>(vectors, std::move(codes), pool);
}

}  // namespace

extern const IndexKind kFlatInt8IndexKind = {
    "flat_int8",
    /*exact=*/true,
    /*rows_on_disk=*/[](const bundle::v1::IndexSpec&) { return true; },
    /*serial_build=*/false,
    &Check,
    &Footprint,
    &BuildMemory,
    &Build,
    &Open,
    &kFlatDeviceForm};

}  // namespace sightline
