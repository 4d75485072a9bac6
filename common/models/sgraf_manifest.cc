#include "common/models/family_manifests.h"

#include "common/embedding/score.h"
#include "common/models/manifest_checks.h"

namespace sightline {
namespace {

void CheckEmde(const bundle::v1::EmdeSpec& spec, Problems* problems) {
  problems->RequireRange("sgraf.emde.partition_count", spec.partition_count(), 1, 256);
  problems->RequireRange("sgraf.emde.cell_count", spec.cell_count(), 1, 256);
  problems->RequireRange("sgraf.emde.cell_size", spec.cell_size(), 1, 256);
}

}  // namespace

absl::Status CheckSgrafManifest(const bundle::v1::ModelBundleManifest& manifest) {
  Problems problems;
  const bundle::v1::SgrafSpec& spec = manifest.sgraf();
  CheckTokenizer(manifest, bundle::v1::TokenizerSpec::WORD_LIST, &problems);
  problems.Require(
      spec.module() == bundle::v1::SgrafSpec::SAF || spec.module() == bundle::v1::SgrafSpec::SGR,
      "sgraf.module must be SAF or SGR");
  problems.RequireRange("sgraf.vocabulary_size", spec.vocabulary_size(), 4, 1'000'000);
  problems.RequireRange("sgraf.word_size", spec.word_size(), 1, 4096);
  problems.RequireRange("sgraf.embedding_size", spec.embedding_size(), 1, 4096);
  problems.RequireRange("sgraf.similarity_size", spec.similarity_size(), 1, 4096);
  problems.RequireRange("sgraf.region_feature_size", spec.region_feature_size(), 1, 16384);
  problems.RequireRange("sgraf.region_count", spec.region_count(), 1, 1024);
  if (spec.module() == bundle::v1::SgrafSpec::SGR) {
    problems.RequireRange("sgraf.step_count", spec.step_count(), 1, 16);
  }
  if (spec.has_emde()) CheckEmde(spec.emde(), &problems);
  problems.Require(!manifest.has_embedding(),
                   "an embedding is there, but SGRAF is a cross-encoder only");
  CheckCrossEncoder(manifest, {ScoreKind::kSigmoid}, /*max_head_size=*/0, &problems);
  return problems.ToStatus("the manifest describes no SGRAF model");
}

}  // namespace sightline
