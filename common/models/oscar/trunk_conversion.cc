#include "common/models/oscar/trunk_conversion.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/models/convert/manifest_parts.h"
#include "common/models/inputs/pretraining_heads.h"

namespace sightline {

OscarTrunkKind KindOfOscarTrunk(const Checkpoint& source, const ConvertOptions& options) {
  const NamedTensors& tensors = source.tensors();
  if (!HasPrefix(tensors, "bert.img_embedding.") && !HasPrefix(tensors, "img_embedding.")) {
    return OscarTrunkKind::kNone;
  }
  const bool named_trunk = tensors.count("bert.img_embedding.weight") != 0;
  const bool classifier =
      tensors.count("classifier.weight") + tensors.count("classifier.0.weight") != 0;
  if (classifier || !named_trunk || !options.use.empty()) return OscarTrunkKind::kOscar;
  // Heads of pre-training are an OSCAR's.
  if (!HasPrefix(tensors, "cls.") && (absl::EndsWith(source.file_name(), ".cpkt") ||
                                      source.Integer("max_img_seq_length").has_value())) {
    return OscarTrunkKind::kVlDeformer;
  }
  return OscarTrunkKind::kUnclear;
}

std::string CanonicalOscarName(absl::string_view name) {
  if (IsOfPretrainingHead(name)) return "";
  if (absl::StartsWith(name, "classifier.")) return std::string(name);
  // MMT-Retrieval saves the trunk alone, without its name.
  const std::string full =
      absl::StartsWith(name, kOscarTrunk) ? std::string(name) : absl::StrCat(kOscarTrunk, name);
  return full == "bert.embeddings.position_ids" ? "" : full;
}

absl::StatusOr<bundle::v1::TransformerSpec> PlanOscarTrunk(const Checkpoint& source,
                                                           const ConvertOptions& options,
                                                           const BertSizes& sizes,
                                                           TensorPlan* plan) {
  const int64_t feature_size = plan->Extent("bert.img_embedding.weight", 1);
  const bool region_norm = plan->Has("bert.LayerNorm.weight") || plan->Has("bert.LayerNorm.bias");
  ExpectBert(kOscarTrunk, sizes, plan);
  plan->ExpectLinear("bert.img_embedding.", feature_size, sizes.hidden);
  if (region_norm) plan->ExpectNorm("bert.LayerNorm.", sizes.hidden);
  bundle::v1::TransformerSpec spec;
  // Without a width, Match is about to tell what is missing.
  if (sizes.hidden == 0) return spec;
  ASSIGN_OR_RETURN(spec, MakeTransformer(source, options, sizes));
  spec.set_region_feature_size(ToInt32(feature_size));
  spec.set_region_layer_norm(region_norm);
  // The norm of regions alone has an epsilon that a config may tell apart.
  const auto epsilon =
      static_cast<float>(source.Number("img_layer_norm_eps").value_or(spec.layer_norm_epsilon()));
  if (!region_norm || epsilon == spec.layer_norm_epsilon()) return spec;
  if (!(epsilon > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("config.json says img_layer_norm_eps ", epsilon, ", must be above 0"));
  }
  spec.set_region_layer_norm_epsilon(epsilon);
  return spec;
}

NamedTensors WithoutOscarHead(const NamedTensors& tensors, bool classifier_too) {
  NamedTensors rest;
  for (const auto& [name, view] : tensors) {
    if (absl::StartsWith(name, "bert.pooler.")) continue;
    if (classifier_too && absl::StartsWith(name, "classifier.")) continue;
    rest.emplace(name, view);
  }
  return rest;
}

}  // namespace sightline
