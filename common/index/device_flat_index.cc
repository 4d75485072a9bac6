// The flat index whose rows lie on a device (device_search.h).
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/status_macros.h"
#include "common/index/device_form.h"
#include "common/index/device_scan.h"
#include "common/index/device_scan_memory.h"
#include "common/index/device_search.h"
#include "common/index/index_checks.h"
#include "common/index/vector_index.h"

namespace sightline {
namespace {

class DeviceFlatIndex : public VectorIndex {
 public:
  DeviceFlatIndex(const VectorView& vectors, std::unique_ptr<DeviceScan> scan, ComputePool* pool)
      : rows_(vectors, std::move(scan), /*order=*/{}, pool) {}

  absl::StatusOr<NeighborLists> Search(const EmbeddingMatrix& queries, const SearchOptions& options,
                                       const CallContext& call) const override {
    RETURN_IF_ERROR(CheckSearch(queries, options, rows_.vectors(), call));
    return rows_.Search(queries, options, call);
  }

  bool IsExact(const SearchOptions&) const override { return true; }
  int64_t byte_count() const override { return rows_.byte_count(); }
  int dimension() const override { return rows_.vectors().dimension; }
  int64_t size() const override { return rows_.vectors().rows; }

 private:
  const DeviceSearch rows_;
};

ScanBytes Footprint(const bundle::v1::GenerationManifest& manifest, int shard) {
  return BytesOfScan(manifest.shards(shard).item_count(), manifest.embedding().dimension());
}

absl::StatusOr<std::unique_ptr<VectorIndex>> Open(absl::string_view,
                                                  const bundle::v1::GenerationManifest&, int,
                                                  const VectorView& vectors, RowLoader load,
                                                  ComputePool* pool, const CallContext&) {
  RETURN_IF_ERROR(CheckView(vectors));
  ASSIGN_OR_RETURN(std::unique_ptr<DeviceScan> scan, load(vectors, /*order=*/{}));
  return OpenDeviceFlatIndex(vectors, std::move(scan), pool);
}

}  // namespace

absl::StatusOr<std::unique_ptr<VectorIndex>> OpenDeviceFlatIndex(const VectorView& vectors,
                                                                 std::unique_ptr<DeviceScan> scan,
                                                                 ComputePool* pool) {
  RETURN_IF_ERROR(CheckView(vectors));
  return std::make_unique<DeviceFlatIndex>(vectors, std::move(scan), pool);
}

extern const DeviceForm kFlatDeviceForm = {&Footprint, &Open};

}  // namespace sightline
