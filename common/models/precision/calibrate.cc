#include "common/models/precision/calibrate.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/cpu_name.h"
#include "common/base/status_macros.h"
#include "common/bundle/model_probes.h"
#include "common/kernels/kernel_choice.h"
#include "common/models/model.h"
#include "common/models/precision/agreement.h"
#include "common/models/precision/draw_probes.h"
#include "common/models/precision/report.h"

namespace sightline {
namespace {

using bundle::v1::ModelProbes;
using bundle::v1::PrecisionReport;
using bundle::v1::PrecisionResult;
using bundle::v1::PrecisionScores;

absl::Duration Median(std::vector<absl::Duration> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

// A model's probes in the forms in which its parts take them.
class ProbeRun {
 public:
  ProbeRun(const Model& model, const ModelProbes& probes, Clock* clock, const CallContext& call)
      : model_(model), probes_(probes), clock_(clock), call_(call) {}

  bool scores_pairs() const {
    return model_.cross_encoder() != nullptr && probes_.items(0).features_size() > 0;
  }
  bool encodes_texts() const {
    return model_.text_encoder() != nullptr && probes_.items(0).embedding_size() > 0;
  }

  // Scores texts until `*text_count` are, or the budget is spent; says how many were.
  absl::StatusOr<PrecisionScores> ScorePairs(absl::Duration budget, int* text_count);
  absl::StatusOr<PrecisionScores> ScoreTexts(int text_count);

 private:
  absl::StatusOr<std::vector<float>> PairsOf(const std::string& text);
  absl::StatusOr<std::vector<float>> Encode(const std::string& text);

  const Model& model_;
  const ModelProbes& probes_;
  Clock* const clock_;
  const CallContext& call_;
  std::vector<ItemFeatures> items_;
};

absl::StatusOr<std::vector<float>> ProbeRun::PairsOf(const std::string& text) {
  ASSIGN_OR_RETURN(const ItemFeatures features, TextFeatures(model_, text));
  std::vector<ScoringPair> pairs;
  for (const ItemFeatures& item : items_) pairs.push_back({&features, &item});
  return model_.cross_encoder()->Score(pairs, call_);
}

absl::StatusOr<PrecisionScores> ProbeRun::ScorePairs(absl::Duration budget, int* text_count) {
  for (const auto& item : probes_.items()) items_.push_back(FeaturesOf(item));
  // The first pass allocates.
  RETURN_IF_ERROR(PairsOf(probes_.texts(0).text()).status());
  PrecisionScores scores;
  std::vector<absl::Duration> times;
  const absl::Time began = clock_->Now();
  for (int text = 0; text < *text_count; ++text) {
    const absl::Time before = clock_->Now();
    if (text >= kLeastProbeTexts && before - began > budget) {
      *text_count = text;
      break;
    }
    ASSIGN_OR_RETURN(const std::vector<float> of_text, PairsOf(probes_.texts(text).text()));
    times.push_back(clock_->Now() - before);
    scores.mutable_scores()->Add(of_text.begin(), of_text.end());
  }
  scores.set_seconds(absl::ToDoubleSeconds(Median(std::move(times))) / probes_.items_size());
  return scores;
}

absl::StatusOr<std::vector<float>> ProbeRun::Encode(const std::string& text) {
  ASSIGN_OR_RETURN(const Tokens tokens, model_.Tokenize(text));
  ASSIGN_OR_RETURN(const EmbeddingMatrix embedding,
                   model_.text_encoder()->Encode(absl::MakeConstSpan(&tokens, 1), call_));
  const auto row = embedding.row(0);
  std::vector<float> scores;
  for (const auto& item : probes_.items()) {
    if (item.embedding_size() != static_cast<int>(row.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("model ", model_.id(), ": its probes' embeddings have ",
                       item.embedding_size(), " numbers, its own ", row.size()));
    }
    double product = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      product += static_cast<double>(row[i]) * item.embedding(static_cast<int>(i));
    }
    scores.push_back(static_cast<float>(product));
  }
  return scores;
}

absl::StatusOr<PrecisionScores> ProbeRun::ScoreTexts(int text_count) {
  RETURN_IF_ERROR(Encode(probes_.texts(0).text()).status());
  PrecisionScores scores;
  std::vector<absl::Duration> times;
  for (int text = 0; text < text_count; ++text) {
    const absl::Time before = clock_->Now();
    ASSIGN_OR_RETURN(const std::vector<float> of_text, Encode(probes_.texts(text).text()));
    times.push_back(clock_->Now() - before);
    scores.mutable_scores()->Add(of_text.begin(), of_text.end());
  }
  scores.set_seconds(absl::ToDoubleSeconds(Median(std::move(times))));
  return scores;
}

class Calibration {
 public:
  Calibration(const ModelBundle& bundle, const CalibrationOptions& options, const CallContext& call)
      : bundle_(bundle), options_(options), call_(call) {}

