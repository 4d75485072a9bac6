#include "common/models/m3p/net.h"

#include <torch/types.h>

#include "common/models/inputs/region_input.h"

namespace sightline {

M3pRegionsImpl::M3pRegionsImpl(const bundle::v1::TransformerSpec& spec)
    : features_(register_module("image_embeddings",
                                RegionLinear(spec.region_feature_size(), spec.hidden_size()))),
      boxes_(register_module("image_location_embeddings",
                             torch::nn::Linear(BoxNumberCount(BoxForm::kM3p), spec.hidden_size()))),
      norm_(register_module("LayerNorm", MakeLayerNorm(BertConfigOf(spec)))) {}

torch::Tensor M3pRegionsImpl::forward(const torch::Tensor& features, const torch::Tensor& boxes) {
  return norm_(features_(features) + boxes_(boxes));
}

M3pNetImpl::M3pNetImpl(const bundle::v1::ModelBundleManifest& manifest)
    : words_(register_module("embeddings",
                             torch::nn::Embedding(manifest.transformer().vocabulary_size(),
                                                  manifest.transformer().hidden_size()))),
      positions_(register_module("position_embeddings",
                                 torch::nn::Embedding(manifest.transformer().position_count(),
                                                      manifest.transformer().hidden_size()))),
      norm_(register_module("layer_norm_emb", MakeLayerNorm(BertConfigOf(manifest.transformer())))),
      dropout_(register_module("dropout", RowDropout(BertConfig().dropout))),
      regions_(register_module("image_embeddings", M3pRegions(manifest.transformer()))),
      encoder_(register_module("encoder", BertEncoder(BertConfigOf(manifest.transformer())))) {
  if (!manifest.has_cross_encoder()) return;
  pooler_ = register_module("pooled_layer", BertPooler(BertConfigOf(manifest.transformer())));
  classifier_ =
      register_module("classifier", torch::nn::Linear(manifest.transformer().hidden_size(), 2));
}

torch::Tensor M3pNetImpl::At(const torch::Tensor& rows, int64_t first_position) {
  return norm_(rows + positions_->weight.narrow(0, first_position, rows.size(0)));
}

}  // namespace sightline
