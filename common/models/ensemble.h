// The family "ensemble": a cross-encoder made of cross-encoders, whose score is the mean of
// its members' scores as probabilities (ToProbability; of sigmoids the scores themselves).
// SGRAF is one of a SAF and an SGR.
//
// Members lie inside the bundle, at `members/<i>/`; each makes item features of its own, which
// travel together, tensor t of member i as "m<i>_<t>".
#ifndef SIGHTLINE_COMMON_MODELS_ENSEMBLE_H_
#define SIGHTLINE_COMMON_MODELS_ENSEMBLE_H_

#include "common/models/family.h"

namespace sightline {

// The registry's line.
Family EnsembleFamily();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_ENSEMBLE_H_
