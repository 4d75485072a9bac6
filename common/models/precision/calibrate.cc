#include "common/models/precision/calibrate.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/cpu_name.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/bundle/model_probes.h"
#include "common/kernels/kernel_choice.h"
#include "common/log/log.h"
#include "common/models/model.h"
#include "common/models/precision/agreement.h"
#include "common/models/precision/draw_probes.h"
#include "common/models/precision/probe_run.h"
#include "common/models/precision/report.h"

namespace sightline {
namespace {

using bundle::v1::ModelProbes;
using bundle::v1::PrecisionReport;
using bundle::v1::PrecisionResult;
using bundle::v1::PrecisionScores;

// What a precision may take, by float32's time: one that takes longer is of no use.
constexpr int kPatience = 3;
// But at least so long: of a small model one moment without the processor is as much.
constexpr absl::Duration kLeastPatience = absl::Seconds(5);
// Of the budget, what encoding lone texts may take.
constexpr int kShareOfTexts = 5;

// A precision, and what computes in it.
struct Computed {
  std::string precision;
  std::string by;
};

// The fastest of each precision, float32 first.
std::vector<Computed> PrecisionsOf(const Execution& execution, const std::string& device) {
  std::vector<Computed> all;
  if (execution.on_cpu()) {
    for (const kernels::ProductKernel* kernel : kernels::FastestKernels(kernels::ThisCpu())) {
      all.push_back({kernel->precision, kernel->instructions});
    }
  } else {
    for (const char* precision : kernels::kStackPrecisions) all.push_back({precision, device});
  }
  return all;
}

class Calibration {
 public:
  Calibration(const ModelBundle& bundle, const CalibrationOptions& options, const CallContext& call)
      : bundle_(bundle), options_(options), call_(call) {}

  absl::StatusOr<PrecisionReport> Run();

 private:
  absl::StatusOr<std::shared_ptr<const Model>> Load(const std::string& precision) const;
  // The first to be measured, which says what there is to measure.
  absl::Status MeasureFloat32(const Computed& computed);
  absl::Status MeasureOther(const Computed& computed, const CallContext& call);
  absl::Status FindProbes(const Model& model);
  absl::StatusOr<PrecisionResult> Scores(ProbeRun& run, const Computed& computed,
                                         absl::Duration budget);
  void CompareWith(const PrecisionResult& reference, PrecisionResult* result) const;
  // Of the first `text_count` texts, among the items that are scored.
  std::vector<std::vector<int>> Relevant(int text_count) const;

