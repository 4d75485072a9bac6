#include "common/models/inputs/manifest_checks.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/limits.h"
#include "common/bundle/declared_combinations.h"

namespace sightline {

void Problems::Require(bool holds, absl::string_view message) {
  if (!holds) messages_.emplace_back(message);
}

void Problems::RequireRange(absl::string_view field, int64_t value, int64_t low, int64_t high) {
  Require(value >= low && value <= high,
          absl::StrCat(field, " is ", value, ", must be ", low, " to ", high));
}

absl::Status Problems::ToStatus(absl::string_view what) const {
  if (messages_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", absl::StrJoin(messages_, "; ")));
}

void CheckTokenizer(const bundle::v1::ModelBundleManifest& manifest,
                    bundle::v1::TokenizerSpec::Kind kind, Problems* problems) {
  using bundle::v1::TokenizerSpec;
  const TokenizerSpec& spec = manifest.tokenizer();
  problems->Require(spec.kind() == kind,
                    absl::StrCat("tokenizer.kind is ", TokenizerSpec::Kind_Name(spec.kind()),
                                 ", this family reads ", TokenizerSpec::Kind_Name(kind)));
  problems->Require(!spec.vocabulary_file().empty(), "tokenizer.vocabulary_file is missing");
  problems->RequireRange("tokenizer.max_token_count", spec.max_token_count(), 3,
                         limits::kMaxTokens);
}

void CheckTransformer(const bundle::v1::ModelBundleManifest& manifest, Problems* problems) {
  const bundle::v1::TransformerSpec& spec = manifest.transformer();
  problems->RequireRange("transformer.layer_count", spec.layer_count(), 1, limits::kMaxLayers);
  problems->RequireRange("transformer.hidden_size", spec.hidden_size(), 1, limits::kMaxHiddenSize);
  problems->RequireRange("transformer.head_count", spec.head_count(), 1, limits::kMaxHeads);
  problems->Require(spec.head_count() < 1 || spec.hidden_size() % spec.head_count() == 0,
                    absl::StrCat("transformer.hidden_size ", spec.hidden_size(),
                                 " is no multiple of head_count ", spec.head_count()));
  problems->RequireRange("transformer.intermediate_size", spec.intermediate_size(), 1, 32768);
  problems->RequireRange("transformer.vocabulary_size", spec.vocabulary_size(), 5, 1'000'000);
  problems->RequireRange("transformer.position_count", spec.position_count(), 3,
                         limits::kMaxPositions);
  problems->RequireRange("transformer.token_type_count", spec.token_type_count(), 1,
                         limits::kMaxTokenTypes);
  problems->RequireRange("transformer.region_feature_size", spec.region_feature_size(), 1,
                         limits::kMaxRegionFeatureSize);
  problems->RequireRange("transformer.max_region_count", spec.max_region_count(), 1,
                         limits::kMaxModelRegions);
  const float epsilon = spec.layer_norm_epsilon();
  problems->Require(epsilon > 0 && epsilon <= 1e-3f,
                    absl::StrCat("transformer.layer_norm_epsilon is ", epsilon,
                                 ", must be above 0 and at most 0.001 (BERT's is 1e-12)"));
  const float region_epsilon = spec.region_layer_norm_epsilon();
  problems->Require(region_epsilon >= 0 && region_epsilon <= 1e-3f,
                    absl::StrCat("transformer.region_layer_norm_epsilon is ", region_epsilon,
                                 ", must be 0 to 0.001"));
  problems->Require(region_epsilon == 0 || spec.region_layer_norm(),
                    absl::StrCat("transformer.region_layer_norm_epsilon is ", region_epsilon,
                                 ", but there is no region_layer_norm"));
  problems->Require(
      manifest.tokenizer().max_token_count() <= spec.position_count(),
      absl::StrCat("tokenizer.max_token_count is ", manifest.tokenizer().max_token_count(),
                   ", but there are only ", spec.position_count(), " positions"));
  const bundle::v1::RegionRule& rule = manifest.region_rule();
  problems->Require(rule.confidence_floor() >= 0 && rule.confidence_floor() <= 1,
                    absl::StrCat("region_rule.confidence_floor is ", rule.confidence_floor(),
                                 ", must be 0 to 1"));
  problems->RequireRange("region_rule.min_count", rule.min_count(), 0, spec.max_region_count());
}

void CheckEmbedding(const bundle::v1::ModelBundleManifest& manifest, int64_t dimension,
                    Problems* problems, bool chooses_rows) {
  using bundle::v1::EmbeddingSpec;
  const EmbeddingSpec& spec = manifest.embedding();
  problems->RequireRange("embedding.dimension", spec.dimension(), 1, limits::kMaxDimension);
  problems->Require(
      dimension == 0 || spec.dimension() == dimension,
      absl::StrCat("embedding.dimension is ", spec.dimension(), ", this model's is ", dimension));
  problems->Require(
      spec.metric() == EmbeddingSpec::COSINE || spec.metric() == EmbeddingSpec::INNER_PRODUCT,
      "embedding.metric must be COSINE or INNER_PRODUCT");
  problems->Require(spec.rows() == EmbeddingSpec::ROWS_UNSPECIFIED ||
                        (chooses_rows && spec.rows() == EmbeddingSpec::FIRST_ROW),
                    chooses_rows ? "embedding.rows must be FIRST_ROW, or be left out"
                                 : "embedding.rows is set, but this family has its own rows");
}

void CheckCrossEncoder(const bundle::v1::ModelBundleManifest& manifest,
                       std::initializer_list<ScoreKind> kinds, int64_t max_head_size,
                       Problems* problems) {
  const bundle::v1::CrossEncoderSpec& spec = manifest.cross_encoder();
  const auto kind = ParseScoreKind(spec.score_kind());
  const std::string names = absl::StrJoin(kinds, ", ", [](std::string* out, ScoreKind each) {
    absl::StrAppend(out, ScoreKindName(each));
  });
  problems->Require(kind.ok() && std::count(kinds.begin(), kinds.end(), *kind) > 0,
                    absl::StrCat("cross_encoder.score_kind is '", spec.score_kind(),
                                 "', this family has ", names));
  problems->RequireRange("cross_encoder.head_hidden_size", spec.head_hidden_size(), 0,
                         max_head_size);
  const absl::Status combinations = ReadCombinations(spec).status();
  problems->Require(combinations.ok(), std::string(combinations.message()));
}

void CheckGridExtractor(const bundle::v1::GridExtractorSpec& spec, Problems* problems) {
  problems->RequireRange("grid_extractor.image_size", spec.image_size(), limits::kMinModelImageSize,
                         limits::kMaxModelImageSize);
  problems->RequireRange("grid_extractor.stages, their number,", spec.stages_size(), 1, 8);
  problems->Require(GridSide(spec) > 0 && GridSide(spec) << spec.stages_size() == spec.image_size(),
                    absl::StrCat("grid_extractor.image_size ", spec.image_size(),
                                 " cannot be halved ", spec.stages_size(), " times"));
  for (int i = 0; i < spec.stages_size(); ++i) {
    const std::string stage = absl::StrCat("grid_extractor.stages[", i, "]");
    problems->RequireRange(stage + ".channel_count", spec.stages(i).channel_count(), 1,
                           limits::kMaxGridChannels);
    problems->RequireRange(stage + ".residual_block_count", spec.stages(i).residual_block_count(),
                           0, limits::kMaxGridBlocks);
  }
  const auto finite = [](float x) { return std::isfinite(x); };
  problems->Require(
      spec.mean_size() == 3 && std::all_of(spec.mean().begin(), spec.mean().end(), finite),
      "grid_extractor.mean must be three numbers, for R, G and B");
  const auto positive = [](float x) { return std::isfinite(x) && x > 0; };
  problems->Require(
      spec.standard_deviation_size() == 3 &&
          std::all_of(spec.standard_deviation().begin(), spec.standard_deviation().end(), positive),
      "grid_extractor.standard_deviation must be three positive numbers, for R, G and B");
}

int64_t GridSide(const bundle::v1::GridExtractorSpec& spec) {
  return int64_t{spec.image_size()} >> std::min(spec.stages_size(), 30);
}

int64_t LeastTowerWeightCount(const bundle::v1::ModelBundleManifest& manifest) {
  const bundle::v1::TransformerSpec& spec = manifest.transformer();
  const int64_t hidden = spec.hidden_size();
  return hidden * (int64_t{spec.vocabulary_size()} + spec.position_count()) +
         spec.layer_count() * 2 * hidden * (2 * hidden + spec.intermediate_size()) +
         int64_t{spec.projection_hidden_size()} * (hidden + manifest.embedding().dimension());
}

int64_t LeastTransformerWeightCount(const bundle::v1::ModelBundleManifest& manifest) {
  const int64_t hidden = manifest.transformer().hidden_size();
  int64_t count = LeastTowerWeightCount(manifest);
  count += hidden * manifest.transformer().region_feature_size();
  count += int64_t{manifest.cross_encoder().head_hidden_size()} * hidden;
  int64_t channels = 3;
  for (const bundle::v1::GridStage& stage : manifest.grid_extractor().stages()) {
    const int64_t wider = stage.channel_count();
    count += 9 * wider * (channels + 2 * wider * stage.residual_block_count());
    channels = wider;
  }
  return count;
}

absl::StatusOr<std::string> ListedFile(const ModelBundle& bundle, absl::string_view name) {
  for (const bundle::v1::BundleFile& file : bundle.manifest.files()) {
    if (file.path() == std::string(name)) return bundle.FilePath(name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the manifest of bundle ", bundle.id, " lists no file '", name, "'"));
}

}  // namespace sightline
