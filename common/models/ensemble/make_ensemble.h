// A cross-encoder made of cross-encoders.
#ifndef SIGHTLINE_COMMON_MODELS_ENSEMBLE_MAKE_ENSEMBLE_H_
#define SIGHTLINE_COMMON_MODELS_ENSEMBLE_MAKE_ENSEMBLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/model_bundle.h"

namespace sightline {

// Writes a bundle of family "ensemble" below `store`: the mean of the scores, as
// probabilities, of `members`, 2 to 8 bundles of `members_store` by id.  Their files are copied to
// members/0/, members/1/ and so on, in the order given; what they embed with is left out.
//
// InvalidArgument: another number of members, one twice, one that is no cross-encoder, an
// ensemble itself, one that reads pixels, or members that read regions of different widths.
absl::StatusOr<ModelBundle> MakeEnsemble(absl::string_view members_store,
                                         const std::vector<std::string>& members,
                                         absl::string_view store, absl::string_view description);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_ENSEMBLE_MAKE_ENSEMBLE_H_
