#include "absl/strings/str_cat.h"
#include "common/embedding/score.h"
#include "common/models/family_manifests.h"
#include "common/models/inputs/manifest_checks.h"
#include "common/models/inputs/region_input.h"

namespace sightline {
namespace {

absl::Status Check(const bundle::v1::ModelBundleManifest& manifest) {
  Problems problems;
  const bundle::v1::TransformerSpec& spec = manifest.transformer();
  CheckTokenizer(manifest, bundle::v1::TokenizerSpec::SENTENCEPIECE, &problems);
  CheckTransformer(manifest, &problems);
  if (manifest.has_embedding()) CheckEmbedding(manifest, spec.hidden_size(), &problems);
  if (manifest.has_cross_encoder()) {
    CheckCrossEncoder(manifest, {ScoreKind::kSoftmaxMatch, ScoreKind::kLogitMatch},
                      /*max_head_size=*/0, &problems);
  }
  problems.Require(manifest.has_embedding() || manifest.has_cross_encoder(),
                   "neither embedding nor cross_encoder is there: the model would do nothing");
  const int64_t longest = int64_t{spec.max_region_count()} + manifest.tokenizer().max_token_count();
  problems.Require(
      longest <= spec.position_count(),
      absl::StrCat("transformer.max_region_count and tokenizer.max_token_count make ", longest,
                   " rows, but there are only ", spec.position_count(), " positions"));
  return problems.ToStatus("the manifest describes no M3P model");
}

RegionReading Reading(const bundle::v1::ModelBundleManifest& manifest) {
  return RegionReadingOf(manifest, BoxForm::kM3p);
}

}  // namespace

const FamilyManifest m3p::kManifest = {&Check, &Reading, &LeastTransformerWeightCount};

}  // namespace sightline
