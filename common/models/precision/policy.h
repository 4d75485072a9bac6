// Which precision a model is to compute in.
#ifndef SIGHTLINE_COMMON_MODELS_PRECISION_POLICY_H_
#define SIGHTLINE_COMMON_MODELS_PRECISION_POLICY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sightline/bundle/v1/precision_report.pb.h"

namespace sightline {

// The precision of that name is whichever is the fastest of those that agree; a less precise one
// only where it takes less than 0.8 of the time.
inline constexpr absl::string_view kFastest = "fastest";

struct PrecisionPolicy {
  std::string precision = "float32";  // or another precision's name, or kFastest
  // Least top10_overlap with float32 of every part of the model.
  double least_agreement = 0.98;
};

struct PrecisionOptions {
  PrecisionPolicy policy;
  // Reports that this server made, where they are kept; "" keeps none.
  std::string state_dir;
  // Reports that came with the deployment, looked at first; "" for none.
  std::string reports;
};

struct PrecisionChoice {
  std::string precision = "float32";
  // The least top10_overlap of the model's parts; 1 in float32.
  double agreement = 1;
};

// What `policy` picks by `report`, in which float32 agrees with itself.  FailedPrecondition: the
// named precision agrees less than it must (PRECISION_TOO_FAR), or this CPU lacks it.  A model
// that computes in float32 alone does so under every policy.
absl::StatusOr<PrecisionChoice> Choose(const PrecisionPolicy& policy,
                                       const bundle::v1::PrecisionReport& report);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_PRECISION_POLICY_H_
