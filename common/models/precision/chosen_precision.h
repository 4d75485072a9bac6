// The precision that a server computes a model in: by its policy, of a report that it finds or
// makes.
#ifndef SIGHTLINE_COMMON_MODELS_PRECISION_CHOSEN_PRECISION_H_
#define SIGHTLINE_COMMON_MODELS_PRECISION_CHOSEN_PRECISION_H_

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/bundle/model_bundle.h"
#include "common/models/execution.h"
#include "common/models/precision/policy.h"

namespace sightline {

// On the device that `execution` names.  Without a report of this model, CPU or device, and program
// it is made here (Calibrate) and kept, which takes
// up to some 15 s of `idle`, a pool in which nothing else is to be done; null: of the calling
// thread alone, so that a server that answers meanwhile goes on with all of its pool.  Named
// float32 asks for no report.
//
// Errors are those of Choose.  Where nothing can be measured kFastest is float32, with a warning;
// a named precision is refused (PRECISION_MISSING), or for trouble that may pass with that.
// CANCELLED or DEADLINE_EXCEEDED when `call` ends.
absl::StatusOr<PrecisionChoice> ChosenPrecision(const ModelBundle& bundle,
                                                const PrecisionOptions& options,
                                                const Execution& execution, ComputePool* idle,
                                                const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_PRECISION_CHOSEN_PRECISION_H_
