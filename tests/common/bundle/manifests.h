// Manifests that are sound, for tests that break them.
#ifndef SIGHTLINE_TESTS_COMMON_BUNDLE_MANIFESTS_H_
#define SIGHTLINE_TESTS_COMMON_BUNDLE_MANIFESTS_H_

#include <string>

#include "common/base/checksum.h"
#include "sightline/bundle/v1/generation.pb.h"
#include "sightline/bundle/v1/model_bundle.pb.h"

namespace sightline {

inline bundle::v1::BundleFile SoundFile(const std::string& path) {
  bundle::v1::BundleFile file;
  file.set_path(path);
  file.set_byte_count(12);
  file.set_sha256(Sha256Hex(path));
  return file;
}

inline bundle::v1::ModelBundleManifest SoundModelManifest() {
  bundle::v1::ModelBundleManifest manifest;
  manifest.set_format_version(1);
  manifest.set_family("oscar");
  *manifest.add_files() = SoundFile("vocab.txt");
  *manifest.add_files() = SoundFile("weights.safetensors");
  manifest.mutable_tokenizer()->set_kind(bundle::v1::TokenizerSpec::WORDPIECE);
  manifest.mutable_tokenizer()->set_vocabulary_file("vocab.txt");
  manifest.mutable_tokenizer()->set_max_token_count(35);
  manifest.mutable_embedding()->set_dimension(64);
  manifest.mutable_embedding()->set_metric(bundle::v1::EmbeddingSpec::COSINE);
  manifest.mutable_embedding()->set_space(Sha256Hex("space"));
  manifest.mutable_cross_encoder()->set_score_kind("softmax_match");
  manifest.mutable_cross_encoder()->set_combination("replace");
  manifest.mutable_cross_encoder()->set_combination_lambda(0.5f);
  bundle::v1::TransformerSpec& transformer = *manifest.mutable_transformer();
  transformer.set_layer_count(2);
  transformer.set_hidden_size(64);
  transformer.set_head_count(4);
  transformer.set_intermediate_size(256);
  transformer.set_vocabulary_size(100);
  transformer.set_position_count(64);
  transformer.set_token_type_count(2);
  transformer.set_region_feature_size(70);
  transformer.set_max_region_count(16);
  transformer.set_layer_norm_epsilon(1e-12f);
  bundle::v1::GridExtractorSpec& grid = *manifest.mutable_grid_extractor();
  grid.set_image_size(64);
  for (int i = 0; i < 3; ++i) {
    if (i < 2) grid.add_stages()->set_channel_count(8);
    grid.add_mean(0.5f);
    grid.add_standard_deviation(0.25f);
  }
  manifest.set_description("for tests");
  return manifest;
}

inline bundle::v1::GenerationManifest SoundGenerationManifest() {
  bundle::v1::GenerationManifest manifest;
  manifest.set_format_version(1);
  manifest.set_index("images");
  manifest.set_generation("g-1");
  manifest.set_item_kind(bundle::v1::IMAGE);
  manifest.set_item_count(5);
  *manifest.mutable_embedding() = SoundModelManifest().embedding();
  manifest.set_encoder_model(Sha256Hex("encoder"));
  manifest.set_reranker_model(Sha256Hex("reranker"));
  for (const int shard : {0, 1}) {
    const std::string prefix = "shards/0000" + std::to_string(shard) + "-of-00002.";
    bundle::v1::ShardManifest& entry = *manifest.add_shards();
    entry.set_item_count(2 + shard);
    *entry.mutable_vectors() = SoundFile(prefix + "vectors");
    *entry.mutable_features() = SoundFile(prefix + "features");
  }
  return manifest;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_BUNDLE_MANIFESTS_H_
