// M3P's network as a torch module (see model.cc).
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_M3P_NET_H_
#define SIGHTLINE_COMMON_MODELS_M3P_NET_H_

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

#include "common/bundle/model_bundle.h"
#include "common/models/network/region_linear.h"
#include "common/models/network/row_dropout.h"
#include "common/models/network/transformer.h"

namespace sightline {

// Keys image_embeddings, image_location_embeddings, LayerNorm.
class M3pRegionsImpl : public torch::nn::Module {
 public:
  explicit M3pRegionsImpl(const bundle::v1::TransformerSpec& spec);
  // LN(W f + W' box): R x region_feature_size and R x 5 -> R x H.
  torch::Tensor forward(const torch::Tensor& features, const torch::Tensor& boxes);

 private:
  RegionLinear features_;
  torch::nn::Linear boxes_;
  torch::nn::LayerNorm norm_;
};
TORCH_MODULE(M3pRegions);

// Keys embeddings, position_embeddings, layer_norm_emb, image_embeddings.*, encoder.* (named
// as BERT's); pooled_layer.* and classifier.* if there is a cross-encoder.
class M3pNetImpl : public torch::nn::Module {
 public:
  // `manifest` has been checked.
  explicit M3pNetImpl(const bundle::v1::ModelBundleManifest& manifest);

  // Word vectors, L x H, not yet at a place.
  torch::Tensor Words(const torch::Tensor& ids) { return words_(ids); }
  // Regions likewise.
  torch::Tensor Regions(const torch::Tensor& features, const torch::Tensor& boxes) {
    return regions_(features, boxes);
  }
  // LN(rows + positions first_position ...): what the encoder reads.
  torch::Tensor At(const torch::Tensor& rows, int64_t first_position);
  const BertEncoder& encoder() const { return encoder_; }
  // tanh-pooled first rows, B x H.
  torch::Tensor Pooled(const torch::Tensor& first_rows) { return pooler_(first_rows); }
  // Pooled rows -> B x 2.
  torch::Tensor MatchLogits(const torch::Tensor& pooled) {
    return classifier_(dropout_->OfItems(pooled));
  }

 private:
  torch::nn::Embedding words_, positions_;
  torch::nn::LayerNorm norm_;
  RowDropout dropout_;
  M3pRegions regions_;
  BertEncoder encoder_;
  BertPooler pooler_{nullptr};
  torch::nn::Linear classifier_{nullptr};
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_M3P_NET_H_
