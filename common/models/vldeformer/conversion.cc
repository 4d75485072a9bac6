// VLDeformer: OSCAR's trunk with the lengths that it pads to.
#include "absl/status/statusor.h"
#include "common/base/status_macros.h"
#include "common/models/convert/family_conversions.h"
#include "common/models/convert/manifest_parts.h"
#include "common/models/convert/tensor_plan.h"
#include "common/models/oscar/trunk_conversion.h"

namespace sightline {
namespace {

// What decides between OSCAR and VLDeformer is a guess, and a wrong one gives other embeddings.
constexpr char kInferred[] =
    "the family was not given: the checkpoint is taken for a vldeformer, an OSCAR trunk whose "
    "file is *.cpkt or whose config tells max_img_seq_length; give --family vldeformer if it is "
    "one, --family oscar if it is not";

absl::StatusOr<bool> Recognizes(const Checkpoint& source, const ConvertOptions& options) {
  return KindOfOscarTrunk(source, options) == OscarTrunkKind::kVlDeformer;
}

absl::StatusOr<Conversion> Convert(const Checkpoint& source, const ConvertOptions& options) {
  Conversion result;
  bundle::v1::ModelBundleManifest* manifest = &result.manifest;
  manifest->set_description("VLDeformer");
  ASSIGN_OR_RETURN(NamedTensors tensors, Renamed(source.tensors(), CanonicalOscarName));
  TensorPlan plan(WithoutOscarHead(tensors, /*classifier_too=*/false));
  const BertSizes sizes = MeasureBert(plan, kOscarTrunk);
  const auto transformer = PlanOscarTrunk(source, options, sizes, &plan);
  ASSIGN_OR_RETURN(result.tensors, plan.Match("vldeformer"));
  RETURN_IF_ERROR(transformer.status());
  *manifest->mutable_transformer() = *transformer;

  const int64_t text =
      options.max_token_count.value_or(source.Integer("max_seq_length").value_or(0));
  const int64_t regions =
      options.region_count.value_or(source.Integer("max_img_seq_length").value_or(0));
  if (text == 0 || regions == 0) {
    return absl::InvalidArgumentError(
        "a VLDeformer's embeddings depend on the lengths that it pads to; give --max-tokens and "
        "--regions, its max_seq_length and max_img_seq_length (35 and 70 in its README)");
  }
  // The released code pads the tags like the texts.
  const int64_t tags =
      options.tag_token_count.value_or(source.Integer("max_tag_length").value_or(text));
  manifest->mutable_transformer()->set_max_region_count(ToInt32(regions));
  *manifest->mutable_tokenizer() =
      MakeTokenizerSpec(bundle::v1::TokenizerSpec::WORDPIECE, /*lowercase=*/true, text);
  manifest->mutable_fixed_lengths()->set_text_length(ToInt32(text));
  manifest->mutable_fixed_lengths()->set_tag_length(ToInt32(tags));
  manifest->mutable_fixed_lengths()->set_region_count(ToInt32(regions));
  manifest->mutable_fixed_lengths()->set_tag_padding_type(
      ToInt32(options.tag_padding_type.value_or(0)));
  manifest->mutable_tags()->set_max_token_count(ToInt32(tags));
  manifest->mutable_tags()->set_token_type(kOscarTagType);
  SetEmbedding(sizes.hidden, bundle::v1::EmbeddingSpec::COSINE, manifest);
  if (options.family.empty()) result.warnings.push_back(kInferred);
  return result;
}

constexpr FieldOption kFields[] = {
    {"fixed_lengths.text_length", "--max-tokens"},
    {"fixed_lengths.tag_length", "--tag-tokens"},
    {"fixed_lengths.region_count", "--regions"},
    {"fixed_lengths.tag_padding_type", "--tag-padding-type"},
};

}  // namespace

const FamilyConversion vldeformer::kConversion = {
    &Recognizes, &Convert, kHeadsOption | kTagTokensOption | kTagPaddingOption, kFields};

}  // namespace sightline
