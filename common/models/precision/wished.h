// What a server checks of the precision that a request counts on.
#ifndef SIGHTLINE_COMMON_MODELS_PRECISION_WISHED_H_
#define SIGHTLINE_COMMON_MODELS_PRECISION_WISHED_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/api/precision.h"
#include "common/base/error_details.h"

namespace sightline {

// FailedPrecondition (PRECISION_CHANGED) if it must be another one than the model is `computed`
// in.
inline absl::Status CheckPrecision(const PrecisionWish& wish, const std::string& computed) {
  if (wish.or_any || !wish.precision.has_value() || *wish.precision == computed) {
    return absl::OkStatus();
  }
  return MakeError(reasons::kPrecisionChanged,
                   absl::StrCat("the model is computed in '", computed, "' here, not in '",
                                *wish.precision, "'; ask for the server's status again"));
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_PRECISION_WISHED_H_
