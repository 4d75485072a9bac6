// The most that a device does of what searches and models are made of, as measured.
#ifndef SIGHTLINE_COMMON_DEVICE_CEILINGS_H_
#define SIGHTLINE_COMMON_DEVICE_CEILINGS_H_

#include "absl/status/statusor.h"

namespace sightline::device {

struct Ceilings {
  // Of its memory: what is read and what is written, of a copy that fits no cache.
  double copied_bytes_per_second = 0;
  // Multiplications and additions of a large product of matrices of bfloat16; 0: not measured.
  double product_operations_per_second = 0;
};

// Of one of CUDA's devices, in about a second.  RESOURCE_EXHAUSTED where it has not 5 GB to spare,
// UNAVAILABLE (DEVICE_FAILED) if there is no such device or it fails.  In :cuda_ceilings.
absl::StatusOr<Ceilings> MeasureCudaCeilings(int device);

}  // namespace sightline::device

#endif  // SIGHTLINE_COMMON_DEVICE_CEILINGS_H_
