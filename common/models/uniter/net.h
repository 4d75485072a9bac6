// UNITER's network ("UNITER", Chen et al., 2020): a BERT that reads text and regions.
//
//   text    LN(word + position + type 0)
//   region  LN(LN(W f) + LN(W' box) + type 1), without position
//
// Region order does not matter.  LightningDOT's image tower is such a trunk too.
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_UNITER_NET_H_
#define SIGHTLINE_COMMON_MODELS_UNITER_NET_H_

#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include "common/bundle/model_bundle.h"
#include "common/models/network/region_linear.h"
#include "common/models/network/transformer.h"

namespace sightline {

// Keys img_linear, img_layer_norm, pos_linear, pos_layer_norm, LayerNorm.
class UniterRegionsImpl : public torch::nn::Module {
 public:
  explicit UniterRegionsImpl(const bundle::v1::TransformerSpec& spec);
  // R x region_feature_size and R x 7 -> R x H.  `type_row` is the word side's row 1.
  torch::Tensor forward(const torch::Tensor& features, const torch::Tensor& boxes,
                        const torch::Tensor& type_row);
  // Of what reads features, H x region_feature_size.
  torch::Tensor feature_weight() const { return features_->weight; }

 private:
  RegionLinear features_;
  torch::nn::Linear boxes_;
  torch::nn::LayerNorm feature_norm_, box_norm_, norm_;
};
TORCH_MODULE(UniterRegions);

// Keys embeddings.*, img_embeddings.*, encoder.*; pooler.* if there is one.
class UniterTrunkImpl : public torch::nn::Module {
 public:
  UniterTrunkImpl(const bundle::v1::TransformerSpec& spec, bool with_pooler);

  torch::Tensor TextRows(const torch::Tensor& ids, int64_t first_position = 0, int64_t type = 0) {
    return embeddings_(ids, first_position, type);
  }
  torch::Tensor RegionRows(const torch::Tensor& features, const torch::Tensor& boxes) {
    return regions_(features, boxes, embeddings_->TypeRow(1));
  }
  const BertEncoder& encoder() const { return encoder_; }
  BertPooler& pooler() { return pooler_; }
  // The tables that predictions are looked up in: V x H, H x region_feature_size.
  torch::Tensor words() const { return embeddings_->named_parameters()["word_embeddings.weight"]; }
  torch::Tensor feature_weight() const { return regions_->feature_weight(); }

 private:
  BertEmbeddings embeddings_;
  UniterRegions regions_;
  BertEncoder encoder_;
  BertPooler pooler_{nullptr};
};
TORCH_MODULE(UniterTrunk);

// The cross-encoder.  Keys uniter.*; rank_output.* for the score kind rank_raw, itm_output.*
// (two logits, as pre-trained) for the others.
class UniterNetImpl : public torch::nn::Module {
 public:
  // `manifest` has passed CheckManifest.
  explicit UniterNetImpl(const bundle::v1::ModelBundleManifest& manifest);

  UniterTrunkImpl& trunk() { return *trunk_; }
  // tanh-pooled first rows, B x H.
  torch::Tensor Pooled(const torch::Tensor& first_rows) { return trunk_->pooler()(first_rows); }
  // Pooled rows -> B x 1 or B x 2.
  torch::Tensor Head(const torch::Tensor& pooled) { return head_(pooled); }

 private:
  UniterTrunk trunk_;
  torch::nn::Linear head_;
};
TORCH_MODULE(UniterNet);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_UNITER_NET_H_
