// Weights between safetensors files and torch modules, matched by name.
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_WEIGHTS_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_WEIGHTS_H_

#include <torch/nn/module.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/model_bundle.h"
#include "common/formats/safetensors.h"
#include "common/models/family_models.h"

namespace sightline {

// The tensor's own copy: floating types as float32, integers and booleans as int64.
// Internal if memory runs out.
absl::StatusOr<torch::Tensor> ToTorch(const TensorView& view);

// Copies each tensor of `file` into the parameter or buffer of `module` that has its
// name.  Tensors whose name starts with one of `ignored` may be in the file and are
// passed over (heads of the training that a family does not use).
//
// InvalidArgument, in one message: every tensor that is missing, unexpected, of another
// shape (both shapes), of another kind of type, not finite, or a negative variance.
// `module` is then unchanged.
absl::Status LoadWeights(const Safetensors& file, const std::vector<std::string>& ignored,
                         torch::nn::Module* module);

// InvalidArgument if the bundle's weights file is shorter than what its manifest describes.
absl::Status CheckWeightsLength(const ModelBundle& bundle);

// LoadWeights from the bundle's weights file; errors name it.
absl::Status LoadBundleWeights(const ModelBundle& bundle, const std::vector<std::string>& ignored,
                               torch::nn::Module* module);

// `module`'s parameters and buffers as a safetensors file.  Equal values give equal
// bytes.  InvalidArgument for a value that float16 cannot hold.
absl::StatusOr<std::string> SerializeWeights(const torch::nn::Module& module, WeightDtype dtype);

// Fills `module` for training from nothing, the same for the same seed: biases and running
// means with 0, other vectors (weights of norms) with 1, matrices from N(0, 0.02) as BERT
// does, centroids of sketches from N(0, 1), convolution kernels from N(0, sqrt(2 / fan_in))
// (He et al., 2015).
absl::Status RandomizeWeights(uint64_t seed, torch::nn::Module* module);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_WEIGHTS_H_
