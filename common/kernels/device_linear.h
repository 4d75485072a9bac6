// A layer's products with rows on a device, in float32: of regions' features, which are the one
// large layer before a stack of blocks (device_stack.h).
#ifndef SIGHTLINE_COMMON_KERNELS_DEVICE_LINEAR_H_
#define SIGHTLINE_COMMON_KERNELS_DEVICE_LINEAR_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "common/device/pass_watch.h"
#include "common/kernels/packed_matrix.h"

namespace sightline::kernels {

// Calls that a layer has under way at once; others wait.
inline constexpr int kLinearPlaces = 3;

// Of a call's rows so many are multiplied together; those of a picture are fewer.
inline constexpr int64_t kMostLinearRows = 512;

struct DeviceLinearOptions {
  int64_t inputs = 0;
  int64_t outputs = 0;
  // Is told of each product, as of a pass; null: nobody is.
  std::shared_ptr<device::PassWatch> watch;
};

// Thread-safe.
class DeviceLinear {
 public:
  virtual ~DeviceLinear() = default;

  // out (rows x outputs) = in (rows x inputs) weights' + bias.  A row's result depends on how many
  // rows it is multiplied with, by what a product of another height rounds differently, and on
  // nothing of theirs.  UNAVAILABLE (DEVICE_FAILED) if the device fails; RESOURCE_EXHAUSTED.
  virtual absl::Status Multiply(const float* in, int64_t rows, float* out) = 0;

  virtual int64_t byte_count() const = 0;
};

// What a layer takes of its device; INT64_MAX for more than there is of anything.
int64_t BytesOfLinear(int64_t inputs, int64_t outputs);

// How many numbers a row of `inputs` takes on the device: zeros follow, up to where products are
// read in large pieces.
inline int64_t LinearStride(int64_t inputs) {
  return (inputs + 7) / 8 * 8;
}

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_DEVICE_LINEAR_H_
