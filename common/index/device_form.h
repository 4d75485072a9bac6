// What an index is on a device to those who hold it: a kind of index may have such a form beside
// the one on a CPU, and finds as much by it.
#ifndef SIGHTLINE_COMMON_INDEX_DEVICE_FORM_H_
#define SIGHTLINE_COMMON_INDEX_DEVICE_FORM_H_

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/index/device_scan.h"
#include "common/index/vector_index.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// ScanDevices::Load to the device that an index is to be on.
using RowLoader = absl::FunctionRef<absl::StatusOr<std::unique_ptr<DeviceScan>>(
    const VectorView& vectors, absl::Span<const int32_t> order)>;

// Its functions are called by any number of threads.
struct DeviceForm {
  // Bytes that shard `shard` of `manifest` takes of a device and of the machine's memory, beside
  // its rows and records; INT64_MAX where a manifest's lies add up to more, or a device cannot have
  // it.
  ScanBytes (*footprint)(const bundle::v1::GenerationManifest& manifest, int shard);

  // As IndexKind::open, of rows in memory or on a disk, which `load` loads to the device; and what
  // that returns if it fails.  Searches of several threads wait for one another, and use `pool`
  // beside the device.  An error of the device is UNAVAILABLE (DEVICE_FAILED), and so are all
  // searches after it.
  absl::StatusOr<std::unique_ptr<VectorIndex>> (*open)(
      absl::string_view directory, const bundle::v1::GenerationManifest& manifest, int shard,
      const VectorView& vectors, RowLoader load, ComputePool* pool, const CallContext& call);
};

// Of the exact kinds: OpenDeviceFlatIndex.
extern const DeviceForm kFlatDeviceForm;

// A flat index of what `scan` has loaded from `vectors`, which are needed for rows of float32 only:
// of these the few that may be among the best are scored where they lie.  What it finds has the
// bits of OpenFlatIndex.  `pool` outlives the index; else as DeviceForm::open.
absl::StatusOr<std::unique_ptr<VectorIndex>> OpenDeviceFlatIndex(const VectorView& vectors,
                                                                 std::unique_ptr<DeviceScan> scan,
                                                                 ComputePool* pool);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_DEVICE_FORM_H_
