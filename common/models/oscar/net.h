// OSCAR's network as one torch module: the same weights encode texts, encode images, and
// judge pairs ("Oscar", Li et al., 2020; the joint use is "Retrieve Fast, Rerank Smart",
// Geigle et al., 2022).  The trainer optimises this module, model.cc serves it.
//
//   text    [CLS] tokens [SEP]                     mean -> embedding
//   image   [CLS] regions                          mean -> embedding
//   pair    [CLS] tokens [SEP] tags [SEP] regions  pooler on row 0 -> two logits
//
// Tags only where the bundle says so; their segment is the bundle's.  Regions have neither
// position nor segment, so their order does not matter.
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_OSCAR_NET_H_
#define SIGHTLINE_COMMON_MODELS_OSCAR_NET_H_

#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

#include "common/bundle/model_bundle.h"
#include "common/models/network/grid_extractor.h"
#include "common/models/network/region_linear.h"
#include "common/models/network/row_dropout.h"
#include "common/models/network/transformer.h"

namespace sightline {

// Keys embeddings.*, encoder.*, img_embedding.*; LayerNorm.* if regions are normalised;
// pooler.* if there is a cross-encoder.
class OscarTrunkImpl : public torch::nn::Module {
 public:
  OscarTrunkImpl(const bundle::v1::TransformerSpec& spec, bool with_pooler, double dropout);

  // ... x L ids -> ... x L x H.
  torch::Tensor TextRows(const torch::Tensor& ids, int64_t first_position = 0, int64_t type = 0);
  // ... x region_feature_size -> ... x H.
  torch::Tensor RegionRows(const torch::Tensor& features);

  const BertEncoder& encoder() const { return encoder_; }
  BertPooler& pooler() { return pooler_; }
  // V x H, and H x region_feature_size.
  torch::Tensor words() const { return embeddings_->named_parameters()["word_embeddings.weight"]; }
  torch::Tensor feature_weight() const { return regions_->weight; }

 private:
  BertEmbeddings embeddings_;
  BertEncoder encoder_;
  BertPooler pooler_{nullptr};
  RegionLinear regions_;
  torch::nn::LayerNorm region_norm_{nullptr};
};
TORCH_MODULE(OscarTrunk);

// Keys bert.*; classifier.* if there is a cross-encoder (classifier.0 and .2 if its head has
// a hidden layer, of ReLUs); grid.* if there is a grid extractor.
class OscarNetImpl : public torch::nn::Module {
 public:
  // `manifest` has passed CheckManifest.
  explicit OscarNetImpl(const bundle::v1::ModelBundleManifest& manifest, double dropout = 0.1);

  torch::Tensor TextRows(const torch::Tensor& ids, int64_t first_position = 0, int64_t type = 0) {
    return trunk_->TextRows(ids, first_position, type);
  }
  torch::Tensor RegionRows(const torch::Tensor& features) { return trunk_->RegionRows(features); }

  // Each sequence's first row of the last layer, B x H -> B x 2: no match, match.
  torch::Tensor MatchLogits(const torch::Tensor& first_rows);

  const BertEncoder& encoder() const { return trunk_->encoder(); }
  torch::Tensor words() const { return trunk_->words(); }
  torch::Tensor feature_weight() const { return trunk_->feature_weight(); }
  const GridNet& grid() const { return grid_; }

 private:
  OscarTrunk trunk_;
  torch::nn::Linear linear_head_{nullptr};
  torch::nn::Sequential hidden_head_{nullptr};
  RowDropout dropout_;
  GridNet grid_{nullptr};
};
TORCH_MODULE(OscarNet);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_OSCAR_NET_H_
