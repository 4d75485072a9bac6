// Inverted files: rows in lists by their nearest centroids, of which a search looks into some.
//
// What it finds are the best of the rows there by exact score, of candidates that were chosen by
// codes.  Estimates are of integers and of floats that are rounded alike on every CPU, candidates
// are the best by a total order, and so are results: equal queries and options give the same bits
// in any batch and on any number of threads.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "common/index/code_space.h"
#include "common/index/index_checks.h"
#include "common/index/index_kind.h"
#include "common/index/ivf_build.h"
#include "common/index/ivf_file.h"
#include "common/index/ivf_search.h"
#include "common/index/ivf_shape.h"
#include "common/index/list_ranking.h"
#include "common/index/vector_index.h"
#include "common/kernels/cpu.h"
#include "common/kernels/random_rotation.h"

namespace sightline {
namespace {

using NeighborLists = std::vector<std::vector<Neighbor>>;

class IvfIndex : public VectorIndex {
 public:
  // The file is not loaded where there are no rows.
  IvfIndex(IvfFile file, const VectorView& vectors, ComputePool* pool)
      : file_(std::move(file)),
        space_(CodeSpaceOf(file_)),
        ranking_(file_, space_),
        parts_{&file_, &space_, &ranking_, vectors},
        pool_(pool) {}

  absl::StatusOr<NeighborLists> Search(const EmbeddingMatrix& queries, const SearchOptions& options,
                                       const CallContext& call) const override {
    RETURN_IF_ERROR(CheckSearch(queries, options, parts_.vectors, call));
    ComputePool* const pool = options.pool != nullptr ? options.pool : pool_;
    // A query alone may use all threads; several have one each.
    ComputePool* const own = queries.rows() == 1 ? pool : nullptr;
    if (IsExact(options)) {
      return ForEach(queries, pool, [&](const float* query) {
        return ScoreAll(parts_.vectors, query, options.among, options.top_k, own, call);
      });
    }
    IvfRequest request = RequestOf(file_.shape, options);
    std::vector<uint64_t> words;
    if (options.among != nullptr) {
      request.among_words =
          options.among->is_list() ? BitsOf(*options.among, &words) : options.among->words();
    }
    return ForEach(queries, pool, [&](const float* query) {
      return SearchLists(parts_, query, request, own, call);
    });
  }

  bool IsExact(const SearchOptions& options) const override {
    return ComparesAll(file_.shape, parts_.vectors, options);
  }

  double WorkOf(const SearchOptions& options) const override {
    return WorkOfSearch(file_.shape, parts_.vectors, RequestOf(file_.shape, options));
  }

  int64_t byte_count() const override {
    return file_.shape.rows == 0
               ? 0
               : IvfFileBytes(file_.shape) + ranking_.byte_count() + space_.byte_count();
  }
  int dimension() const override { return file_.shape.dimension; }
  int64_t size() const override { return file_.shape.rows; }

 private:
  // Calls `search` for each query, side by side.
  template <typename SearchOne>
  static absl::StatusOr<NeighborLists> ForEach(const EmbeddingMatrix& queries, ComputePool* pool,
                                               const SearchOne& search) {
    NeighborLists lists(queries.rows());
    std::vector<absl::Status> statuses(queries.rows());
    const auto find = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        auto found = search(queries.row(i).data());
        statuses[i] = found.status();
        if (found.ok()) lists[i] = *std::move(found);
      }
    };
    if (queries.rows() == 1) {
      find(0, 1);
    } else {
      pool->ParallelFor(queries.rows(), 1, find);
    }
    for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
    return lists;
  }

  static const uint64_t* BitsOf(const RowSet& set, std::vector<uint64_t>* words) {
    words->assign((set.universe() + 63) / 64, 0);
    set.ForEach([&](int64_t row) { (*words)[row >> 6] |= uint64_t{1} << (row & 63); });
    return words->data();
  }

  const IvfFile file_;
  const CodeSpace space_;
  const ListRanking ranking_;
  const IvfParts parts_;
  ComputePool* const pool_;
};

bool CanLeaveRows(const bundle::v1::IndexSpec& spec) {
  return spec.ivf().code() != "rows";  // which reads every row that it looks at
}

int64_t Footprint(const bundle::v1::GenerationManifest& manifest, int shard) {
  const auto shape = IvfShapeOf(manifest, shard);
  if (!shape.ok()) return std::numeric_limits<int64_t>::max();
  if (shape->rows == 0) return 0;
  return IvfFileBytes(*shape) + ListRanking::ByteCount(*shape) +
         kernels::RandomRotation::ByteCount(shape->space_size());
}

int64_t BuildMemory(const bundle::v1::GenerationManifest& manifest, int shard, int threads) {
  const auto shape = IvfShapeOf(manifest, shard);
  return shape.ok() ? IvfBuildMemory(*shape, threads) : std::numeric_limits<int64_t>::max();
}

absl::StatusOr<std::unique_ptr<VectorIndex>> Open(absl::string_view directory,
                                                  const bundle::v1::GenerationManifest& manifest,
                                                  int shard, const VectorView& vectors,
                                                  ComputePool* pool, const CallContext& call) {
  RETURN_IF_ERROR(kernels::CheckCpuLimit());
  if (pool == nullptr) return absl::InvalidArgumentError("an ivf index needs a compute pool");
  if (manifest.index_spec().ivf().code() == "rows" && vectors.on_disk()) {
    return absl::InvalidArgumentError(
        "an ivf index of code 'rows' reads every row that it looks at: its rows have to lie in "
        "memory");
  }
  ASSIGN_OR_RETURN(IvfFile file,
                   LoadIvfShard(directory, manifest, shard, vectors, IvfSections::kAll, call));
  return std::make_unique<IvfIndex>(std::move(file), vectors, pool);
}

}  // namespace

extern const DeviceForm kIvfDeviceForm;  // of device_ivf_index.cc

extern const IndexKind kIvfIndexKind = {"ivf",
                                        /*exact=*/false,
                                        &CanLeaveRows,
                                        /*serial_build=*/false,
                                        &CheckIvfSpec,
                                        &Footprint,
                                        &BuildMemory,
                                        &BuildIvf,
                                        &Open,
                                        &kIvfDeviceForm};

}  // namespace sightline
