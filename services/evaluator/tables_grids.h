// The tables of a report as we print them, on the terminal and on the page alike.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_TABLES_GRIDS_H_
#define SIGHTLINE_SERVICES_EVALUATOR_TABLES_GRIDS_H_

#include <cstddef>
#include <string>

#include "services/evaluator/tables_cells.h"
#include "services/evaluator/tables_report.h"

namespace sightline {

// "coco_5k, en, mean of 5 folds: 5 000 captions look for 1 000 images, ...", without an end.
std::string PartTitle(const TablesReport& report, size_t part);

// R@K of both directions, AR and rsum, with intervals; times, where they are known.
TableGrid RecallGrid(const TablesReport& report, size_t part);
// MRR, MAP, NDCG and ranks.
TableGrid OtherGrid(const TablesReport& report, size_t part);
// AR of each language, and Meta-Ave.
TableGrid LanguageGrid(const TablesReport& report);

// What the times are of, and what their stars say; empty where no time is known.
std::string TimeNote(const TablesReport& report);
// What lists end before; empty where each has all that is right.
std::string ListsNote(const TablesReport& report);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_TABLES_GRIDS_H_
