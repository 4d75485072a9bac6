// A family's network as training uses it: computed exactly as it is served, with gradients.
//
//   ASSIGN_OR_RETURN(auto learner, LoadTrainable(bundle, options));  // trainable.h
//   learner->module->train();
//   const DropoutScope scope(seed, keys);                             // row_dropout.h
//   const at::Tensor texts = learner->network->EncodeTexts(tokens);   // B x D
//   Loss(texts, ...).backward();
//
// Not thread-safe.  Inputs are those of network.h and must outlive the backward pass, since
// gradients read them.
//
// Includes torch: only .cc files of common/models, common/training and tests, and headers that say
// the same.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_TRAINABLE_NETWORK_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_TRAINABLE_NETWORK_H_

#include <c10/core/Device.h>
#include <torch/nn/module.h>

#include <memory>

#include "common/models/inputs/text_input.h"
#include "common/models/network/network.h"

namespace sightline {

struct TrainableOptions {
  c10::Device device = c10::kCPU;
  // Products within transformer blocks, as AutocastScope rounds them.
  bool bfloat16 = false;
  // Of all dropout layers, 0 to below 1; negative: each as its paper has it.
  double dropout = -1;
};

struct TrainableNetwork {
  // The parameters, named as in the bundle's weights; in evaluation mode until train() is called.
  // What serializes it (weights.h) is a bundle's file again.
  std::shared_ptr<torch::nn::Module> module;
  // Computes with them.
  std::unique_ptr<const Network> network;
  std::shared_ptr<const TextInput> text;
  // Whether it embeds, and whether it scores pairs; and whether those scores are probabilities
  // already, rather than logits or raw.
  bool has_towers = false;
  bool has_cross_encoder = false;
  bool scores_probabilities = false;
  // Whether embeddings are compared by cosine: who compares them makes them of length one.
  bool cosine = false;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_TRAINABLE_NETWORK_H_
