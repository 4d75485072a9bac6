// How far answers of one fleet can lie apart whose replicas compute on other CPUs, or in other
// precisions.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_PRECISION_BOUND_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_PRECISION_BOUND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "sightline/bundle/v1/precision_report.pb.h"

namespace sightline {

enum class ModelPart { kPairs, kTexts };
const char* PartName(ModelPart part);
// Null where the result has none.
const bundle::v1::PrecisionScores* ScoresOf(const bundle::v1::PrecisionResult& result,
                                            ModelPart part);

// A precision on a CPU: places among the reports, and among the results of that one.
struct PrecisionOnCpu {
  int report = 0;
  int result = 0;
};

// Between two of them, in one part of the model.
struct PrecisionDistance {
  ModelPart part = ModelPart::kPairs;
  PrecisionOnCpu a, b;
  double greatest_difference = 0;  // of two raw scores
  double top10_overlap = 1;        // mean of the texts
  double kendall = 1;
  // Of the text in which it is least.  None where scores could not be compared one by one: then
  // all of the above are no measure but a bound, as each lies from float32, and take it that
  // float32 is the same on both CPUs and the inputs stand for each other.
  absl::optional<double> least_top10_overlap;
};

// Of one precision and part, over all CPUs that have it: the least, and where that is.
struct WorstAgreement {
  ModelPart part = ModelPart::kPairs;
  std::string precision;
  double top10_overlap = 1;
  double kendall = 1;
  double greatest_difference = 0;
  int report = 0;  // of the least top10_overlap
};

struct PrecisionBound {
  std::vector<WorstAgreement> worst;
  std::vector<PrecisionDistance> distances;  // of every two, part by part
};

// Of reports that are sound (ParseReport), two at least.  InvalidArgument unless they are all of
// one model and program.  Scores are compared where the reports have the same probes, on the texts
// that both have scored.
absl::StatusOr<PrecisionBound> BoundBetween(absl::Span<const bundle::v1::PrecisionReport> reports);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_PRECISION_BOUND_H_