  const ModelBundle& bundle_;
  const CalibrationOptions& options_;
  const CallContext& call_;
  ModelProbes probes_;
  ProbeExtent extent_;
  PrecisionReport report_;
};

absl::StatusOr<std::shared_ptr<const Model>> Calibration::Load(const std::string& precision) const {
  ModelOptions options;
  options.pool = options_.pool;
  options.execution = options_.execution;
  options.execution.precision = precision;
  options.execution.passes = nullptr;  // nobody has asked for what is measured
  options.execution.warms_up = false;
  return LoadModel(bundle_, options);
}

absl::Status Calibration::FindProbes(const Model& model) {
  absl::StatusOr<ModelProbes> probes = ReadModelProbes(bundle_);
  if (absl::IsNotFound(probes.status())) {
    report_.set_drawn(true);
    probes = DrawProbes(model, call_);
  }
  RETURN_IF_ERROR(probes.status());
  probes_ = *std::move(probes);
  extent_ = {probes_.items_size(), probes_.texts_size(), probes_.texts_size()};
  report_.set_probes(Sha256Hex(SerializeProbes(probes_)));
  return absl::OkStatus();
}

std::vector<std::vector<int>> Calibration::Relevant(int text_count) const {
  std::vector<std::vector<int>> relevant(text_count);
  for (int text = 0; text < text_count; ++text) {
    for (const int item : probes_.texts(text).relevant_items()) {
      if (item < extent_.items) relevant[text].push_back(item);
    }
  }
  return relevant;
}

absl::StatusOr<PrecisionResult> Calibration::Scores(ProbeRun& run, const Computed& computed,
                                                    absl::Duration budget) {
  PrecisionResult result;
  result.set_precision(computed.precision);
  result.set_kernel(computed.by);
  if (run.scores_pairs()) {
    ASSIGN_OR_RETURN(*result.mutable_pairs(),
                     run.ScorePairs(extent_.items, budget, &extent_.pair_texts));
  }
  if (run.encodes_texts()) {
    ASSIGN_OR_RETURN(*result.mutable_texts(),
                     run.EncodeTexts(extent_.items, budget / kShareOfTexts, &extent_.texts));
  }
  return result;
}

void Calibration::CompareWith(const PrecisionResult& reference, PrecisionResult* result) const {
  const auto compare = [&](const PrecisionScores& float32, PrecisionScores* scores) {
    *scores->mutable_agreement() = Compare(float32.scores(), scores->scores(), extent_.items,
                                           Relevant(scores->scores_size() / extent_.items));
  };
  if (result->has_pairs()) compare(reference.pairs(), result->mutable_pairs());
  if (result->has_texts()) compare(reference.texts(), result->mutable_texts());
}

absl::Status Calibration::MeasureFloat32(const Computed& computed) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model, Load(computed.precision));
  RETURN_IF_ERROR(FindProbes(*model));
  ProbeRun run(*model, probes_, options_.clock, call_);
  if (!run.scores_pairs() && !run.encodes_texts()) {
    return absl::InvalidArgumentError(
        absl::StrCat("model ", model->id(), ": its probes have nothing for what it does"));
  }
  if (run.scores_pairs()) {
    ASSIGN_OR_RETURN(extent_.items, run.ItemsWithin(options_.budget));
  }
  ASSIGN_OR_RETURN(PrecisionResult result, Scores(run, computed, options_.budget));
  CompareWith(result, &result);
  *report_.add_results() = std::move(result);
  report_.set_item_count(extent_.items);
  for (const auto& relevant : Relevant(std::max(extent_.pair_texts, extent_.texts))) {
    report_.set_labelled_text_count(report_.labelled_text_count() + (relevant.empty() ? 0 : 1));
  }
  return absl::OkStatus();
}

absl::Status Calibration::MeasureOther(const Computed& computed, const CallContext& call) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model, Load(computed.precision));
  ProbeRun run(*model, probes_, options_.clock, call);
  ASSIGN_OR_RETURN(PrecisionResult result, Scores(run, computed, absl::InfiniteDuration()));
  CompareWith(report_.results(0), &result);
  *report_.add_results() = std::move(result);
  return absl::OkStatus();
}

absl::StatusOr<PrecisionReport> Calibration::Run() {
  ASSIGN_OR_RETURN(const std::string device, DeviceNameOf(options_.execution));
  const ReportKey key = KeyHere(bundle_.id, device);
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
  const absl::Time began = call_.clock()->Now();
  const std::vector<Computed> precisions = PrecisionsOf(options_.execution, device);
  RETURN_IF_ERROR(MeasureFloat32(precisions.front()));
  const absl::Duration patience =
      std::max(kPatience * (call_.clock()->Now() - began), kLeastPatience);
  for (size_t i = 1; i < precisions.size(); ++i) {
    const CallContext call = call_.WithDeadline(call_.clock()->Now() + patience);
    const absl::Status measured = MeasureOther(precisions[i], call);
    // Whoever waits for all of it decides whether it goes on.
    RETURN_IF_ERROR(call_.Check("measuring precisions"));
    // What a device lacks now it may have in a moment, and a report stays.
    const bool may_pass =
        absl::IsResourceExhausted(measured) || HasReason(measured, reasons::kDeviceFailed);
    if (may_pass) return measured;
    if (measured.ok()) continue;
    Log(Severity::kWarning, "a precision is left out",
        {{"model", bundle_.id}, {"precision", precisions[i].precision}, {"error", measured}});
  }
  return report_;
}

}  // namespace

absl::StatusOr<std::string> DeviceNameOf(const Execution& execution) {
  if (execution.on_cpu()) return std::string();
  ASSIGN_OR_RETURN(const int device, DeviceNumberOf(execution));
  ASSIGN_OR_RETURN(device::DeviceInfo info, execution.devices->Describe(device));
  return std::move(info.name);
}

absl::StatusOr<PrecisionReport> Calibrate(const ModelBundle& bundle,
                                          const CalibrationOptions& options,
                                          const CallContext& call) {
  return Calibration(bundle, options, call).Run();
}

}  // namespace sightline
