#include "common/models/lightningdot/net.h"

#include <torch/types.h>

#include <memory>

namespace sightline {

TextTrunkImpl::TextTrunkImpl(const bundle::v1::TransformerSpec& spec)
    : embeddings_(register_module("embeddings", BertEmbeddings(BertConfigOf(spec)))),
      encoder_(register_module("encoder", BertEncoder(BertConfigOf(spec)))) {}

LightningDotNetImpl::LightningDotNetImpl(const bundle::v1::ModelBundleManifest& manifest)
    : image_(register_module("img_model", std::make_shared<TowerImpl<UniterTrunk>>(
                                              manifest, UniterTrunk(manifest.transformer(),
                                                                    /*with_pooler=*/false)))),
      text_(register_module("txt_model", std::make_shared<TowerImpl<TextTrunk>>(
                                             manifest, TextTrunk(manifest.transformer())))) {}

}  // namespace sightline
