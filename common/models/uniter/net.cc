#include "common/models/uniter/net.h"

#include <torch/types.h>

#include "common/models/inputs/region_input.h"

namespace sightline {

UniterRegionsImpl::UniterRegionsImpl(const bundle::v1::TransformerSpec& spec)
    : features_(register_module("img_linear",
                                RegionLinear(spec.region_feature_size(), spec.hidden_size()))),
      boxes_(register_module(
          "pos_linear", torch::nn::Linear(BoxNumberCount(BoxForm::kUniter), spec.hidden_size()))),
      feature_norm_(register_module("img_layer_norm", MakeLayerNorm(BertConfigOf(spec)))),
      box_norm_(register_module("pos_layer_norm", MakeLayerNorm(BertConfigOf(spec)))),
      norm_(register_module("LayerNorm", MakeLayerNorm(BertConfigOf(spec)))) {}

torch::Tensor UniterRegionsImpl::forward(const torch::Tensor& features, const torch::Tensor& boxes,
                                         const torch::Tensor& type_row) {
  return norm_(feature_norm_(features_(features)) + box_norm_(boxes_(boxes)) + type_row);
}

UniterTrunkImpl::UniterTrunkImpl(const bundle::v1::TransformerSpec& spec, bool with_pooler)
    : embeddings_(register_module("embeddings", BertEmbeddings(BertConfigOf(spec)))),
      regions_(register_module("img_embeddings", UniterRegions(spec))),
      encoder_(register_module("encoder", BertEncoder(BertConfigOf(spec)))) {
  if (with_pooler) pooler_ = register_module("pooler", BertPooler(BertConfigOf(spec)));
}

UniterNetImpl::UniterNetImpl(const bundle::v1::ModelBundleManifest& manifest)
    : trunk_(register_module("uniter", UniterTrunk(manifest.transformer(), /*with_pooler=*/true))),
      head_(manifest.cross_encoder().score_kind() == "rank_raw"
                ? register_module("rank_output",
                                  torch::nn::Linear(manifest.transformer().hidden_size(), 1))
                : register_module("itm_output",
                                  torch::nn::Linear(manifest.transformer().hidden_size(), 2))) {}

}  // namespace sightline
