// The flat index whose rows lie on a device.
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/index/device_scan.h"
#include "common/index/index_checks.h"
#include "common/index/vector_index.h"

namespace sightline {
namespace {

class DeviceFlatIndex : public VectorIndex {
 public:
  DeviceFlatIndex(const VectorView& vectors, std::unique_ptr<DeviceScan> scan)
      : vectors_(vectors), scan_(std::move(scan)) {}

  absl::StatusOr<std::vector<std::vector<Neighbor>>> Search(
      const EmbeddingMatrix& queries, const SearchOptions& options,
      const CallContext& call) const override {
    RETURN_IF_ERROR(CheckSearch(queries, options, vectors_, call));
    MutexLock lock(mutex_);
    return scan_->Search(queries, options.top_k, options.among, call);
  }

  bool IsExact(const SearchOptions&) const override { return true; }
  int64_t byte_count() const override { return 0; }
  int dimension() const override { return vectors_.dimension; }
  int64_t size() const override { return vectors_.rows; }

 private:
  const VectorView vectors_;
  mutable Mutex mutex_;
  const std::unique_ptr<DeviceScan> scan_ GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<VectorIndex>> OpenDeviceFlatIndex(const VectorView& vectors,
                                                                 std::unique_ptr<DeviceScan> scan) {
  RETURN_IF_ERROR(CheckView(vectors));
  return std::make_unique<DeviceFlatIndex>(vectors, std::move(scan));
}

}  // namespace sightline
