// LightningDOT: a BERT for texts and a UNITER trunk for images, each with a projection.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/models/convert/family_conversions.h"
#include "common/models/convert/kept_heads.h"
#include "common/models/convert/manifest_parts.h"
#include "common/models/convert/tensor_plan.h"
#include "common/models/inputs/pretraining_heads.h"

namespace sightline {
namespace {

constexpr char kImageTrunk[] = "img_model.bert.";
constexpr char kTextTrunk[] = "txt_model.bert.";
constexpr char kImageProjection[] = "img_model.encode_proj.";
constexpr char kTextProjection[] = "txt_model.encode_proj.";
constexpr int64_t kMaxRegions = 100;

// What the paper of the scene-text aware encoder leaves open, as design notes suggest.
constexpr int64_t kSceneTokens = 64;
constexpr int64_t kScenePosition = 1;  // the separator's; [CLS] has 0
constexpr int64_t kSceneType = 0;

// Of the model itself.
std::string CanonicalName(absl::string_view name) {
  // Two towers have no use for UNITER's head of matching.
  if (IsOfPretrainingHead(name) || absl::StartsWith(name, "itm_output.")) return "";
  // The pre-trained model has one more bert. before both towers; the inner ones stay.
  if (absl::StartsWith(name, "bert.img_model.") || absl::StartsWith(name, "bert.txt_model.")) {
    name.remove_prefix(5);
  }
  for (const absl::string_view trunk : {kImageTrunk, kTextTrunk}) {
    absl::string_view part = name;
    if (!absl::ConsumePrefix(&part, trunk)) continue;
    // The embedding is the [CLS] row itself, not the pooler's.
    if (absl::StartsWith(part, "pooler.") || part == "embeddings.position_ids" ||
        absl::StartsWith(part, "img_embeddings.mask_embedding")) {
      return "";
    }
  }
  return std::string(name);
}

void ExpectProjection(const std::string& prefix, int64_t hidden, int64_t width, int64_t dimension,
                      TensorPlan* plan) {
  plan->ExpectLinear(prefix + "0.", hidden, width);
  plan->ExpectNorm(prefix + "2.", width);
  plan->ExpectLinear(prefix + "3.", width, dimension);
}

void SetSceneText(const ConvertOptions& options, int64_t positions,
                  bundle::v1::ModelBundleManifest* manifest) {
  bundle::v1::SceneTextSpec* spec = manifest->mutable_scene_text();
  const int64_t separator = options.scene_position.value_or(kScenePosition);
  const int64_t usual = std::min(kSceneTokens, positions - separator - 1);
  spec->set_max_token_count(ToInt32(options.scene_token_count.value_or(usual)));
  spec->set_first_position(ToInt32(separator));
  spec->set_token_type(ToInt32(options.scene_token_type.value_or(kSceneType)));
  spec->set_separator_when_empty(options.lone_separator);
}

absl::StatusOr<bool> Recognizes(const Checkpoint& source, const ConvertOptions&) {
  const auto has = [&](absl::string_view prefix) { return HasPrefix(source.tensors(), prefix); };
  return (has("img_model.") && has("txt_model.")) ||
         (has("bert.img_model.") && has("bert.txt_model."));
}

absl::StatusOr<Conversion> Convert(const Checkpoint& source, const ConvertOptions& options) {
  Conversion result;
  ASSIGN_OR_RETURN(NamedTensors tensors, Renamed(source.tensors(), CanonicalName));
  TensorPlan plan(std::move(tensors));
  const BertSizes sizes = MeasureBert(plan, kImageTrunk);
  const int64_t feature_size =
      plan.Extent(absl::StrCat(kImageTrunk, "img_embeddings.img_linear.weight"), 1);
  const std::string first = "encode_proj.0.weight";
  const bool projected = plan.Has("img_model." + first) || plan.Has("txt_model." + first);
  const int64_t width = plan.Extent("img_model." + first, 0);
  int64_t dimension = sizes.hidden;
  for (const char* trunk : {kImageTrunk, kTextTrunk}) ExpectBert(trunk, sizes, &plan);
  ExpectUniterRegions(kImageTrunk, sizes, feature_size, &plan);
  if (projected) {
    dimension = plan.Extent(absl::StrCat(kImageProjection, "3.weight"), 0);
    for (const char* prefix : {kImageProjection, kTextProjection}) {
      ExpectProjection(prefix, sizes.hidden, width, dimension, &plan);
    }
  }
  ASSIGN_OR_RETURN(result.tensors, plan.Match("lightningdot"));

  bundle::v1::ModelBundleManifest* manifest = &result.manifest;
  manifest->set_description(options.scene_text ? "LightningDOT that reads text in pictures"
                                               : "LightningDOT");
  ASSIGN_OR_RETURN(*manifest->mutable_transformer(), MakeTransformer(source, options, sizes));
  bundle::v1::TransformerSpec* transformer = manifest->mutable_transformer();
  transformer->set_region_feature_size(ToInt32(feature_size));
  transformer->set_max_region_count(ToInt32(options.region_count.value_or(kMaxRegions)));
  transformer->set_projection_hidden_size(ToInt32(projected ? width : 0));
  *manifest->mutable_tokenizer() = MakeTokenizerSpec(
      bundle::v1::TokenizerSpec::WORDPIECE, /*lowercase=*/false,
      options.max_token_count.value_or(std::min<int64_t>(limits::kMaxTokens, sizes.positions)));
  SetUniterRegionRule(options, manifest);
  SetEmbedding(dimension, bundle::v1::EmbeddingSpec::INNER_PRODUCT, manifest);
  if (options.scene_text) SetSceneText(options, sizes.positions, manifest);
  KeepPretrainingHeads(source, &result);
  return result;
}

constexpr FieldOption kFields[] = {
    {"scene_text.max_token_count", "--ocr-tokens"},
    {"scene_text.first_position", "--ocr-position"},
    {"scene_text.token_type", "--ocr-type"},
};

}  // namespace

const FamilyConversion lightningdot::kConversion = {
    &Recognizes, &Convert, kHeadsOption | kRegionRuleOptions | kSceneTextOptions, kFields};

}  // namespace sightline
