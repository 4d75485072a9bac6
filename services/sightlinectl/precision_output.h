// Reports of what a model computes in each precision, and what lies between them, for people and
// for programs.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_PRECISION_OUTPUT_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_PRECISION_OUTPUT_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "services/sightlinectl/precision_bound.h"
#include "sightline/bundle/v1/precision_report.pb.h"

namespace sightline {

// What was measured, what this CPU lacks, and what the policies pick.
std::string ReportText(const bundle::v1::PrecisionReport& report);

// Of reports as BoundBetween takes them.
std::string BoundText(absl::Span<const bundle::v1::PrecisionReport> reports,
                      const PrecisionBound& bound);

// One object, indented, with a line break at the end.
std::string BoundJson(absl::Span<const bundle::v1::PrecisionReport> reports,
                      const PrecisionBound& bound);

// Agreement over speed of all that they have, as an SVG file.
std::string PrecisionPlot(absl::Span<const bundle::v1::PrecisionReport> reports);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_PRECISION_OUTPUT_H_
