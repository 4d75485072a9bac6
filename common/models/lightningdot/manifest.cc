#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/models/family_manifests.h"
#include "common/models/inputs/manifest_checks.h"
#include "common/models/inputs/region_input.h"

namespace sightline {
namespace {

void CheckSceneText(const bundle::v1::ModelBundleManifest& manifest, Problems* problems) {
  const bundle::v1::SceneTextSpec& spec = manifest.scene_text();
  const bundle::v1::TransformerSpec& transformer = manifest.transformer();
  problems->RequireRange("scene_text.max_token_count", spec.max_token_count(), 1,
                         limits::kMaxSceneTextTokens);
  problems->RequireRange("scene_text.first_position", spec.first_position(), 0,
                         transformer.position_count() - 1);
  problems->RequireRange("scene_text.token_type", spec.token_type(), 0,
                         transformer.token_type_count() - 1);
  const int64_t last = int64_t{spec.first_position()} + spec.max_token_count();
  problems->Require(
      last < transformer.position_count(),
      absl::StrCat("scene_text.max_token_count from scene_text.first_position on needs position ",
                   last, ", but there are only ", transformer.position_count()));
}

absl::Status Check(const bundle::v1::ModelBundleManifest& manifest) {
  Problems problems;
  const bundle::v1::TransformerSpec& spec = manifest.transformer();
  CheckTokenizer(manifest, bundle::v1::TokenizerSpec::WORDPIECE, &problems);
  CheckTransformer(manifest, &problems);
  problems.RequireRange("transformer.token_type_count", spec.token_type_count(), 2,
                        limits::kMaxTokenTypes);
  problems.RequireRange("transformer.projection_hidden_size", spec.projection_hidden_size(), 0,
                        32768);
  CheckEmbedding(manifest, spec.projection_hidden_size() == 0 ? spec.hidden_size() : 0, &problems);
  problems.Require(!manifest.has_cross_encoder(),
                   "a cross_encoder is there, but LightningDOT is a bi-encoder only");
  if (manifest.has_scene_text()) CheckSceneText(manifest, &problems);
  return problems.ToStatus("the manifest describes no LightningDOT model");
}

RegionReading Reading(const bundle::v1::ModelBundleManifest& manifest) {
  return RegionReadingOf(manifest, BoxForm::kUniter);
}

// Texts and images have weights of their own.
int64_t LeastWeights(const bundle::v1::ModelBundleManifest& manifest) {
  return LeastTransformerWeightCount(manifest) + LeastTowerWeightCount(manifest);
}

}  // namespace

const FamilyManifest lightningdot::kManifest = {&Check, &Reading, &LeastWeights,
                                                /*transformer_count=*/2};

}  // namespace sightline
