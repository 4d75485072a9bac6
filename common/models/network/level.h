// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_LEVEL_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_LEVEL_H_

#include <torch/nn/module.h>

#include <string>
#include <utility>

namespace sightline {

// A module without parameters of its own, for a level of a checkpoint's names.
class Level : public torch::nn::Module {
 public:
  template <typename Child>
  Child Add(const std::string& name, Child child) {
    return register_module(name, std::move(child));
  }
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_LEVEL_H_
