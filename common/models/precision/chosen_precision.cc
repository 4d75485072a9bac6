#include "common/models/precision/chosen_precision.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/kernels/kernel_choice.h"
#include "common/log/log.h"
#include "common/models/precision/calibrate.h"
#include "common/models/precision/report.h"

namespace sightline {
namespace {

using bundle::v1::PrecisionReport;

// Probes of the bundle's own say more than any drawn ones, and cost a deployment nothing.
void LogMeasured(const PrecisionReport& report, absl::Duration elapsed) {
  Log(Severity::kInfo, "precisions measured",
      {{"model", report.model()},
       {"cpu", report.cpu()},
       {"precisions", report.results_size()},
       {"probes",
        report.drawn() ? "drawn: the bundle has none (sightlinectl add-probes)" : "of the bundle"},
       {"elapsed", elapsed}});
}

// Before anything is measured.
absl::Status CheckNamed(const std::string& precision, const Execution& execution) {
  if (precision == kFastest) return absl::OkStatus();
  if (!execution.on_cpu()) {
    const auto& known = kernels::kStackPrecisions;
    if (std::find(std::begin(known), std::end(known), precision) != std::end(known)) {
      return absl::OkStatus();
    }
    return MakeError(reasons::kPrecisionMissing,
                     absl::StrCat("a device does not compute in ", precision, "; name ",
                                  absl::StrJoin(known, " or "), ", or ", kFastest));
  }
  const kernels::CpuFeatures& cpu = kernels::ThisCpu();
  if (kernels::KernelFor(precision, cpu) != nullptr) return absl::OkStatus();
  return MakeError(
      reasons::kPrecisionMissing,
      absl::StrCat("this CPU (", kernels::NamesOf(cpu), ") has no instructions for precision ",
                   precision, "; name another, or ", kFastest));
}

absl::StatusOr<PrecisionReport> FindOrMeasure(const ModelBundle& bundle,
                                              const PrecisionOptions& options,
                                              const Execution& execution, ComputePool* idle,
                                              const CallContext& call) {
  const std::string kept = ReportFolder(options.state_dir);
  ASSIGN_OR_RETURN(const std::string device, DeviceNameOf(execution));
  const ReportKey key = KeyHere(bundle.id, device);
  absl::StatusOr<PrecisionReport> report = FindReport({options.reports, kept}, key);
  if (!absl::IsNotFound(report.status())) return report;
  if (!options.reports.empty()) {
    Log(Severity::kWarning, "compute.reports has no report to take",
        {{"folder", options.reports}, {"file", ReportFile(key)}});
  }
  ComputePool alone(1);
  CalibrationOptions calibration;
  calibration.pool = idle != nullptr ? idle : &alone;
  calibration.execution = execution;
  const absl::Time began = calibration.clock->Now();
  report = Calibrate(bundle, calibration, call);
  if (!report.ok()) return report;
  LogMeasured(*report, calibration.clock->Now() - began);
  if (kept.empty()) return report;
  const absl::Status written = WriteReport(kept, *report);
  if (!written.ok()) {
    Log(Severity::kWarning, "precision report not kept: the next start measures again",
        {{"model", bundle.id}, {"error", written}});
  }
  return report;
}

// What can be said without a report.
absl::StatusOr<PrecisionChoice> WithoutReport(const ModelBundle& bundle,
                                              const PrecisionPolicy& policy,
                                              const absl::Status& why) {
  if (policy.precision == kFastest) {
    Log(Severity::kWarning, "precisions cannot be measured, float32 is taken",
        {{"model", bundle.id}, {"error", why}});
    return PrecisionChoice();
  }
  const bool may_pass = absl::IsUnavailable(why) || absl::IsResourceExhausted(why);
  if (may_pass) return why;
  return MakeError(reasons::kPrecisionMissing,
                   absl::StrCat("model ", bundle.id, " cannot be measured in ", policy.precision,
                                ", so nobody knows whether it agrees: ", why.message()));
}

}  // namespace

absl::StatusOr<PrecisionChoice> ChosenPrecision(const ModelBundle& bundle,
                                                const PrecisionOptions& options,
                                                const Execution& execution, ComputePool* idle,
                                                const CallContext& call) {
  if (options.policy.precision == PrecisionPolicy().precision ||
      !bundle.manifest.has_transformer()) {
    return PrecisionChoice();
  }
  RETURN_IF_ERROR(kernels::CheckCpuLimit());
  RETURN_IF_ERROR(CheckNamed(options.policy.precision, execution));
  const absl::StatusOr<PrecisionReport> report =
      FindOrMeasure(bundle, options, execution, idle, call);
  RETURN_IF_ERROR(call.Check("measuring precisions"));
  if (!report.ok()) return WithoutReport(bundle, options.policy, report.status());
  absl::StatusOr<PrecisionChoice> choice = Choose(options.policy, *report);
  if (choice.ok()) {
    Log(Severity::kInfo, "precision chosen",
        {{"model", bundle.id},
         {"precision", choice->precision},
         {"agreement", choice->agreement},
         {"asked", options.policy.precision}});
  }
  return choice;
}

}  // namespace sightline
