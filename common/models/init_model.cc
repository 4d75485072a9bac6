#include "common/models/init_model.h"

#include <google/protobuf/util/json_util.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/models/bundle_tokenizer.h"
#include "common/models/family_manifests.h"

namespace sightline {
namespace {

absl::Status FitVocabulary(absl::string_view vocabulary,
                           bundle::v1::ModelBundleManifest* manifest) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer,
                   NewTokenizer(manifest->tokenizer(), vocabulary));
  if (VocabularySizeOf(*manifest) == 0) SetVocabularySize(tokenizer->vocabulary_size(), manifest);
  if (VocabularySizeOf(*manifest) == tokenizer->vocabulary_size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the vocabulary has ", tokenizer->vocabulary_size(), " tokens, but vocabulary_size is ",
      VocabularySizeOf(*manifest), "; leave it 0 to take the vocabulary's"));
}

}  // namespace

absl::StatusOr<ModelBundle> InitModel(absl::string_view store,
                                      bundle::v1::ModelBundleManifest manifest,
                                      absl::string_view vocabulary, const InitOptions& options) {
  ASSIGN_OR_RETURN(const Family* family, FindFamily(manifest.family()));
  RETURN_IF_ERROR(FitVocabulary(vocabulary, &manifest));
  RETURN_IF_ERROR(CheckManifest(manifest));
  ASSIGN_OR_RETURN(std::string weights,
                   family->initial_weights(manifest, options.seed, options.dtype));
  std::map<std::string, std::string> files;
  files[manifest.tokenizer().vocabulary_file()] = std::string(vocabulary);
  files[std::string(kWeightsFile)] = std::move(weights);
  return WriteModelBundle(store, std::move(manifest), files);
}

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

absl::StatusOr<bundle::v1::ModelBundleManifest> ReadModelConfig(const std::string& path) {
  if (path.empty()) return SmallOscarManifest();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, limits::kMaxModelConfigBytes));
  bundle::v1::ModelBundleManifest manifest;
  const auto parsed = google::protobuf::util::JsonStringToMessage(text, &manifest);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not the JSON of a ModelBundleManifest: ",
                     std::string(parsed.message().data(), parsed.message().size())));
  }
  return manifest;
}

}  // namespace sightline
