// UNITER: one trunk over text and regions, and a head that scores the pair.
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

constexpr char kTrunk[] = "uniter.";
constexpr int64_t kMaxRegions = 100;

// Heads of other tasks.
constexpr absl::string_view kOtherHeads[] = {"vqa_output.", "nlvr2_output.", "ve_output."};

// Of the model itself.
std::string CanonicalName(absl::string_view name) {
  if (IsOfPretrainingHead(name)) return "";
  for (const absl::string_view head : kOtherHeads) {
    if (absl::StartsWith(name, head)) return "";
  }
  // The old name of the trunk, as LightningDOT's copy has it.
  if (!absl::ConsumePrefix(&name, "bert.") && !absl::ConsumePrefix(&name, kTrunk)) {
    return std::string(name);
  }
  if (name == "embeddings.position_ids" ||
      absl::StartsWith(name, "img_embeddings.mask_embedding")) {
    return "";
  }
  return absl::StrCat(kTrunk, name);
}

// Row 1 of a matrix or vector of two rows: the logit of a match.
absl::optional<TensorView> MatchRow(const NamedTensors& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  if (found == tensors.end() || found->second.shape.empty() || found->second.shape[0] != 2) {
    return absl::nullopt;
  }
  TensorView row = found->second;
  row.shape[0] = 1;
  row.bytes.remove_prefix(row.bytes.size() / 2);
  return row;
}

// Leaves of the heads what `score_kind` needs: rank_output, which row 1 of itm_output
// stands for where a checkpoint has none, or itm_output as it is.
void ChooseHead(bool rank, NamedTensors* tensors, std::vector<std::string>* warnings) {
  if (!rank) {
    tensors->erase("rank_output.weight");
    tensors->erase("rank_output.bias");
    return;
  }
  // Both parts of one head: what is missing of a torn one is told later.
  const bool has_rank =
      tensors->count("rank_output.weight") + tensors->count("rank_output.bias") > 0;
  bool differ = false, taken = false;
  for (const std::string part : {"weight", "bias"}) {
    const absl::optional<TensorView> row = MatchRow(*tensors, "itm_output." + part);
    const auto rank_output = tensors->find("rank_output." + part);
    if (!has_rank && row.has_value()) {
      tensors->emplace("rank_output." + part, *row);
      taken = true;
    } else if (rank_output != tensors->end() && row.has_value()) {
      differ = differ || rank_output->second.bytes != row->bytes;
    }
    if (row.has_value()) tensors->erase("itm_output." + part);
  }
  if (taken) {
    warnings->push_back(
        "there is no rank_output: row 1 of itm_output takes its place, as for a model that was "
        "not finetuned for retrieval");
  }
  if (differ) {
    warnings->push_back(
        "rank_output and row 1 of itm_output differ; rank_output is used, while the reference "
        "script would take itm_output's row");
  }
}

absl::StatusOr<bool> Recognizes(const Checkpoint& source, const ConvertOptions&) {
  return HasPrefix(source.tensors(), "uniter.img_embeddings.") ||
         HasPrefix(source.tensors(), "bert.img_embeddings.");
}

absl::StatusOr<Conversion> Convert(const Checkpoint& source, const ConvertOptions& options) {
  Conversion result;
  result.manifest.set_description("UNITER cross-encoder");
  ASSIGN_OR_RETURN(NamedTensors tensors, Renamed(source.tensors(), CanonicalName));
  RETURN_IF_ERROR(SetCrossEncoder(options.score_kind, {"rank_raw", "softmax_match", "logit_match"},
                                  &result.manifest));
  const bool rank = result.manifest.cross_encoder().score_kind() == "rank_raw";
  ChooseHead(rank, &tensors, &result.warnings);

  TensorPlan plan(std::move(tensors));
  const BertSizes sizes = MeasureBert(plan, kTrunk);
  const int64_t feature_size = plan.Extent("uniter.img_embeddings.img_linear.weight", 1);
  ExpectBert(kTrunk, sizes, &plan);
  ExpectUniterRegions(kTrunk, sizes, feature_size, &plan);
  plan.ExpectLinear("uniter.pooler.dense.", sizes.hidden, sizes.hidden);
  if (rank) {
    plan.ExpectLinear("rank_output.", sizes.hidden, 1);
  } else {
    plan.ExpectLinear("itm_output.", sizes.hidden, 2);
  }
  ASSIGN_OR_RETURN(result.tensors, plan.Match("uniter"));

  ASSIGN_OR_RETURN(*result.manifest.mutable_transformer(), MakeTransformer(source, options, sizes));
  bundle::v1::TransformerSpec* transformer = result.manifest.mutable_transformer();
  transformer->set_region_feature_size(ToInt32(feature_size));
  transformer->set_max_region_count(ToInt32(options.region_count.value_or(kMaxRegions)));
  *result.manifest.mutable_tokenizer() = MakeTokenizerSpec(
      bundle::v1::TokenizerSpec::WORDPIECE, /*lowercase=*/false,
      options.max_token_count.value_or(std::min<int64_t>(limits::kMaxTokens, sizes.positions)));
  SetUniterRegionRule(options, &result.manifest);
  KeepPretrainingHeads(source, &result);
  return result;
}

}  // namespace

const FamilyConversion uniter::kConversion = {&Recognizes, &Convert,
                                              kHeadsOption | kScoreKindOption | kRegionRuleOptions,
                                              /*field_options=*/{}};

}  // namespace sightline
