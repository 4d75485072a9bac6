#include "common/models/precision/policy.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error_details.h"
#include "common/base/error_reasons.h"

namespace sightline {
namespace {

using bundle::v1::PrecisionReport;
using bundle::v1::PrecisionResult;

double AgreementOf(const PrecisionResult& result) {
  double least = 1;
  if (result.has_pairs()) least = std::min(least, result.pairs().agreement().top10_overlap());
  if (result.has_texts()) least = std::min(least, result.texts().agreement().top10_overlap());
  return least;
}

// A reranker's time is spent on pairs, whatever else it can.
double SecondsOf(const PrecisionResult& result) {
  return result.has_pairs() ? result.pairs().seconds() : result.texts().seconds();
}

// Of the time of those that are more precise, what a precision may take to be worth it: times of
// one machine stray by a tenth, and its replicas should choose alike.
constexpr double kWorthIt = 0.8;

PrecisionChoice Fastest(const PrecisionReport& report, double least_agreement) {
  const PrecisionResult* best = &report.results(0);
  for (const PrecisionResult& result : report.results()) {
    if (AgreementOf(result) >= least_agreement && SecondsOf(result) < kWorthIt * SecondsOf(*best)) {
      best = &result;
    }
  }
  return {best->precision(), AgreementOf(*best)};
}

absl::Status Lacking(absl::string_view precision, const PrecisionReport& report) {
  std::vector<absl::string_view> known;
  for (const PrecisionResult& result : report.results()) known.push_back(result.precision());
  return MakeError(
      reasons::kPrecisionMissing,
      absl::StrCat("model ", report.model(), " was not measured in ", precision, " on this CPU (",
                   report.cpu(), "), but in ", absl::StrJoin(known, ", "),
                   ": it failed, or was too slow to be of use; remove the report to "
                   "measure again"));
}

}  // namespace

absl::StatusOr<PrecisionChoice> Choose(const PrecisionPolicy& policy,
                                       const PrecisionReport& report) {
  // Nothing was there to choose from.
  if (report.results_size() == 1 && !report.results(0).has_pairs() &&
      !report.results(0).has_texts()) {
    return PrecisionChoice();
  }
  if (policy.precision == kFastest) return Fastest(report, policy.least_agreement);
  for (const PrecisionResult& result : report.results()) {
    if (result.precision() != policy.precision) continue;
    const double agreement = AgreementOf(result);
    if (agreement >= policy.least_agreement) return PrecisionChoice{policy.precision, agreement};
    return MakeError(
        reasons::kPrecisionTooFar,
        absl::StrCat("model ", report.model(), " in ", policy.precision, " agrees with float32 in ",
                     agreement, " of the ten best, less than least_agreement ",
                     policy.least_agreement, "; take another precision, or lower that"));
  }
  return Lacking(policy.precision, report);
}

}  // namespace sightline
