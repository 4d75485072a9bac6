#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/models/family_manifests.h"
#include "common/models/inputs/manifest_checks.h"
#include "common/models/inputs/region_input.h"

namespace sightline {
namespace {

absl::Status Check(const bundle::v1::ModelBundleManifest& manifest) {
  Problems problems;
  const bundle::v1::TransformerSpec& spec = manifest.transformer();
  const bundle::v1::FixedLengthSpec& lengths = manifest.fixed_lengths();
  CheckTokenizer(manifest, bundle::v1::TokenizerSpec::WORDPIECE, &problems);
  CheckTransformer(manifest, &problems);
  CheckEmbedding(manifest, spec.hidden_size(), &problems, /*chooses_rows=*/true);
  problems.Require(!manifest.has_cross_encoder(),
                   "a cross_encoder is there, but VLDeformer is a bi-encoder only");
  problems.RequireRange("transformer.region_feature_size", spec.region_feature_size(),
                        BoxNumberCount(BoxForm::kAppended) + 1, limits::kMaxRegionFeatureSize);
  problems.RequireRange("fixed_lengths.text_length", lengths.text_length(), 3,
                        spec.position_count());
  problems.RequireRange("fixed_lengths.tag_length", lengths.tag_length(), 2, spec.position_count());
  problems.RequireRange("fixed_lengths.region_count", lengths.region_count(), 1,
                        spec.max_region_count());
  problems.Require(
      manifest.tokenizer().max_token_count() == lengths.text_length(),
      absl::StrCat("tokenizer.max_token_count is ", manifest.tokenizer().max_token_count(),
                   ", but fixed_lengths.text_length is ", lengths.text_length()));
  problems.Require(manifest.tags().max_token_count() == lengths.tag_length(),
                   absl::StrCat("tags.max_token_count is ", manifest.tags().max_token_count(),
                                ", but fixed_lengths.tag_length is ", lengths.tag_length()));
  problems.RequireRange("tags.token_type", manifest.tags().token_type(), 0,
                        spec.token_type_count() - 1);
  problems.RequireRange("fixed_lengths.tag_padding_type", lengths.tag_padding_type(), 0,
                        spec.token_type_count() - 1);
  return problems.ToStatus("the manifest describes no VLDeformer model");
}

RegionReading Reading(const bundle::v1::ModelBundleManifest& manifest) {
  RegionReading reading = RegionReadingOf(manifest, BoxForm::kAppended);
  reading.max_count = manifest.fixed_lengths().region_count();
  return reading;
}

}  // namespace

const FamilyManifest vldeformer::kManifest = {&Check, &Reading, &LeastTransformerWeightCount};

}  // namespace sightline
