// Probes for models whose bundle has none.
#ifndef SIGHTLINE_COMMON_MODELS_PRECISION_DRAW_PROBES_H_
#define SIGHTLINE_COMMON_MODELS_PRECISION_DRAW_PROBES_H_

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/models/model.h"
#include "sightline/bundle/v1/model_probes.pb.h"

namespace sightline {

// 24 items and 24 texts of a few English words, the same for every model; pictures are coloured
// squares where `model` finds regions itself, else noise in the place of regions.  What models
// make of that lies closer together than what they make of true pictures, so orders agree less:
// whoever passes on these passes.  An encoder without images has texts for items.  Errors as those
// of the model.
absl::StatusOr<bundle::v1::ModelProbes> DrawProbes(const Model& model, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_PRECISION_DRAW_PROBES_H_
