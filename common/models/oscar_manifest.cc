#include "common/models/oscar_manifest.h"

#include "absl/strings/str_cat.h"
#include "common/embedding/score.h"
#include "common/models/manifest_checks.h"
#include "common/models/region_input.h"

namespace sightline {
namespace {

void CheckEmbedding(const bundle::v1::ModelBundleManifest& manifest, Problems* problems) {
  using bundle::v1::EmbeddingSpec;
  const EmbeddingSpec& spec = manifest.embedding();
  problems->Require(
      spec.dimension() == manifest.transformer().hidden_size(),
      absl::StrCat("embedding.dimension is ", spec.dimension(), ", OSCAR's is its hidden_size, ",
                   manifest.transformer().hidden_size()));
  problems->Require(
      spec.metric() == EmbeddingSpec::COSINE || spec.metric() == EmbeddingSpec::INNER_PRODUCT,
      "embedding.metric must be COSINE or INNER_PRODUCT");
}

void CheckCrossEncoder(const bundle::v1::CrossEncoderSpec& spec, Problems* problems) {
  const auto kind = ParseScoreKind(spec.score_kind());
  problems->Require(
      kind.ok() && (*kind == ScoreKind::kSoftmaxMatch || *kind == ScoreKind::kLogitMatch),
      absl::StrCat("cross_encoder.score_kind is '", spec.score_kind(),
                   "', OSCAR's are softmax_match and logit_match"));
  const auto combination = ParseCombinationKind(spec.combination());
  if (!combination.ok()) {
    problems->Require(false, absl::StrCat("cross_encoder: ", combination.status().message()));
    return;
  }
  const absl::Status valid = Validate(Combination{*combination, spec.combination_lambda()});
  problems->Require(valid.ok(), absl::StrCat("cross_encoder: ", valid.message()));
}

void CheckGridFits(const bundle::v1::ModelBundleManifest& manifest, Problems* problems) {
  const bundle::v1::GridExtractorSpec& grid = manifest.grid_extractor();
  const bundle::v1::TransformerSpec& transformer = manifest.transformer();
  CheckGridExtractor(grid, problems);
  if (grid.stages().empty()) return;
  const int channels = grid.stages(grid.stages_size() - 1).channel_count();
  problems->Require(
      transformer.region_feature_size() == channels + kOscarBoxNumbers,
      absl::StrCat("transformer.region_feature_size is ", transformer.region_feature_size(),
                   ", the grid's last stage needs ", channels, " + ", kOscarBoxNumbers));
  const int64_t cells = GridSide(grid) * GridSide(grid);
  problems->Require(
      cells <= transformer.max_region_count(),
      absl::StrCat("transformer.max_region_count is ", transformer.max_region_count(),
                   ", but the grid has ", cells, " cells; the lower ones would never be seen"));
}

}  // namespace

absl::Status CheckOscarManifest(const bundle::v1::ModelBundleManifest& manifest) {
  Problems problems;
  CheckTokenizer(manifest, &problems);
  CheckTransformer(manifest.transformer(), &problems);
  if (manifest.has_embedding()) CheckEmbedding(manifest, &problems);
  if (manifest.has_cross_encoder()) CheckCrossEncoder(manifest.cross_encoder(), &problems);
  if (manifest.has_grid_extractor()) CheckGridFits(manifest, &problems);
  problems.Require(manifest.has_embedding() || manifest.has_cross_encoder(),
                   "neither embedding nor cross_encoder is there: the model would do nothing");
  return problems.ToStatus("the manifest describes no OSCAR model");
}

}  // namespace sightline
