// The precision that a server computes a model in: by its policy, of a report that it finds or
// makes.
#ifndef SIGHTLINE_COMMON_MODELS_PRECISION_CHOSEN_PRECISION_H_
#define SIGHTLINE_COMMON_MODELS_PRECISION_CHOSEN_PRECISION_H_

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/bundle/model_bundle.h"
#include "common/models/precision/policy.h"

namespace sightline {

// Without a report of this model, CPU and program it is made here (Calibrate), which takes up to
// some 15 s, and kept.  Named float32 asks for none.  Errors as those of Calibrate and Choose.
absl::StatusOr<PrecisionChoice> ChosenPrecision(const ModelBundle& bundle,
                                                const PrecisionOptions& options, ComputePool* pool,
                                                const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_PRECISION_CHOSEN_PRECISION_H_
