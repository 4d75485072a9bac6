// The inverted file whose rows lie on a device (device_ivf_search.h).
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/status_macros.h"
#include "common/index/code_space.h"
#include "common/index/device_form.h"
#include "common/index/device_ivf_search.h"
#include "common/index/device_scan_memory.h"
#include "common/index/device_search.h"
#include "common/index/index_checks.h"
#include "common/index/ivf_file.h"
#include "common/index/ivf_search.h"
#include "common/index/list_ranking.h"
#include "common/index/vector_index.h"
#include "common/kernels/cpu.h"
#include "common/kernels/random_rotation.h"

namespace sightline {
namespace {

absl::Span<const int32_t> OrderOf(const IvfFile& file) {
  return {file.rows(), static_cast<size_t>(file.shape.rows)};
}

class DeviceIvfIndex : public VectorIndex {
 public:
  // `scan` has loaded the rows of `vectors` in the order of the file's lists.
  DeviceIvfIndex(IvfFile file, const VectorView& vectors, std::unique_ptr<DeviceScan> scan,
                 ComputePool* pool)
      : file_(std::move(file)),
        space_(CodeSpaceOf(file_)),
        ranking_(file_, space_),
        rows_(vectors, std::move(scan), OrderOf(file_), pool),
        parts_{&file_, &space_, &ranking_, &rows_} {}

  absl::StatusOr<NeighborLists> Search(const EmbeddingMatrix& queries, const SearchOptions& options,
                                       const CallContext& call) const override {
    RETURN_IF_ERROR(CheckSearch(queries, options, rows_.vectors(), call));
    return IsExact(options) ? rows_.Search(queries, options, call)
                            : SearchListsOnDevice(parts_, queries, options, call);
  }

  bool IsExact(const SearchOptions& options) const override {
    return ComparesAllOnDevice(parts_, options);
  }
  double WorkOf(const SearchOptions& options) const override {
    return WorkOfSearch(file_.shape, rows_.vectors(), RequestOf(file_.shape, options));
  }
  int64_t byte_count() const override {
    if (file_.shape.rows == 0) return rows_.byte_count();
    return rows_.byte_count() + IvfListBytes(file_.shape) + ranking_.byte_count() +
           space_.byte_count();
  }
  int dimension() const override { return file_.shape.dimension; }
  int64_t size() const override { return file_.shape.rows; }

 private:
  const IvfFile file_;
  const CodeSpace space_;
  const ListRanking ranking_;
  const DeviceSearch rows_;
  const DeviceIvfParts parts_;
};

ScanBytes Footprint(const bundle::v1::GenerationManifest& manifest, int shard) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const auto shape = IvfShapeOf(manifest, shard);
  if (!shape.ok()) return {kMost, kMost};
  ScanBytes bytes = BytesOfListScan(shape->rows, shape->dimension);
  if (shape->rows > 0) {
    bytes.host += IvfListBytes(*shape) + ListRanking::ByteCount(*shape) +
                  kernels::RandomRotation::ByteCount(shape->space_size());
  }
  return bytes;
}

absl::StatusOr<std::unique_ptr<VectorIndex>> Open(absl::string_view directory,
                                                  const bundle::v1::GenerationManifest& manifest,
                                                  int shard, const VectorView& vectors,
                                                  RowLoader load, ComputePool* pool,
                                                  const CallContext& call) {
  RETURN_IF_ERROR(kernels::CheckCpuLimit());
  if (pool == nullptr) return absl::InvalidArgumentError("an ivf index needs a compute pool");
  ASSIGN_OR_RETURN(IvfFile file,
                   LoadIvfShard(directory, manifest, shard, vectors, IvfSections::kLists, call));
  ASSIGN_OR_RETURN(std::unique_ptr<DeviceScan> scan, load(vectors, OrderOf(file)));
  return std::make_unique<DeviceIvfIndex>(std::move(file), vectors, std::move(scan), pool);
}

}  // namespace

extern const DeviceForm kIvfDeviceForm = {&Footprint, &Open};

}  // namespace sightline
