// Where a model computes and how precisely.
#ifndef SIGHTLINE_COMMON_MODELS_EXECUTION_H_
#define SIGHTLINE_COMMON_MODELS_EXECUTION_H_

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/device/pass_watch.h"
#include "common/kernels/device_stack.h"

namespace sightline {

// Which of these exist is said by the executors that are registered
// (common/models/network/executor.cc).
struct Execution {
  // "cpu", or one of `devices`: "cuda:0", by its number.  There a transformer's blocks are
  // computed, and what is between them, and products with regions' features; on the CPU what else
  // leads to them and what follows.
  std::string device = "cpu";
  // Of the matrix products in a transformer's blocks; all else is float32, but for what lies
  // between two steps of a device.
  std::string precision = "float32";
  // Null: there is the CPU alone.
  std::shared_ptr<const kernels::StackDevices> devices;
  // Whether usual passes are run while a model is loaded, so that no request waits for what is
  // made for the first of a size.
  bool warms_up = true;
  // Is told of passes on the device; null: nobody is.
  std::shared_ptr<device::PassWatch> passes;
  // Set once the device has failed: what was loaded so is of no use any more.  Null: nobody asks.
  std::shared_ptr<std::atomic<bool>> failed;

  bool on_cpu() const { return device == "cpu"; }
};

// InvalidArgument if `execution` names none of its devices.
inline absl::StatusOr<int> DeviceNumberOf(const Execution& execution) {
  const auto colon = execution.device.find(':');
  int number = -1;
  if (execution.devices != nullptr && colon != std::string::npos &&
      absl::SimpleAtoi(execution.device.substr(colon + 1), &number) && number >= 0) {
    return number;
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no device '", execution.device, "'"));
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_EXECUTION_H_
