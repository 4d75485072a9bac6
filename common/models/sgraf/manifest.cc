#include "common/base/limits.h"
#include "common/embedding/score.h"
#include "common/models/family_manifests.h"
#include "common/models/inputs/manifest_checks.h"
#include "common/models/inputs/region_input.h"

namespace sightline {
namespace {

void CheckEmde(const bundle::v1::EmdeSpec& spec, Problems* problems) {
  problems->RequireRange("sgraf.emde.partition_count", spec.partition_count(), 1, 256);
  problems->RequireRange("sgraf.emde.cell_count", spec.cell_count(), 1, limits::kMaxCells);
  problems->RequireRange("sgraf.emde.cell_size", spec.cell_size(), 1, 256);
}

absl::Status Check(const bundle::v1::ModelBundleManifest& manifest) {
  Problems problems;
  const bundle::v1::SgrafSpec& spec = manifest.sgraf();
  CheckTokenizer(manifest, bundle::v1::TokenizerSpec::WORD_LIST, &problems);
  problems.Require(
      spec.module() == bundle::v1::SgrafSpec::SAF || spec.module() == bundle::v1::SgrafSpec::SGR,
      "sgraf.module must be SAF or SGR");
  problems.RequireRange("sgraf.vocabulary_size", spec.vocabulary_size(), 4, 1'000'000);
  problems.RequireRange("sgraf.word_size", spec.word_size(), 1, limits::kMaxHiddenSize);
  problems.RequireRange("sgraf.embedding_size", spec.embedding_size(), 1, limits::kMaxHiddenSize);
  problems.RequireRange("sgraf.similarity_size", spec.similarity_size(), 1, limits::kMaxHiddenSize);
  problems.RequireRange("sgraf.region_feature_size", spec.region_feature_size(), 1,
                        limits::kMaxRegionFeatureSize);
  problems.RequireRange("sgraf.region_count", spec.region_count(), 1, limits::kMaxModelRegions);
  if (spec.module() == bundle::v1::SgrafSpec::SGR) {
    problems.RequireRange("sgraf.step_count", spec.step_count(), 1, 16);
  }
  if (spec.has_emde()) CheckEmde(spec.emde(), &problems);
  problems.Require(!spec.has_emde() || !spec.without_global_node(),
                   "sgraf.without_global_node is true, but sgraf.emde would be in its place");
  problems.Require(!manifest.has_embedding(),
                   "an embedding is there, but SGRAF is a cross-encoder only");
  CheckCrossEncoder(manifest, {ScoreKind::kSigmoid}, /*max_head_size=*/0, &problems);
  return problems.ToStatus("the manifest describes no SGRAF model");
}

RegionReading Reading(const bundle::v1::ModelBundleManifest& manifest) {
  RegionReading reading;
  reading.feature_size = manifest.sgraf().region_feature_size();
  reading.max_count = manifest.sgraf().region_count();
  reading.required_count = manifest.sgraf().region_count();
  return reading;
}

int64_t LeastWeights(const bundle::v1::ModelBundleManifest& manifest) {
  const bundle::v1::SgrafSpec& spec = manifest.sgraf();
  return int64_t{spec.vocabulary_size()} * spec.word_size() +
         int64_t{spec.region_feature_size()} * spec.embedding_size() +
         int64_t{3} * spec.embedding_size() * spec.embedding_size() +
         int64_t{3} * spec.step_count() * spec.similarity_size() * spec.similarity_size() +
         int64_t{spec.emde().partition_count()} * spec.emde().cell_count() *
             spec.emde().cell_size() * spec.embedding_size();
}

}  // namespace

const FamilyManifest sgraf::kManifest = {&Check, &Reading, &LeastWeights};

}  // namespace sightline
