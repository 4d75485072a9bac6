#include "common/training/objectives/heads.h"

#include <torch/nn/functional/activation.h>
#include <torch/nn/modules/activation.h>
#include <torch/types.h>

#include <memory>

#include "common/models/network/level.h"

namespace sightline {
namespace {

torch::nn::Linear HiddenLinear(const BertConfig& config) {
  return torch::nn::Linear(config.hidden_size, config.hidden_size);
}

}  // namespace

torch::Tensor WithOtherTower(const torch::Tensor& rows, const std::vector<int64_t>& items,
                             const torch::Tensor& vectors, GlobalVector how) {
  const torch::Tensor others =
      vectors.index_select(0, torch::tensor(items, torch::kInt64).to(vectors.device()));
  return how == GlobalVector::kAdd ? rows + others : rows * others;
}

MaskedTokenHeadImpl::MaskedTokenHeadImpl(const BertConfig& config) {
  auto predictions = register_module("predictions", std::make_shared<Level>());
  auto transform = predictions->Add("transform", std::make_shared<Level>());
  dense_ = transform->Add("dense", HiddenLinear(config));
  norm_ = transform->Add("LayerNorm", MakeLayerNorm(config));
  bias_ = predictions->register_parameter("bias", torch::zeros({config.vocabulary_size}));
}

torch::Tensor MaskedTokenHeadImpl::forward(const torch::Tensor& rows,
                                           const torch::Tensor& word_table) {
  return torch::linear(norm_(torch::gelu(dense_(rows))), word_table, bias_);
}

RegionFeatureHeadImpl::RegionFeatureHeadImpl(const BertConfig& config, int64_t feature_size)
    : net_(register_module("net", torch::nn::Sequential(HiddenLinear(config), torch::nn::GELU(),
                                                        MakeLayerNorm(config)))),
      bias_(register_parameter("bias", torch::zeros({feature_size}))) {}

torch::Tensor RegionFeatureHeadImpl::forward(const torch::Tensor& rows,
                                             const torch::Tensor& region_weight) {
  return torch::linear(net_->forward(rows), region_weight.t(), bias_);
}

RegionClassHeadImpl::RegionClassHeadImpl(const BertConfig& config, int64_t class_count)
    : net_(register_module(
          "net",
          torch::nn::Sequential(HiddenLinear(config), torch::nn::GELU(), MakeLayerNorm(config),
                                torch::nn::Linear(config.hidden_size, class_count)))) {}

torch::Tensor RegionClassHeadImpl::forward(const torch::Tensor& rows) {
  return net_->forward(rows);
}

PretrainingHeadsImpl::PretrainingHeadsImpl(const BertConfig& config, const HeadChoice& choice) {
  if (choice.tokens) tokens_ = register_module("cls", MaskedTokenHead(config));
  if (choice.features) {
    features_ = register_module("feat_regress", RegionFeatureHead(config, choice.feature_size));
  }
  if (choice.class_count > 0) {
    classes_ = register_module("region_classifier", RegionClassHead(config, choice.class_count));
  }
  if (choice.of_regions()) {
    mask_ = register_module("mask_embedding", torch::nn::Embedding(1, choice.feature_size));
  }
}

}  // namespace sightline
