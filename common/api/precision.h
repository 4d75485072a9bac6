// What a model's numbers are computed in, as far as answers are held to it.
#ifndef SIGHTLINE_COMMON_API_PRECISION_H_
#define SIGHTLINE_COMMON_API_PRECISION_H_

#include <string>

#include "absl/types/optional.h"

namespace sightline {

// "float32", "bfloat16", "int8" or what a later release may add; empty for servers that do not
// tell.  None: it is not known, or any will do.
using Precision = absl::optional<std::string>;

// Which replicas may answer a call.  Numbers of two precisions are never in one answer.
struct PrecisionWish {
  Precision precision;
  // Whether those of other precisions may answer where there is nobody of this one: of a call
  // that is all of its kind in an answer.
  bool or_any = false;
  std::string model;  // SHA-256 of its bundle; for the choice among replicas, and not sent
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_API_PRECISION_H_
