// What a measurement has seen, as `tables --lists` reads it.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_MEASURED_LISTS_H_
#define SIGHTLINE_SERVICES_EVALUATOR_MEASURED_LISTS_H_

#include <vector>

#include "common/evaluation/list_file.h"
#include "common/evaluation/protocol.h"
#include "common/evaluation/relevance.h"
#include "services/evaluator/report.h"
#include "services/evaluator/timed_search_client.h"

namespace sightline {

// Of a report that has measured `specs`, one of each direction, in their order; by the methods that
// both directions have.  `client` has asked what was asked, one query at a time; null: nobody has.
ListFile MeasuredLists(const MeasureReport& report, const std::vector<MeasureSpec>& specs,
                       const Relevance& relevance, const TimedSearchClient* client);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_MEASURED_LISTS_H_
