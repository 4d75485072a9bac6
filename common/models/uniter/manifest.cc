#include "common/embedding/score.h"
#include "common/models/family_manifests.h"
#include "common/models/inputs/manifest_checks.h"
#include "common/models/inputs/region_input.h"

namespace sightline {
namespace {

absl::Status Check(const bundle::v1::ModelBundleManifest& manifest) {
  Problems problems;
  CheckTokenizer(manifest, bundle::v1::TokenizerSpec::WORDPIECE, &problems);
  CheckTransformer(manifest, &problems);
  problems.RequireRange("transformer.token_type_count", manifest.transformer().token_type_count(),
                        2, 16);
  problems.Require(!manifest.has_embedding(),
                   "an embedding is there, but UNITER is a cross-encoder only");
  CheckCrossEncoder(manifest,
                    {ScoreKind::kRankRaw, ScoreKind::kSoftmaxMatch, ScoreKind::kLogitMatch},
                    /*max_head_size=*/0, &problems);
  return problems.ToStatus("the manifest describes no UNITER model");
}

RegionReading Reading(const bundle::v1::ModelBundleManifest& manifest) {
  return RegionReadingOf(manifest, BoxForm::kUniter);
}

}  // namespace

const FamilyManifest uniter::kManifest = {&Check, &Reading, &LeastTransformerWeightCount};

}  // namespace sightline
