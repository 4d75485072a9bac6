// A report's tables as papers print theirs.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_LAYOUT_GRIDS_H_
#define SIGHTLINE_SERVICES_EVALUATOR_LAYOUT_GRIDS_H_

#include <vector>

#include "services/evaluator/paper_layouts.h"
#include "services/evaluator/tables_cells.h"
#include "services/evaluator/tables_report.h"

namespace sightline {

// One grid for each part, where the layout is of parts; else one.
std::vector<TableGrid> LayoutGrids(const PaperLayout& layout, const TablesReport& report);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_LAYOUT_GRIDS_H_
