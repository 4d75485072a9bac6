// Exact search: every row is compared with every query.
//
// A score is the inner product of query and row by row_scores.h, one at a time, so it has the same
// bits whatever else is in the batch and however many threads there are; the order (score, then
// row) is total, so the result has as well.  Threads come from the pool, and no OpenMP is entered.
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "common/index/block_lengths.h"
#include "common/index/flat_scan.h"
#include "common/index/index_checks.h"
#include "common/index/index_kind.h"
#include "common/index/vector_index.h"
#include "common/kernels/cpu.h"

namespace sightline {
namespace {

class FlatIndex : public VectorIndex {
 public:
  FlatIndex(const VectorView& vectors, ComputePool* pool)
      : vectors_(vectors), lengths_(vectors), pool_(pool) {}

  absl::StatusOr<std::vector<std::vector<Neighbor>>> Search(
      const EmbeddingMatrix& queries, const SearchOptions& options,
      const CallContext& call) const override {
    RETURN_IF_ERROR(CheckSearch(queries, options, vectors_, call));
    if (queries.rows() == 0) return std::vector<std::vector<Neighbor>>();
    ComputePool* const pool = options.pool != nullptr ? options.pool : pool_;
    if (queries.rows() == 1) {
      return ScanForOne(vectors_, queries, options.top_k, options.among, pool, call);
    }
    return ScanForMany(vectors_, lengths_, queries, options.top_k, options.among, pool, call);
  }

  bool IsExact(const SearchOptions&) const override { return true; }
  int64_t byte_count() const override { return 0; }
  int dimension() const override { return vectors_.dimension; }
  int64_t size() const override { return vectors_.rows; }

 private:
  const VectorView vectors_;
  const BlockLengths lengths_;
  ComputePool* const pool_;
};

absl::Status Check(const bundle::v1::IndexSpec& spec, int) {
  return CheckNoParameters(spec);
}

int64_t Footprint(const bundle::v1::GenerationManifest&, int) {
  return 0;
}

absl::StatusOr<std::unique_ptr<VectorIndex>> Open(absl::string_view,
                                                  const bundle::v1::GenerationManifest&, int,
                                                  const VectorView& vectors, ComputePool* pool,
                                                  const CallContext&) {
  return OpenFlatIndex(vectors, pool);
}

}  // namespace

absl::StatusOr<std::unique_ptr<VectorIndex>> OpenFlatIndex(const VectorView& vectors,
                                                           ComputePool* pool) {
  RETURN_IF_ERROR(kernels::CheckCpuLimit());
  RETURN_IF_ERROR(CheckView(vectors));
  if (vectors.on_disk()) {
    return absl::InvalidArgumentError(
        "a flat index reads every row at each search: its rows have to lie in memory");
  }
  if (pool == nullptr) return absl::InvalidArgumentError("a flat index needs a compute pool");
  return std::make_unique<FlatIndex>(vectors, pool);
}

extern const IndexKind kFlatIndexKind = {
    "flat",
    /*exact=*/true,
    /*rows_on_disk=*/[](const bundle::v1::IndexSpec&) { return false; },
    /*serial_build=*/false,
    &Check,
    &Footprint,
    /*build_memory=*/nullptr,
    /*build=*/nullptr,
    &Open,
    &kFlatDeviceForm};

}  // namespace sightline
