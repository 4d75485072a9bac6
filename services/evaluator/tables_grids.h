// The tables of a report as cells, which the terminal and the page print alike.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_TABLES_GRIDS_H_
#define SIGHTLINE_SERVICES_EVALUATOR_TABLES_GRIDS_H_

#include <array>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/config/table.h"
#include "services/evaluator/tables_report.h"

namespace sightline {

// Methods are rows; the first column is words, the others are numbers.
struct TableGrid {
  std::vector<Table::Column> columns;
  std::vector<std::vector<std::string>> rows;
};

// For a terminal, indented.
std::string GridText(const TableGrid& grid);

// "coco_5k, en, mean of 5 folds: 5 000 captions look for 1 000 images, ...", without an end.
std::string PartTitle(const TablesReport& report, size_t part);

// R@K of both directions, AR and rsum, with intervals; times, where they are known.
TableGrid RecallGrid(const TablesReport& report, size_t part);
// MRR, MAP, NDCG and ranks.
TableGrid OtherGrid(const TablesReport& report, size_t part);
// AR of each language, and Meta-Ave.
TableGrid LanguageGrid(const TablesReport& report);

// The report's cells in a paper's layout: one table for each part, or one for all languages, or of
// times.
std::vector<TableGrid> LayoutGrids(const PaperLayout& layout, const TablesReport& report);

// What the times are of, and what their stars say; empty where no time is known.
std::string TimeNote(const TablesReport& report);

// --- for all that tells of a report ---

// The papers' names: TR finds texts, IR images.
absl::string_view ShortName(Direction direction);
std::array<Direction, 2> DirectionsInOrder(bool image_to_text_first);
// "be:ce replace", "be (mean of 3)", without the depth.
std::string RankingText(const TablesReport::Ranking& ranking);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_TABLES_GRIDS_H_
