// OSCAR and VinVL: a BERT whose regions come in through one linear layer.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/models/convert/family_conversions.h"
#include "common/models/convert/kept_heads.h"
#include "common/models/convert/manifest_parts.h"
#include "common/models/convert/tensor_plan.h"
#include "common/models/oscar/trunk_conversion.h"

namespace sightline {
namespace {

constexpr int64_t kOscarTokens = 70;  // microsoft/Oscar's max_seq_length, tags included
constexpr int64_t kMmtTokens = 72;    // 70 wordpieces between [CLS] and [SEP]
constexpr int64_t kOscarRegions = 50;

bool HasClassifier(const NamedTensors& tensors) {
  return tensors.count("classifier.weight") + tensors.count("classifier.0.weight") > 0;
}

// The head, one layer or two, and the pooler before it.
void PlanHead(int64_t hidden, TensorPlan* plan, bundle::v1::ModelBundleManifest* manifest) {
  plan->ExpectLinear("bert.pooler.dense.", hidden, hidden);
  if (plan->Has("classifier.weight")) {
    plan->ExpectLinear("classifier.", hidden, 2);
    return;
  }
  const int64_t width = plan->Extent("classifier.0.weight", 0);
  manifest->mutable_cross_encoder()->set_head_hidden_size(ToInt32(width));
  plan->ExpectLinear("classifier.0.", hidden, width);
  plan->ExpectLinear("classifier.2.", width, 2);
}

// OSCAR's masks that hide text, tags and regions from each other.  Retrieve Fast, Rerank Smart
// has none.
absl::Status CheckMask(const Checkpoint& source, bool microsoft,
                       std::vector<std::string>* warnings) {
  const absl::optional<std::string> mask = source.Text("att_mask_type");
  if (!mask.has_value() && microsoft) {
    warnings->push_back(
        "nothing tells att_mask_type: CLR is assumed, in which text, tags and regions all see each "
        "other, and no other is computed");
  }
  if (mask.value_or("CLR") == "CLR") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the model was trained with att_mask_type '", *mask,
                   "'; only CLR is computed, in which all see each other"));
}

// An OSCAR's tokens and regions.
void SetLengths(const Checkpoint& source, const ConvertOptions& options, int64_t usual_tokens,
                int64_t positions, Conversion* result) {
  absl::optional<int64_t> tokens = options.max_token_count;
  if (!tokens.has_value()) {
    const absl::optional<int64_t> told = source.Integer("max_seq_length");
    tokens = std::min(positions, told.value_or(usual_tokens));
    if (!told.has_value()) {
      result->warnings.push_back(absl::StrCat("nothing tells max_seq_length: ", *tokens,
                                              " tokens assumed, tags included (--max-tokens)"));
    }
  }
  absl::optional<int64_t> regions = options.region_count;
  if (!regions.has_value()) regions = source.Integer("max_img_seq_length");
  if (!regions.has_value()) {
    regions = kOscarRegions;
    result->warnings.push_back(absl::StrCat("nothing tells max_img_seq_length: ", kOscarRegions,
                                            " regions assumed; VinVL has 70 (--regions)"));
  }
  *result->manifest.mutable_tokenizer() =
      MakeTokenizerSpec(bundle::v1::TokenizerSpec::WORDPIECE, /*lowercase=*/true, *tokens);
  result->manifest.mutable_transformer()->set_max_region_count(ToInt32(*regions));
}

// After SetLengths: one number is the most of a text, and of a text and its tags.
void SetTags(const Checkpoint& source, const ConvertOptions& options, bool microsoft,
             Conversion* result) {
  const absl::optional<bool> told = source.Boolean("add_od_labels");
  int64_t count = result->manifest.tokenizer().max_token_count();
  if (options.tag_token_count.has_value()) {
    count = *options.tag_token_count;
  } else if (!told.value_or(microsoft)) {  // Retrieve Fast, Rerank Smart reads none
    count = 0;
  } else if (!told.has_value()) {
    result->warnings.push_back(
        "nothing tells add_od_labels: the model is assumed to read tags (--tag-tokens 0 if it was "
        "trained without)");
  }
  if (count == 0) return;
  result->manifest.mutable_tags()->set_max_token_count(ToInt32(count));
  result->manifest.mutable_tags()->set_token_type(kOscarTagType);
}

absl::StatusOr<bool> Recognizes(const Checkpoint& source, const ConvertOptions& options) {
  switch (KindOfOscarTrunk(source, options)) {
    case OscarTrunkKind::kOscar:
      return true;
    case OscarTrunkKind::kUnclear:
      return absl::InvalidArgumentError(
          "the checkpoint is an OSCAR trunk without a classifier: give --family oscar for a "
          "bi-encoder that averages an item's own rows, or --family vldeformer for one that "
          "averages rows of fixed lengths");
    default:
      return false;
  }
}

absl::StatusOr<Conversion> Convert(const Checkpoint& source, const ConvertOptions& options) {
  Conversion result;
  bundle::v1::ModelBundleManifest* manifest = &result.manifest;
  manifest->set_description("OSCAR");
  ASSIGN_OR_RETURN(NamedTensors tensors, Renamed(source.tensors(), CanonicalOscarName));
  const bool has_classifier = HasClassifier(tensors);
  // microsoft/Oscar names the trunk, and makes cross-encoders; MMT-Retrieval does not, and
  // trains both uses of one set of weights.
  const bool microsoft = source.tensors().count("bert.img_embedding.weight") != 0;
  ASSIGN_OR_RETURN(const Uses uses, UsesOf(options, has_classifier,
                                           Uses{!microsoft || !has_classifier, has_classifier}));
  if (!uses.cross_encoder) tensors = WithoutOscarHead(tensors, /*classifier_too=*/true);

  TensorPlan plan(std::move(tensors));
  const BertSizes sizes = MeasureBert(plan, kOscarTrunk);
  if (uses.cross_encoder) {
    RETURN_IF_ERROR(CheckMask(source, microsoft, &result.warnings));
    RETURN_IF_ERROR(
        SetCrossEncoder(options.score_kind, {"softmax_match", "logit_match"}, manifest));
    PlanHead(sizes.hidden, &plan, manifest);
  }
  const auto transformer = PlanOscarTrunk(source, options, sizes, &plan);
  ASSIGN_OR_RETURN(result.tensors, plan.Match("oscar"));
  RETURN_IF_ERROR(transformer.status());
  *manifest->mutable_transformer() = *transformer;

  SetLengths(source, options, microsoft ? kOscarTokens : kMmtTokens, sizes.positions, &result);
  if (uses.encoder) {
    RETURN_IF_ERROR(source.CheckMeanPooling());
    SetEmbedding(sizes.hidden, bundle::v1::EmbeddingSpec::COSINE, manifest);
  }
  if (uses.cross_encoder) SetTags(source, options, microsoft, &result);
  KeepPretrainingHeads(source, &result);
  return result;
}

}  // namespace

const FamilyConversion oscar::kConversion = {
    &Recognizes, &Convert, kHeadsOption | kUseOption | kScoreKindOption | kTagTokensOption,
    /*field_options=*/{}};

}  // namespace sightline
