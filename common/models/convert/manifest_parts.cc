#include "common/models/convert/manifest_parts.h"

#include <algorithm>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr int64_t kColumnsOfAHead = 64;
constexpr double kEpsilon = 1e-12;
constexpr double kConfidenceFloor = 0.2;
constexpr int64_t kSurestRegions = 10;

}  // namespace

bool HasPrefix(const NamedTensors& tensors, absl::string_view prefix) {
  const auto first = tensors.lower_bound(std::string(prefix));
  return first != tensors.end() && absl::StartsWith(first->first, prefix);
}

int ToInt32(int64_t value) {
  using Limits = std::numeric_limits<int32_t>;
  return static_cast<int>(std::clamp<int64_t>(value, Limits::min(), Limits::max()));
}

absl::StatusOr<int64_t> HeadCount(const Checkpoint& source, const ConvertOptions& options,
                                  int64_t hidden) {
  absl::optional<int64_t> heads = options.head_count;
  for (const char* key : {"num_attention_heads", "n_heads"}) {
    if (!heads.has_value()) heads = source.Integer(key);
  }
  if (!heads.has_value() && hidden % kColumnsOfAHead == 0) heads = hidden / kColumnsOfAHead;
  if (!heads.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "nothing tells how many attention heads the model has, and its width of ", hidden,
        " is no multiple of 64; give --heads, or a config.json with num_attention_heads"));
  }
  return *heads;
}

// Heads and epsilon cannot be read off the tensors, so another model's config would go unnoticed.
absl::Status CheckConfigIsOf(const Checkpoint& source, const BertSizes& sizes) {
  const std::pair<const char*, int64_t> measured[] = {
      {"hidden_size", sizes.hidden},
      {"num_hidden_layers", sizes.layers},
      {"intermediate_size", sizes.intermediate},
      {"vocab_size", sizes.vocabulary},
  };
  for (const auto& [key, value] : measured) {
    const absl::optional<int64_t> told = source.Integer(key);
    if (!told.has_value() || *told == value) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("config.json says ", key, " ", *told, ", but the tensors have ", value,
                     "; it is another model's: give the right one with --config"));
  }
  return absl::OkStatus();
}

absl::StatusOr<bundle::v1::TransformerSpec> MakeTransformer(const Checkpoint& source,
                                                            const ConvertOptions& options,
                                                            const BertSizes& sizes) {
  for (const char* key : {"hidden_act", "activation"}) {
    const std::string activation = source.Text(key).value_or("gelu");
    if (activation == "gelu") continue;
    return absl::InvalidArgumentError(
        absl::StrCat("config.json says ", key, " '", activation, "'; the models compute gelu"));
  }
  RETURN_IF_ERROR(CheckConfigIsOf(source, sizes));
  bundle::v1::TransformerSpec spec;
  ASSIGN_OR_RETURN(const int64_t heads, HeadCount(source, options, sizes.hidden));
  spec.set_head_count(ToInt32(heads));
  spec.set_layer_count(ToInt32(sizes.layers));
  spec.set_hidden_size(ToInt32(sizes.hidden));
  spec.set_intermediate_size(ToInt32(sizes.intermediate));
  spec.set_vocabulary_size(ToInt32(sizes.vocabulary));
  spec.set_position_count(ToInt32(sizes.positions));
  spec.set_token_type_count(ToInt32(sizes.types));
  spec.set_layer_norm_epsilon(
      static_cast<float>(source.Number("layer_norm_eps").value_or(kEpsilon)));
  return spec;
}

bundle::v1::TokenizerSpec MakeTokenizerSpec(bundle::v1::TokenizerSpec::Kind kind, bool lowercase,
                                            int64_t max_token_count) {
  bundle::v1::TokenizerSpec spec;
  spec.set_kind(kind);
  spec.set_lowercase(lowercase);
  spec.set_max_token_count(ToInt32(max_token_count));
  spec.set_vocabulary_file(std::string(kVocabularyFile));
  if (kind == bundle::v1::TokenizerSpec::SENTENCEPIECE) {
    spec.set_vocabulary_file("sentencepiece.model");
  } else if (kind == bundle::v1::TokenizerSpec::WORD_LIST) {
    spec.set_vocabulary_file("vocab.json");
  }
  return spec;
}

absl::StatusOr<Uses> UsesOf(const ConvertOptions& options, bool has_classifier, Uses usual) {
  Uses uses = usual;
  if (options.use == "joint") {
    uses = {true, true};
  } else if (options.use == "cross-encoder") {
    uses = {false, true};
  } else if (options.use == "bi-encoder") {
    uses = {true, false};
  } else if (!options.use.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a model is used as 'cross-encoder', 'bi-encoder' or 'joint', not as '", options.use, "'"));
  }
  if (uses.cross_encoder && !has_classifier) {
    return absl::InvalidArgumentError(
        "the checkpoint has no classifier, so it can be no cross-encoder");
  }
  if (!uses.cross_encoder && !options.score_kind.empty()) {
    return absl::InvalidArgumentError("a bi-encoder has no --score-kind");
  }
  if (!uses.cross_encoder && options.tag_token_count.value_or(0) > 0) {
    return absl::InvalidArgumentError("a bi-encoder reads no tags and has no --tag-tokens");
  }
  return uses;
}

absl::Status SetCrossEncoder(absl::string_view score_kind, const std::vector<std::string>& known,
                             bundle::v1::ModelBundleManifest* manifest) {
  const std::string kind = score_kind.empty() ? known[0] : std::string(score_kind);
  if (std::find(known.begin(), known.end(), kind) == known.end()) {
    return absl::InvalidArgumentError(absl::StrCat("score kind '", kind, "' is not among ",
                                                   absl::StrJoin(known, ", "),
                                                   ", which this family has"));
  }
  manifest->mutable_cross_encoder()->set_score_kind(kind);
  manifest->mutable_cross_encoder()->set_combination("replace");
  return absl::OkStatus();
}

void SetUniterRegionRule(const ConvertOptions& options, bundle::v1::ModelBundleManifest* manifest) {
  const double floor = options.confidence_floor.value_or(kConfidenceFloor);
  if (floor == 0) return;  // without a rule, as many as there may be
  const int64_t usual =
      std::min<int64_t>(kSurestRegions, manifest->transformer().max_region_count());
  manifest->mutable_region_rule()->set_confidence_floor(static_cast<float>(floor));
  manifest->mutable_region_rule()->set_min_count(ToInt32(options.min_region_count.value_or(usual)));
}

void SetEmbedding(int64_t dimension, bundle::v1::EmbeddingSpec::Metric metric,
                  bundle::v1::ModelBundleManifest* manifest) {
  manifest->mutable_embedding()->set_dimension(ToInt32(dimension));
  manifest->mutable_embedding()->set_metric(metric);
}

}  // namespace sightline
