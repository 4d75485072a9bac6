// SGRAF: a projection of regions, a recurrent net over words, and a module (SAF or SGR)
// over their alignments; with the published global node or T-EMDE's coders.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/models/convert/family_conversions.h"
#include "common/models/convert/manifest_parts.h"
#include "common/models/convert/tensor_plan.h"

namespace sightline {
namespace {

constexpr int64_t kRegions = 36;
constexpr int64_t kPaperCells = 8;  // K of T-EMDE for both of the paper's data sets

struct Sizes {
  int64_t features, embedding, vocabulary, word, similarity, regions, steps;
  bool saf = false;
  bool emde = false;
};

// Of the BatchNorm of `prefix`, with the statistics that it uses at inference.
void ExpectBatchNorm(const std::string& prefix, int64_t size, TensorPlan* plan) {
  plan->ExpectNorm(prefix, size);
  plan->Expect(prefix + "running_mean", {size});
  plan->Expect(prefix + "running_var", {size});
}

void ExpectEncoders(const Sizes& sizes, TensorPlan* plan) {
  const int64_t gates = 3 * sizes.embedding;
  plan->ExpectLinear("img_enc.fc.", sizes.features, sizes.embedding);
  plan->Expect("txt_enc.embed.weight", {sizes.vocabulary, sizes.word});
  for (const char* direction : {"", "_reverse"}) {
    const std::string rnn = "txt_enc.cap_rnn.";
    plan->Expect(absl::StrCat(rnn, "weight_ih_l0", direction), {gates, sizes.word});
    plan->Expect(absl::StrCat(rnn, "weight_hh_l0", direction), {gates, sizes.embedding});
    plan->Expect(absl::StrCat(rnn, "bias_ih_l0", direction), {gates});
    plan->Expect(absl::StrCat(rnn, "bias_hh_l0", direction), {gates});
  }
}

void ExpectGlobalNode(const Sizes& sizes, TensorPlan* plan) {
  for (const char* side : {"sim_enc.v_global_w.", "sim_enc.t_global_w."}) {
    const std::string node = side;
    plan->ExpectLinear(node + "embedding_local.0.", sizes.embedding, sizes.embedding);
    plan->ExpectLinear(node + "embedding_global.0.", sizes.embedding, sizes.embedding);
    plan->ExpectLinear(node + "embedding_common.0.", sizes.embedding, 1);
  }
  // Of regions alone, and each region's place is a channel.
  ExpectBatchNorm("sim_enc.v_global_w.embedding_local.1.", sizes.regions, plan);
  ExpectBatchNorm("sim_enc.v_global_w.embedding_global.1.", sizes.embedding, plan);
  plan->ExpectLinear("sim_enc.sim_tranglo_w.", sizes.embedding, sizes.similarity);
}

void ExpectEmde(const Sizes& sizes, TensorPlan* plan) {
  const int64_t coded = plan->Extent("sim_enc.t_emde.coder.l1.weight", 0);
  for (const char* side : {"sim_enc.t_emde.coder.", "sim_enc.v_emde.coder."}) {
    const std::string coder = side;
    plan->ExpectLinear(coder + "l1.", sizes.embedding, coded);
    ExpectBatchNorm(coder + "bn1.", coded, plan);
    plan->Expect(coder + "centroids", {coded});
    plan->Expect(coder + "temp", {1});
  }
  plan->ExpectLinear("sim_enc.emde_fuse.", plan->Extent("sim_enc.emde_fuse.weight", 1),
                     sizes.similarity);
}

void ExpectModule(const Sizes& sizes, TensorPlan* plan) {
  const int64_t similarity = sizes.similarity;
  plan->ExpectLinear("sim_enc.sim_tranloc_w.", sizes.embedding, similarity);
  plan->ExpectLinear("sim_enc.sim_eval_w.", similarity, 1);
  if (sizes.saf) {
    plan->ExpectLinear("sim_enc.SAF_module.attn_sim_w.", similarity, 1);
    ExpectBatchNorm("sim_enc.SAF_module.bn.", 1, plan);
    return;
  }
  for (int64_t i = 0; i < std::max<int64_t>(sizes.steps, 1); ++i) {
    const std::string step = absl::StrCat("sim_enc.SGR_module.", i, ".");
    for (const char* name : {"graph_query_w.", "graph_key_w.", "sim_graph_w."}) {
      plan->ExpectLinear(step + name, similarity, similarity);
    }
  }
}

Sizes Measure(const TensorPlan& plan, const Checkpoint& source, const ConvertOptions& options) {
  Sizes sizes;
  sizes.embedding = plan.Extent("img_enc.fc.weight", 0);
  sizes.features = plan.Extent("img_enc.fc.weight", 1);
  sizes.vocabulary = plan.Extent("txt_enc.embed.weight", 0);
  sizes.word = plan.Extent("txt_enc.embed.weight", 1);
  sizes.similarity = plan.Extent("sim_enc.sim_tranloc_w.weight", 0);
  sizes.steps = plan.CountIndexed("sim_enc.SGR_module.");
  sizes.saf = plan.Has("sim_enc.SAF_module.attn_sim_w.weight");
  sizes.emde = plan.Has("sim_enc.emde_fuse.weight");
  // T-EMDE has no norm over regions that would tell.
  sizes.regions = sizes.emde
                      ? options.region_count.value_or(source.Integer("regions").value_or(kRegions))
                      : plan.Extent("sim_enc.v_global_w.embedding_local.1.weight", 0);
  return sizes;
}

// N, K and D: shapes tell N * K and N * K * D.
absl::Status SetEmde(const TensorPlan& plan, const Checkpoint& source,
                     const ConvertOptions& options, Conversion* result) {
  const int64_t coded = plan.Extent("sim_enc.t_emde.coder.l1.weight", 0);
  const int64_t sketch = plan.Extent("sim_enc.emde_fuse.weight", 1) / 2;
  absl::optional<int64_t> cells = options.cell_count;
  if (!cells.has_value()) cells = source.Integer("emde_k");
  if (!cells.has_value()) {
    cells = kPaperCells;
    result->warnings.push_back(
        "nothing tells K, the cells of a T-EMDE partition; the paper's 8 is taken (--cells)");
  }
  if (*cells < 1 || sketch < 1 || sketch % *cells != 0 || coded % sketch != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a T-EMDE whose coder has ", coded, " numbers and whose two sketches have ",
                     2 * sketch, " cannot have ", *cells, " cells a partition; give --cells"));
  }
  bundle::v1::EmdeSpec* emde = result->manifest.mutable_sgraf()->mutable_emde();
  emde->set_partition_count(ToInt32(sketch / *cells));
  emde->set_cell_count(ToInt32(*cells));
  emde->set_cell_size(ToInt32(coded / sketch));
  return absl::OkStatus();
}

