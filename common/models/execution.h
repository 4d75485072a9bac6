// Where a model computes and how precisely.
#ifndef SIGHTLINE_COMMON_MODELS_EXECUTION_H_
#define SIGHTLINE_COMMON_MODELS_EXECUTION_H_

#include <string>

namespace sightline {

// Which of these exist is said by the executors that are registered
// (common/models/network/executor.cc).
struct Execution {
  // As LibTorch names it.
  std::string device = "cpu";
  // Of the matrix products in a transformer's blocks; all else is float32.
  std::string precision = "float32";
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_EXECUTION_H_
