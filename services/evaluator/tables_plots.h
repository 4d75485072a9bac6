// The plots of a report's page: recall against depth, against lambda, and against time.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_TABLES_PLOTS_H_
#define SIGHTLINE_SERVICES_EVALUATOR_TABLES_PLOTS_H_

#include <vector>

#include "common/plot/plot.h"
#include "services/evaluator/tables_report.h"

namespace sightline {

// Of one part: of each direction the first and the last of the table's R@K over the candidates
// that are reranked, a line for each policy and combination, then over lambda, a line for each
// policy, sum and depth; both with intervals, and with those rankings flat that have no such thing.
// Nothing where there is only one depth or lambda.  Then the first R@K of text→image over the time
// of a query, where times are known: a cross, if it was not measured as it stands.
std::vector<Plot> TablesPlots(const TablesReport& report, size_t part);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_TABLES_PLOTS_H_
