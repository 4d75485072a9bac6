#include "common/models/oscar_net.h"

#include <torch/types.h>

namespace sightline {
namespace {

BertConfig ConfigOf(const bundle::v1::TransformerSpec& spec, double dropout) {
  BertConfig config = BertConfigOf(spec);
  config.dropout = dropout;
  return config;
}

}  // namespace

OscarTrunkImpl::OscarTrunkImpl(const bundle::v1::TransformerSpec& spec, bool with_pooler,
                               double dropout)
    : embeddings_(register_module("embeddings", BertEmbeddings(ConfigOf(spec, dropout)))),
      encoder_(register_module("encoder", BertEncoder(ConfigOf(spec, dropout)))),
      regions_(register_module("img_embedding",
                               torch::nn::Linear(spec.region_feature_size(), spec.hidden_size()))),
      dropout_(register_module("dropout", torch::nn::Dropout(dropout))) {
  if (with_pooler) pooler_ = register_module("pooler", BertPooler(BertConfigOf(spec)));
  if (spec.region_layer_norm()) {
    region_norm_ = register_module("LayerNorm", MakeLayerNorm(BertConfigOf(spec)));
  }
}

torch::Tensor OscarTrunkImpl::TextRows(const torch::Tensor& ids) {
  return embeddings_(ids);
}

torch::Tensor OscarTrunkImpl::RegionRows(const torch::Tensor& features) {
  torch::Tensor rows = regions_(features);
  if (region_norm_) rows = region_norm_(rows);
  return dropout_(rows);
}

OscarNetImpl::OscarNetImpl(const bundle::v1::ModelBundleManifest& manifest, double dropout)
    : trunk_(register_module(
          "bert", OscarTrunk(manifest.transformer(), manifest.has_cross_encoder(), dropout))),
      dropout_(register_module("dropout", torch::nn::Dropout(dropout))) {
  if (manifest.has_cross_encoder()) {
    classifier_ =
        register_module("classifier", torch::nn::Linear(manifest.transformer().hidden_size(), 2));
  }
  if (manifest.has_grid_extractor()) {
    grid_ = register_module("grid", GridNet(manifest.grid_extractor()));
  }
}

torch::Tensor OscarNetImpl::ImageRows(int64_t cls_id, const torch::Tensor& region_rows) {
  const torch::Tensor ids =
      torch::full({region_rows.size(0), 1}, cls_id, region_rows.options().dtype(torch::kInt64));
  return torch::cat({trunk_->TextRows(ids), region_rows}, 1);
}

torch::Tensor OscarNetImpl::MatchLogits(const torch::Tensor& rows) {
  return classifier_(dropout_(trunk_->pooler()(rows)));
}

}  // namespace sightline
