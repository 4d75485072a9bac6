// A report of `tables` as one HTML page.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_TABLES_PAGE_H_
#define SIGHTLINE_SERVICES_EVALUATOR_TABLES_PAGE_H_

#include <string>

#include "services/evaluator/tables_report.h"

namespace sightline {

// Of each part its tables, in the layouts that the report has and in ours, and its plots; of many
// parts (languages) the first ones have plots, and the page says so.
std::string TablesPage(const TablesReport& report);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_TABLES_PAGE_H_
