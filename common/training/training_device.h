// Where a training run computes, and with how many threads.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_TRAINING_DEVICE_H_
#define SIGHTLINE_COMMON_TRAINING_TRAINING_DEVICE_H_

#include <c10/core/Device.h>

#include <string>

#include "absl/status/statusor.h"

namespace sightline {

// "cpu", "cuda", "cuda:1", or "auto": a GPU if LibTorch has one.  A GPU without a number is that of
// `local_rank`, which of the machine's processes this one is, so that each has its own.
// InvalidArgument, with what there is, for a device that is not here.
// A GPU then computes in float32 where nothing else is asked for (UseFloat32OnDevices).
absl::StatusOr<c10::Device> TrainingDeviceOf(const std::string& name, int local_rank = 0);

// The same of a machine with so many GPUs.
absl::StatusOr<c10::Device> DeviceAmong(const std::string& name, int local_rank, int gpu_count);

// Of LibTorch on the CPU, and of the BLAS behind it, for the whole process; 0 leaves their own
// choice.
void UseTrainingThreads(int threads);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_TRAINING_DEVICE_H_
