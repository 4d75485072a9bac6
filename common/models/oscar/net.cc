#include "common/models/oscar/net.h"

#include <torch/nn/modules/activation.h>
#include <torch/types.h>

namespace sightline {
namespace {

BertConfig ConfigOf(const bundle::v1::TransformerSpec& spec, double dropout) {
  BertConfig config = BertConfigOf(spec);
  config.dropout = dropout;
  return config;
}

torch::nn::LayerNorm MakeRegionNorm(const bundle::v1::TransformerSpec& spec) {
  BertConfig config = BertConfigOf(spec);
  if (spec.region_layer_norm_epsilon() > 0) {
    config.layer_norm_epsilon = spec.region_layer_norm_epsilon();
  }
  return MakeLayerNorm(config);
}

}  // namespace

OscarTrunkImpl::OscarTrunkImpl(const bundle::v1::TransformerSpec& spec, bool with_pooler,
                               double dropout)
    : embeddings_(register_module("embeddings", BertEmbeddings(BertConfigOf(spec)))),
      encoder_(register_module("encoder", BertEncoder(ConfigOf(spec, dropout)))),
      regions_(register_module("img_embedding",
                               RegionLinear(spec.region_feature_size(), spec.hidden_size()))) {
  if (with_pooler) pooler_ = register_module("pooler", BertPooler(BertConfigOf(spec)));
  if (spec.region_layer_norm()) {
    region_norm_ = register_module("LayerNorm", MakeRegionNorm(spec));
  }
}

torch::Tensor OscarTrunkImpl::TextRows(const torch::Tensor& ids, int64_t first_position,
                                       int64_t type) {
  return embeddings_(ids, first_position, type);
}

torch::Tensor OscarTrunkImpl::RegionRows(const torch::Tensor& features) {
  const torch::Tensor rows = regions_(features);
  return region_norm_ ? region_norm_(rows) : rows;
}

OscarNetImpl::OscarNetImpl(const bundle::v1::ModelBundleManifest& manifest, double dropout)
    : trunk_(register_module(
          "bert", OscarTrunk(manifest.transformer(), manifest.has_cross_encoder(), dropout))),
      dropout_(register_module("dropout", RowDropout(dropout))) {
  if (manifest.has_cross_encoder()) {
    const int64_t rows = manifest.transformer().hidden_size();
    const int64_t hidden = manifest.cross_encoder().head_hidden_size();
    if (hidden == 0) {
      linear_head_ = register_module("classifier", torch::nn::Linear(rows, 2));
    } else {
      hidden_head_ = register_module(
          "classifier", torch::nn::Sequential(torch::nn::Linear(rows, hidden), torch::nn::ReLU(),
                                              torch::nn::Linear(hidden, 2)));
    }
  }
  if (manifest.has_grid_extractor()) {
    grid_ = register_module("grid", GridNet(manifest.grid_extractor()));
  }
}

torch::Tensor OscarNetImpl::MatchLogits(const torch::Tensor& first_rows) {
  const torch::Tensor pooled = dropout_->OfItems(trunk_->pooler()(first_rows));
  return linear_head_ ? linear_head_(pooled) : hidden_head_->forward(pooled);
}

}  // namespace sightline
