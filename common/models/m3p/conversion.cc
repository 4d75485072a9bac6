// M3P: a BERT over [regions | text] with the names of XLM, multilingual.
#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/models/convert/family_conversions.h"
#include "common/models/convert/manifest_parts.h"
#include "common/models/convert/tensor_plan.h"

namespace sightline {
namespace {

constexpr int64_t kMinTokens = 3;    // a piece between <s> and </s>
constexpr int64_t kMaxTokens = 130;  // 128 pieces between <s> and </s>
constexpr int64_t kMaxRegions = 50;
constexpr int64_t kBoxNumbers = 5;

// Parts that neither encoding nor scoring uses.
constexpr absl::string_view kIgnored[] = {
    "layer_norm15.",     "encoder_attn.", "refine_embeddings.",
    "cross_alignment.",  "mrfr_dense.",   "transformer_obj.",
    "seq_relationship.", "pred_layer.",   "image_embeddings.image_distbution_embeddings.",
};

// XLM's name of a part of a block -> BERT's.
const std::map<std::string, std::string>& BlockParts() {
  static const auto* const parts = new std::map<std::string, std::string>{
      {"attentions.q_lin", "attention.self.query"},
      {"attentions.k_lin", "attention.self.key"},
      {"attentions.v_lin", "attention.self.value"},
      {"attentions.out_lin", "attention.output.dense"},
      {"layer_norm1", "attention.output.LayerNorm"},
      {"ffns.lin1", "intermediate.dense"},
      {"ffns.lin2", "output.dense"},
      {"layer_norm2", "output.LayerNorm"},
  };
  return *parts;
}

// "attentions.3.q_lin.weight" -> "encoder.layer.3.attention.self.query.weight".
std::string CanonicalName(absl::string_view name) {
  for (const absl::string_view ignored : kIgnored) {
    if (absl::StartsWith(name, ignored)) return "";
  }
  const std::vector<std::string> words = absl::StrSplit(name, '.');
  if (words.size() != 3 && words.size() != 4) return std::string(name);
  const std::string part = words.size() == 4 ? absl::StrCat(words[0], ".", words[2]) : words[0];
  const auto found = BlockParts().find(part);
  if (found == BlockParts().end()) return std::string(name);
  return absl::StrCat("encoder.layer.", words[1], ".", found->second, ".", words.back());
}

BertSizes Measure(const TensorPlan& plan) {
  BertSizes sizes;
  sizes.layers = plan.CountIndexed("encoder.layer.");
  sizes.vocabulary = plan.Extent("embeddings.weight", 0);
  sizes.hidden = plan.Extent("embeddings.weight", 1);
  sizes.positions = plan.Extent("position_embeddings.weight", 0);
  sizes.types = 1;  // there is no such table
  sizes.intermediate = plan.Extent("encoder.layer.0.intermediate.dense.weight", 0);
  return sizes;
}

void Expect(const BertSizes& sizes, int64_t feature_size, bool cross_encoder, TensorPlan* plan) {
  const int64_t hidden = sizes.hidden;
  plan->Expect("embeddings.weight", {sizes.vocabulary, hidden});
  plan->Expect("position_embeddings.weight", {sizes.positions, hidden});
  plan->ExpectNorm("layer_norm_emb.", hidden);
  plan->ExpectLinear("image_embeddings.image_embeddings.", feature_size, hidden);
  plan->ExpectLinear("image_embeddings.image_location_embeddings.", kBoxNumbers, hidden);
  plan->ExpectNorm("image_embeddings.LayerNorm.", hidden);
  ExpectBertEncoder("", sizes, plan);
  if (!cross_encoder) return;
  plan->ExpectLinear("pooled_layer.dense.", hidden, hidden);
  plan->ExpectLinear("classifier.", hidden, 2);
}

absl::StatusOr<bool> Recognizes(const Checkpoint& source, const ConvertOptions&) {
  return HasPrefix(source.tensors(), "image_embeddings.image_location_embeddings.");
}

absl::StatusOr<Conversion> Convert(const Checkpoint& source, const ConvertOptions& options) {
  Conversion result;
  bundle::v1::ModelBundleManifest* manifest = &result.manifest;
  manifest->set_description("M3P");
  const bool has_classifier = source.tensors().count("classifier.weight") != 0;
  ASSIGN_OR_RETURN(const Uses uses, UsesOf(options, has_classifier, Uses{true, has_classifier}));
  ASSIGN_OR_RETURN(NamedTensors tensors, Renamed(source.tensors(), [&](absl::string_view name) {
                     const bool head = absl::StartsWith(name, "pooled_layer.") ||
                                       absl::StartsWith(name, "classifier.");
                     return head && !uses.cross_encoder ? "" : CanonicalName(name);
                   }));
  TensorPlan plan(std::move(tensors));
  const BertSizes sizes = Measure(plan);
  const int64_t feature_size = plan.Extent("image_embeddings.image_embeddings.weight", 1);
  Expect(sizes, feature_size, uses.cross_encoder, &plan);
  ASSIGN_OR_RETURN(result.tensors, plan.Match("m3p"));

  ASSIGN_OR_RETURN(*manifest->mutable_transformer(), MakeTransformer(source, options, sizes));
  const int64_t regions = options.region_count.value_or(kMaxRegions);
  // Regions and the text behind them have positions of one table.
  const int64_t room = std::max(sizes.positions - regions, kMinTokens);
  const int64_t tokens = options.max_token_count.value_or(std::min(kMaxTokens, room));
  manifest->mutable_transformer()->set_region_feature_size(ToInt32(feature_size));
  manifest->mutable_transformer()->set_max_region_count(ToInt32(regions));
  *manifest->mutable_tokenizer() = MakeTokenizerSpec(bundle::v1::TokenizerSpec::SENTENCEPIECE,
                                                     /*lowercase=*/false, tokens);
  if (uses.encoder) {
    RETURN_IF_ERROR(source.CheckMeanPooling());
    SetEmbedding(sizes.hidden, bundle::v1::EmbeddingSpec::COSINE, manifest);
  }
  if (uses.cross_encoder) {
    RETURN_IF_ERROR(
        SetCrossEncoder(options.score_kind, {"softmax_match", "logit_match"}, manifest));
  }
  return result;
}

}  // namespace

const FamilyConversion m3p::kConversion = {
    &Recognizes, &Convert, kHeadsOption | kUseOption | kScoreKindOption, /*field_options=*/{}};

}  // namespace sightline
