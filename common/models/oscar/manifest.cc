#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/embedding/score.h"
#include "common/models/family_manifests.h"
#include "common/models/inputs/manifest_checks.h"
#include "common/models/inputs/region_input.h"

namespace sightline {
namespace {

void CheckTags(const bundle::v1::ModelBundleManifest& manifest, Problems* problems) {
  const bundle::v1::TagSpec& tags = manifest.tags();
  // At least a word with its two special tokens, and a tag with its one.
  problems->RequireRange("tags.max_token_count", tags.max_token_count(), 5,
                         manifest.transformer().position_count());
  problems->RequireRange("tags.token_type", tags.token_type(), 0,
                         manifest.transformer().token_type_count() - 1);
  problems->Require(manifest.has_cross_encoder(),
                    "tags are there, but OSCAR reads them in its cross-encoder only");
}

void CheckGridFits(const bundle::v1::ModelBundleManifest& manifest, Problems* problems) {
  const bundle::v1::GridExtractorSpec& grid = manifest.grid_extractor();
  const bundle::v1::TransformerSpec& transformer = manifest.transformer();
  const int box_numbers = BoxNumberCount(BoxForm::kAppended);
  CheckGridExtractor(grid, problems);
  if (grid.stages().empty()) return;
  const int channels = grid.stages(grid.stages_size() - 1).channel_count();
  problems->Require(
      transformer.region_feature_size() == channels + box_numbers,
      absl::StrCat("transformer.region_feature_size is ", transformer.region_feature_size(),
                   ", the grid's last stage needs ", channels, " + ", box_numbers));
  const int64_t cells = GridSide(grid) * GridSide(grid);
  problems->Require(
      cells <= transformer.max_region_count(),
      absl::StrCat("transformer.max_region_count is ", transformer.max_region_count(),
                   ", but the grid has ", cells, " cells; the lower ones would never be seen"));
}

absl::Status Check(const bundle::v1::ModelBundleManifest& manifest) {
  Problems problems;
  CheckTokenizer(manifest, bundle::v1::TokenizerSpec::WORDPIECE, &problems);
  CheckTransformer(manifest, &problems);
  if (manifest.has_embedding()) {
    CheckEmbedding(manifest, manifest.transformer().hidden_size(), &problems);
  }
  if (manifest.has_cross_encoder()) {
    CheckCrossEncoder(manifest, {ScoreKind::kSoftmaxMatch, ScoreKind::kLogitMatch},
                      /*max_head_size=*/32768, &problems);
  }
  problems.RequireRange("transformer.region_feature_size",
                        manifest.transformer().region_feature_size(),
                        BoxNumberCount(BoxForm::kAppended) + 1, limits::kMaxRegionFeatureSize);
  if (manifest.has_tags()) CheckTags(manifest, &problems);
  if (manifest.has_grid_extractor()) CheckGridFits(manifest, &problems);
  problems.Require(manifest.has_embedding() || manifest.has_cross_encoder(),
                   "neither embedding nor cross_encoder is there: the model would do nothing");
  return problems.ToStatus("the manifest describes no OSCAR model");
}

RegionReading Reading(const bundle::v1::ModelBundleManifest& manifest) {
  return RegionReadingOf(manifest, BoxForm::kAppended);
}

}  // namespace

const FamilyManifest oscar::kManifest = {&Check, &Reading, &LeastTransformerWeightCount};

}  // namespace sightline
