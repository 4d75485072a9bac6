#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/embedding/score.h"
#include "common/image/region_set.h"
#include "common/models/family_manifests.h"
#include "common/models/inputs/manifest_checks.h"
#include "common/models/inputs/region_input.h"

namespace sightline {
namespace {

using bundle::v1::ModelBundleManifest;
using bundle::v1::PixelSpec;
using bundle::v1::TorchScriptSpec;

void CheckPixelSpec(const PixelSpec& spec, Problems* problems) {
  problems->RequireRange("torch_script.pixels.image_size", spec.image_size(),
                         limits::kMinModelImageSize, limits::kMaxModelImageSize);
  problems->Require(spec.fit() == PixelSpec::CROP || spec.fit() == PixelSpec::STRETCH,
                    "torch_script.pixels.fit must be CROP or STRETCH");
  problems->Require(spec.filter() == PixelSpec::BILINEAR || spec.filter() == PixelSpec::BICUBIC,
                    "torch_script.pixels.filter must be BILINEAR or BICUBIC");
  const auto finite = [](float x) { return std::isfinite(x); };
  problems->Require(
      spec.mean_size() == 3 && std::all_of(spec.mean().begin(), spec.mean().end(), finite),
      "torch_script.pixels.mean must be three numbers, for R, G and B");
  const auto positive = [](float x) { return std::isfinite(x) && x > 0; };
  problems->Require(
      spec.standard_deviation_size() == 3 &&
          std::all_of(spec.standard_deviation().begin(), spec.standard_deviation().end(), positive),
      "torch_script.pixels.standard_deviation must be three positive numbers, for R, G and B");
}

void CheckModules(const ModelBundleManifest& manifest, Problems* problems) {
  const TorchScriptSpec& spec = manifest.torch_script();
  const auto together = [&](bool module, bool part, absl::string_view names) {
    problems->Require(module == part, absl::StrCat(names, " come together or not at all"));
  };
  together(!spec.text_encoder().empty(), manifest.has_embedding(),
           "torch_script.text_encoder and embedding");
  together(!spec.image_encoder().empty(), manifest.has_embedding(),
           "torch_script.image_encoder and embedding");
  together(!spec.cross_encoder().empty(), manifest.has_cross_encoder(),
           "torch_script.cross_encoder and cross_encoder");
  together(!spec.region_extractor().empty(), spec.has_pixels(),
           "torch_script.region_extractor and torch_script.pixels");
  problems->Require(manifest.has_embedding() || manifest.has_cross_encoder(),
                    "there is neither an embedding nor a cross_encoder");
}

absl::Status Check(const ModelBundleManifest& manifest) {
  Problems problems;
  const TorchScriptSpec& spec = manifest.torch_script();
  CheckTokenizer(manifest, manifest.tokenizer().kind(), &problems);
  problems.Require(manifest.tokenizer().kind() != bundle::v1::TokenizerSpec::KIND_UNSPECIFIED,
                   "tokenizer.kind is missing");
  CheckModules(manifest, &problems);
  problems.RequireRange("torch_script.vocabulary_size", spec.vocabulary_size(), 3, 1'000'000);
  problems.RequireRange("torch_script.region_feature_size", spec.region_feature_size(), 1,
                        limits::kMaxRegionFeatureSize);
  problems.RequireRange("torch_script.max_region_count", spec.max_region_count(), 1,
                        limits::kMaxModelRegions);
  problems.RequireRange("torch_script.region_class_count", spec.region_class_count(), 0,
                        kMaxRegionClasses);
  problems.Require(spec.region_class_count() == 0 || !spec.region_extractor().empty(),
                   absl::StrCat("torch_script.region_class_count is ", spec.region_class_count(),
                                ", but there is no region_extractor to tell them; leave it out"));
  if (spec.has_pixels()) CheckPixelSpec(spec.pixels(), &problems);
  const float floor = manifest.region_rule().confidence_floor();
  problems.Require(floor >= 0 && floor <= 1,
                   absl::StrCat("region_rule.confidence_floor is ", floor, ", must be 0 to 1"));
  problems.RequireRange("region_rule.min_count", manifest.region_rule().min_count(), 0,
                        spec.max_region_count());
  if (manifest.has_embedding()) CheckEmbedding(manifest, /*dimension=*/0, &problems);
  if (manifest.has_cross_encoder()) {
    CheckCrossEncoder(manifest,
                      {ScoreKind::kSoftmaxMatch, ScoreKind::kLogitMatch, ScoreKind::kRankRaw,
                       ScoreKind::kSigmoid},
                      /*max_head_size=*/0, &problems);
  }
  return problems.ToStatus("the manifest describes no TorchScript model");
}

RegionReading Reading(const ModelBundleManifest& manifest) {
  RegionReading reading = RegionReadingOf(manifest, BoxForm::kCorners);
  reading.feature_size = manifest.torch_script().region_feature_size();
  reading.max_count = manifest.torch_script().max_region_count();
  return reading;
}

}  // namespace

const FamilyManifest torchscript::kManifest = {&Check, &Reading, /*least_weight_count=*/nullptr};

}  // namespace sightline
