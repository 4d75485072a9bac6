// Exact search over rows that lie on a device, as the index is that is told to do so.
#ifndef SIGHTLINE_COMMON_INDEX_DEVICE_SCAN_H_
#define SIGHTLINE_COMMON_INDEX_DEVICE_SCAN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/embedding/embedding_matrix.h"
#include "common/embedding/row_set.h"
#include "common/index/vector_index.h"

namespace sightline {

// One thread at a time.
class DeviceScan {
 public:
  virtual ~DeviceScan() = default;

  // As VectorIndex::Search of the rows that were loaded, with the same bits as on a CPU; `queries`
  // are finite and of the rows' dimension, 1 <= top_k <= limits::kMaxNeighbors.  UNAVAILABLE if the
  // device fails.
  virtual absl::StatusOr<std::vector<std::vector<Neighbor>>> Search(const EmbeddingMatrix& queries,
                                                                    int top_k, const RowSet* among,
                                                                    const CallContext& call) = 0;

  // Of the device's memory.
  virtual int64_t byte_count() const = 0;
};

// What LoadCudaScan takes of the device's memory for so many rows.
int64_t DeviceScanBytes(int64_t rows, int dimension);

// Rows of float16, in memory, copied to device number `device` of the machine; `vectors` may go
// afterwards.  All memory that a search needs is reserved here.  RESOURCE_EXHAUSTED if there is too
// little of it, UNAVAILABLE if there is no such device or it fails; the call's own status if it
// ends before.
absl::StatusOr<std::unique_ptr<DeviceScan>> LoadCudaScan(const VectorView& vectors, int device,
                                                         const CallContext& call);

// An index of what `scan` has, whose rows `vectors` names, which need not lie in memory.  Searches
// of several threads wait for one another.
absl::StatusOr<std::unique_ptr<VectorIndex>> OpenDeviceFlatIndex(const VectorView& vectors,
                                                                 std::unique_ptr<DeviceScan> scan);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_DEVICE_SCAN_H_