  absl::StatusOr<PrecisionReport> Run();

 private:
  absl::Status Measure(const std::string& precision, const std::string& kernel);
  absl::Status FindProbes(const Model& model);
  std::vector<std::vector<int>> Relevant() const;

  const ModelBundle& bundle_;
  const CalibrationOptions& options_;
  const CallContext& call_;
  ModelProbes probes_;
  int text_count_ = 0;  // that are scored
  PrecisionReport report_;
};

absl::Status Calibration::FindProbes(const Model& model) {
  absl::StatusOr<ModelProbes> probes = ReadModelProbes(bundle_);
  if (absl::IsNotFound(probes.status())) {
    report_.set_drawn(true);
    probes = DrawProbes(model, call_);
  }
  RETURN_IF_ERROR(probes.status());
  probes_ = *std::move(probes);
  text_count_ = probes_.texts_size();
  report_.set_probes(Sha256Hex(SerializeProbes(probes_)));
  report_.set_item_count(probes_.items_size());
  return absl::OkStatus();
}

std::vector<std::vector<int>> Calibration::Relevant() const {
  std::vector<std::vector<int>> relevant;
  for (int text = 0; text < text_count_; ++text) {
    const auto& items = probes_.texts(text).relevant_items();
    relevant.emplace_back(items.begin(), items.end());
  }
  return relevant;
}

absl::Status Calibration::Measure(const std::string& precision, const std::string& kernel) {
  ModelOptions options;
  options.pool = options_.pool;
  options.execution.precision = precision;
  ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model, LoadModel(bundle_, options));
  if (report_.results_size() == 0) RETURN_IF_ERROR(FindProbes(*model));
  ProbeRun run(*model, probes_, options_.clock, call_);
  PrecisionResult& result = *report_.add_results();
  result.set_precision(precision);
  result.set_kernel(kernel);
  if (!run.scores_pairs() && !run.encodes_texts()) {
    return absl::InvalidArgumentError(
        absl::StrCat("model ", model->id(), ": its probes have nothing for what it does"));
  }
  const PrecisionResult& reference = report_.results(0);
  const auto compare = [&](const PrecisionScores& float32, PrecisionScores* scores) {
    *scores->mutable_agreement() =
        Compare(float32.scores(), scores->scores(), probes_.items_size(), Relevant());
  };
  if (run.scores_pairs()) {
    // Others are faster than float32, and score as many.
    const bool first = report_.results_size() == 1;
    ASSIGN_OR_RETURN(
        *result.mutable_pairs(),
        run.ScorePairs(first ? options_.budget : absl::InfiniteDuration(), &text_count_));
    compare(reference.pairs(), result.mutable_pairs());
  }
  if (run.encodes_texts()) {
    ASSIGN_OR_RETURN(*result.mutable_texts(), run.ScoreTexts(text_count_));
    compare(reference.texts(), result.mutable_texts());
  }
  return absl::OkStatus();
}

absl::StatusOr<PrecisionReport> Calibration::Run() {
  const ReportKey key = KeyHere(bundle_.id);
  report_.set_format_version(1);
  report_.set_model(key.model);
  report_.set_cpu(key.cpu);
  report_.set_program(key.program);
  report_.set_cpu_name(CpuName());
  report_.set_thread_count(options_.pool->threads());
  if (!bundle_.manifest.has_transformer()) {
    report_.add_results()->set_precision("float32");
    return report_;
  }
  std::string last;
  for (const kernels::ProductKernel* kernel : kernels::KernelsOf(kernels::ThisCpu())) {
    if (kernel->precision == last) continue;  // a slower one of the same precision
    last = kernel->precision;
    RETURN_IF_ERROR(Measure(kernel->precision, kernel->instructions));
  }
  for (const auto& relevant : Relevant()) {
    report_.set_labelled_text_count(report_.labelled_text_count() + (relevant.empty() ? 0 : 1));
  }
  return report_;
}

}  // namespace

absl::StatusOr<PrecisionReport> Calibrate(const ModelBundle& bundle,
                                          const CalibrationOptions& options,
                                          const CallContext& call) {
  return Calibration(bundle, options, call).Run();
}

}  // namespace sightline