absl::StatusOr<bool> Recognizes(const Checkpoint& source, const ConvertOptions&) {
  return HasPrefix(source.tensors(), "sim_enc.sim_tranloc_w.");
}

absl::StatusOr<Conversion> Convert(const Checkpoint& source, const ConvertOptions& options) {
  Conversion result;
  ASSIGN_OR_RETURN(NamedTensors tensors, Renamed(source.tensors(), [](absl::string_view name) {
                     return absl::EndsWith(name, ".num_batches_tracked") ? "" : std::string(name);
                   }));
  for (auto& [name, view] : tensors) {
    // T-EMDE's temperature may be saved as a scalar.
    if (absl::EndsWith(name, "_emde.coder.temp") && view.shape.empty()) view.shape = {1};
  }
  TensorPlan plan(std::move(tensors));
  const Sizes sizes = Measure(plan, source, options);
  ExpectEncoders(sizes, &plan);
  ExpectModule(sizes, &plan);
  if (sizes.emde) {
    ExpectEmde(sizes, &plan);
  } else {
    ExpectGlobalNode(sizes, &plan);
  }
  ASSIGN_OR_RETURN(result.tensors, plan.Match("sgraf"));

  bundle::v1::ModelBundleManifest* manifest = &result.manifest;
  manifest->set_description(
      absl::StrCat("SGRAF, ", sizes.saf ? "SAF" : "SGR", sizes.emde ? " with T-EMDE" : ""));
  bundle::v1::SgrafSpec* spec = manifest->mutable_sgraf();
  spec->set_module(sizes.saf ? bundle::v1::SgrafSpec::SAF : bundle::v1::SgrafSpec::SGR);
  spec->set_vocabulary_size(ToInt32(sizes.vocabulary));
  spec->set_word_size(ToInt32(sizes.word));
  spec->set_embedding_size(ToInt32(sizes.embedding));
  spec->set_similarity_size(ToInt32(sizes.similarity));
  spec->set_region_feature_size(ToInt32(sizes.features));
  spec->set_region_count(ToInt32(sizes.regions));
  if (!sizes.saf) spec->set_step_count(ToInt32(sizes.steps));
  if (sizes.emde) {
    RETURN_IF_ERROR(SetEmde(plan, source, options, &result));
  } else if (options.cell_count.has_value()) {
    return absl::InvalidArgumentError("--cells is T-EMDE's, which the checkpoint has not");
  }
  if (options.region_count.value_or(sizes.regions) != sizes.regions) {
    return absl::InvalidArgumentError(
        absl::StrCat("--regions says ", *options.region_count, ", but the batch norm over regions ",
                     "has ", sizes.regions, " channels: the model reads just as many"));
  }
  *manifest->mutable_tokenizer() =
      MakeTokenizerSpec(bundle::v1::TokenizerSpec::WORD_LIST, /*lowercase=*/false,
                        // The reference cuts no caption.
                        options.max_token_count.value_or(limits::kMaxTokens));
  RETURN_IF_ERROR(SetCrossEncoder(options.score_kind, {"sigmoid"}, manifest));
  return result;
}

constexpr FieldOption kFields[] = {
    {"sgraf.region_count", "--regions"},
    {"sgraf.emde.partition_count", "--cells"},
    {"sgraf.emde.cell_count", "--cells"},
};

}  // namespace

const FamilyConversion sgraf::kConversion = {&Recognizes, &Convert, kScoreKindOption | kCellsOption,
                                             kFields};

}  // namespace sightline
