// Exact search over rows that lie on a device, of all of them or of parts of an order that they
// have in an index.
#ifndef SIGHTLINE_COMMON_INDEX_DEVICE_SCAN_H_
#define SIGHTLINE_COMMON_INDEX_DEVICE_SCAN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/base/limits.h"
#include "common/device/device_info.h"
#include "common/embedding/embedding_matrix.h"
#include "common/embedding/row_set.h"
#include "common/index/vector_index.h"

namespace sightline {

using NeighborLists = std::vector<std::vector<Neighbor>>;
// Of positions in an order of the rows, none twice.
using RowRanges = absl::Span<const RowRange>;

// What rows lost when they were rounded to float16.  Rows of float16 lose nothing.
struct RowRounding {
  // At least the length of each row but for the outliers; infinite if a row of float16 is not
  // finite.
  float longest = 0;
  float most_error = 0;  // at least the length of what each of these lost
  // Rows with a number that is none, or not finite in float16: not on the device, ascending.
  std::vector<int64_t> outliers;
};

struct ScanBytes {
  int64_t device = 0;
  int64_t host = 0;  // pinned
};

// One thread at a time.
class DeviceScan {
 public:
  // Of one query, as much as kernels select from at once.
  static constexpr int kMostNeighbors = 4096;
  static_assert(kMostNeighbors >= limits::kMaxNeighbors, "");

  virtual ~DeviceScan() = default;

  // As VectorIndex::Search of the rows as they were rounded, with the bits that such rows of
  // float16 have on a CPU; `queries` are finite and of the rows' dimension, 1 <= top_k <=
  // kMostNeighbors. UNAVAILABLE (DEVICE_FAILED) if the device fails.
  virtual absl::StatusOr<NeighborLists> Search(const EmbeddingMatrix& queries, int top_k,
                                               const RowSet* among, const CallContext& call) = 0;

  // Likewise of each query among the rows at its own ranges of positions, in the order that the
  // scan was loaded with; as many ranges as queries.
  virtual absl::StatusOr<NeighborLists> SearchRanges(const EmbeddingMatrix& queries,
                                                     absl::Span<const RowRanges> ranges, int top_k,
                                                     const RowSet* among,
                                                     const CallContext& call) = 0;

  // Of all that it keeps.
  virtual ScanBytes byte_count() const = 0;

  // By it, so far.
  virtual device::CopiedBytes copied() const = 0;

  const RowRounding& rounding() const { return rounding_; }

 protected:
  RowRounding rounding_;
};

// The devices of this machine, by number.  Thread-safe.
class ScanDevices {
 public:
  virtual ~ScanDevices() = default;

  // UNAVAILABLE (DEVICE_FAILED) if there is no such device, or it cannot be used.
  virtual absl::StatusOr<device::DeviceInfo> Describe(int device) const = 0;

  // Rows in float16, copied to a device from wherever they lie; `vectors` may go afterwards, and so
  // may `order`, which has each row once, or none: then no ranges are searched.  All memory that a
  // search needs is reserved here.  RESOURCE_EXHAUSTED if there is too little of it, UNAVAILABLE
  // (DEVICE_FAILED) if there is no such device or it fails, InvalidArgument if too many rows are
  // outliers; as CopyRows where rows lie on a disk, and the call's own status if it ends before.
  virtual absl::StatusOr<std::unique_ptr<DeviceScan>> Load(const VectorView& vectors,
                                                           absl::Span<const int32_t> order,
                                                           int device,
                                                           const CallContext& call) const = 0;
};

// Those of CUDA.  FailedPrecondition if this program was built without.  In :cuda_scan_devices.
absl::StatusOr<std::shared_ptr<const ScanDevices>> CudaScanDevices();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_DEVICE_SCAN_H_
