#include "common/models/oscar/small_manifest.h"

#include <string>

namespace sightline {

bundle::v1::ModelBundleManifest SmallOscarManifest() {
  bundle::v1::ModelBundleManifest manifest;
  manifest.set_family("oscar");
  manifest.set_description("Small joint OSCAR over a learned grid, randomly initialised");
  bundle::v1::TokenizerSpec* tokenizer = manifest.mutable_tokenizer();
  tokenizer->set_kind(bundle::v1::TokenizerSpec::WORDPIECE);
  tokenizer->set_vocabulary_file(std::string(kVocabularyFile));
  tokenizer->set_lowercase(true);
  tokenizer->set_max_token_count(40);
  manifest.mutable_embedding()->set_dimension(256);
  manifest.mutable_embedding()->set_metric(bundle::v1::EmbeddingSpec::COSINE);
  manifest.mutable_cross_encoder()->set_score_kind("softmax_match");
  manifest.mutable_cross_encoder()->set_combination("replace");
  bundle::v1::TransformerSpec* transformer = manifest.mutable_transformer();
  transformer->set_layer_count(4);
  transformer->set_hidden_size(256);
  transformer->set_head_count(4);
  transformer->set_intermediate_size(1024);
  transformer->set_position_count(64);
  transformer->set_token_type_count(2);
  transformer->set_region_feature_size(256 + 6);
  transformer->set_max_region_count(36);
  transformer->set_region_layer_norm(true);
  transformer->set_layer_norm_epsilon(1e-12f);
  bundle::v1::GridExtractorSpec* grid = manifest.mutable_grid_extractor();
  grid->set_image_size(96);
  // Fine stages see many pixels: they stay narrow, and depth comes where the grid is small.
  constexpr int kStages[][2] = {{24, 0}, {48, 0}, {128, 1}, {256, 1}};
  for (const auto& [channels, blocks] : kStages) {
    bundle::v1::GridStage* stage = grid->add_stages();
    stage->set_channel_count(channels);
    stage->set_residual_block_count(blocks);
  }
  // ImageNet's, as most pictures go.
  for (const float mean : {0.485f, 0.456f, 0.406f}) grid->add_mean(mean);
  for (const float deviation : {0.229f, 0.224f, 0.225f}) grid->add_standard_deviation(deviation);
  return manifest;
}

}  // namespace sightline
