// OSCAR's golden folders.
#include <memory>
#include <string>
#include <vector>

#include "common/base/status_macros.h"
#include "tests/parity/golden_families.h"
#include "tests/parity/golden_model.h"
#include "tests/parity/golden_network.h"

namespace sightline {

namespace {

absl::StatusOr<std::unique_ptr<GoldenModel>> ConvertOscar(const GoldenCase& golden,
                                                          const std::string& score_kind) {
  ASSIGN_OR_RETURN(const int size, golden.ConfigInt("vocab_size"));
  ASSIGN_OR_RETURN(const int cls_id, golden.ConfigInt("cls_id"));
  ConvertOptions options;
  options.family = "oscar";
  options.use = "joint";
  options.score_kind = score_kind;
  return GoldenModel::Convert(golden, options, GoldenVocabulary(size, cls_id, cls_id + 1));
}

}  // namespace

absl::StatusOr<GoldenSubject> OpenOscar(const GoldenCase& golden) {
  GoldenSubject subject;
  ASSIGN_OR_RETURN(subject.inputs, ReadGoldenInputs(golden, /*with_boxes=*/false));
  ASSIGN_OR_RETURN(subject.model, ConvertOscar(golden, "softmax_match"));
  return subject;
}

absl::Status CompareOscar(const GoldenCase& golden, GoldenComparison* comparison) {
  ASSIGN_OR_RETURN(const GoldenSubject subject, OpenOscar(golden));
  const auto& [inputs, model] = subject;
  RETURN_IF_ERROR(CompareEmbeddings(golden, model->model(), inputs, "cosine", comparison));
  ASSIGN_OR_RETURN(const std::vector<float> logits, HeadOutputs(model->model(), inputs));
  const int64_t count = static_cast<int64_t>(logits.size()) / 2;
  RETURN_IF_ERROR(comparison->Add(golden, "classifier_logits", {count, 2}, logits));
  ASSIGN_OR_RETURN(const auto images, PreparedFeatures(model->model(), inputs));
  ASSIGN_OR_RETURN(const std::vector<float> scores,
                   ScoreGoldenPairs(model->model(), inputs.texts, images));
  return comparison->Add(golden, "match_probability", {count}, scores);
}

absl::Status CompareStoredOscar(const GoldenCase& golden, Dtype dtype,
                                GoldenComparison* comparison) {
  ASSIGN_OR_RETURN(const GoldenInputs inputs, ReadGoldenInputs(golden, /*with_boxes=*/false));
  ASSIGN_OR_RETURN(const auto model, ConvertOscar(golden, "logit_match"));
  return CompareStoredLogits(golden, *model, inputs, "classifier_logits", dtype, comparison);
}

}  // namespace sightline
