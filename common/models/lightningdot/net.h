// LightningDOT's two towers as one torch module (see model.cc).
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_LIGHTNINGDOT_NET_H_
#define SIGHTLINE_COMMON_MODELS_LIGHTNINGDOT_NET_H_

#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "common/bundle/model_bundle.h"
#include "common/models/network/transformer.h"
#include "common/models/uniter/net.h"

namespace sightline {

// A BERT.  Keys embeddings.*, encoder.*.
class TextTrunkImpl : public torch::nn::Module {
 public:
  explicit TextTrunkImpl(const bundle::v1::TransformerSpec& spec);
  torch::Tensor TextRows(const torch::Tensor& ids) { return embeddings_(ids); }
  const BertEncoder& encoder() const { return encoder_; }
  // The word table, V x H.
  torch::Tensor words() const { return embeddings_->named_parameters()["word_embeddings.weight"]; }

 private:
  BertEmbeddings embeddings_;
  BertEncoder encoder_;
};
TORCH_MODULE(TextTrunk);

// A trunk and what makes the embedding of its first row.  Keys bert.*; encode_proj.{0,2,3}.*
// if there is a projection.
template <typename Trunk>
class TowerImpl : public torch::nn::Module {
 public:
  TowerImpl(const bundle::v1::ModelBundleManifest& manifest, Trunk trunk)
      : trunk_(register_module("bert", std::move(trunk))) {
    const bundle::v1::TransformerSpec& spec = manifest.transformer();
    const int64_t inner = spec.projection_hidden_size();
    if (inner == 0) return;
    const double epsilon = spec.layer_norm_epsilon();
    projection_ = register_module(
        "encode_proj", torch::nn::Sequential(
                           torch::nn::Linear(spec.hidden_size(), inner), torch::nn::GELU(),
                           torch::nn::LayerNorm(torch::nn::LayerNormOptions({inner}).eps(epsilon)),
                           torch::nn::Linear(inner, manifest.embedding().dimension())));
  }

  auto& trunk() { return *trunk_; }
  // B x H -> B x D.
  torch::Tensor Project(const torch::Tensor& first_rows) {
    return projection_ ? projection_->forward(first_rows) : first_rows;
  }

 private:
  Trunk trunk_;
  torch::nn::Sequential projection_{nullptr};
};

// Keys img_model.*, txt_model.*.
class LightningDotNetImpl : public torch::nn::Module {
 public:
  // `manifest` has been checked.
  explicit LightningDotNetImpl(const bundle::v1::ModelBundleManifest& manifest);

  TowerImpl<UniterTrunk>& image() { return *image_; }
  TowerImpl<TextTrunk>& text() { return *text_; }

 private:
  const std::shared_ptr<TowerImpl<UniterTrunk>> image_;
  const std::shared_ptr<TowerImpl<TextTrunk>> text_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_LIGHTNINGDOT_NET_H_
