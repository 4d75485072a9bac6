// Runs a model's probes in every precision that this CPU, or a device, has.
#ifndef SIGHTLINE_COMMON_MODELS_PRECISION_CALIBRATE_H_
#define SIGHTLINE_COMMON_MODELS_PRECISION_CALIBRATE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/base/compute_pool.h"
#include "common/bundle/model_bundle.h"
#include "common/models/execution.h"
#include "sightline/bundle/v1/model_probes.pb.h"
#include "sightline/bundle/v1/precision_report.pb.h"

namespace sightline {

struct CalibrationOptions {
  ComputePool* pool = nullptr;  // of nobody else, for times to mean anything
  Clock* clock = Clock::Real();
  // After which float32 begins no further text.  At least kLeastProbeTexts are scored, against as
  // many items as let it score more, at least kLeastProbeItems.  The other precisions score the
  // same; one that takes three times as long, and five seconds at least, is given up.
  absl::Duration budget = absl::Seconds(5);
  Execution execution;  // but for the precision
};

// The name of the device that `execution` names; "" for the CPU.  Errors as StackDevices::Describe.
absl::StatusOr<std::string> DeviceNameOf(const Execution& execution);

// Measures the model of `bundle`, loaded once for each precision, one after another, on the probes
// of its bundle, else on drawn ones (DrawProbes).  A model without transformer blocks computes in
// float32 alone, and its report has nothing else.  A precision in which the probes fail is left out
// of the report, with a warning.  Errors as LoadModel and ReadModelProbes, and those of float32;
// InvalidArgument if the model does not take its own probes, or they lack what it needs.
absl::StatusOr<bundle::v1::PrecisionReport> Calibrate(const ModelBundle& bundle,
                                                      const CalibrationOptions& options,
                                                      const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_PRECISION_CALIBRATE_H_
