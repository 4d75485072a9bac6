// What the cells of all tables say, ours and the papers'.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_TABLES_CELLS_H_
#define SIGHTLINE_SERVICES_EVALUATOR_TABLES_CELLS_H_

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
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

// The columns that name a method, and a method's cells in them.
TableGrid MethodsGrid();
std::vector<std::string> MethodCells(const TablesReport::Ranking& ranking);
void AddColumn(const std::string& title, TableGrid* grid);

// The papers' names: TR finds texts, IR images.
absl::string_view ShortName(Direction direction);
std::array<Direction, 2> DirectionsInOrder(bool image_to_text_first);
// "be:ce replace", "be (mean of 3)", without the depth.
std::string RankingText(const TablesReport::Ranking& ranking);

std::string Percent(double share);  // "50.0"
std::string Mrr(double value);      // "0.500"

// --- times ---

// Behind a time that was not measured as it stands.
inline constexpr char kComputed[] = "*";

bool AnyTime(const TablesReport& report);
std::string Seconds(double seconds, bool computed);
// What encoding takes and then all captions of the part, one after the other; nothing where one of
// the two is not known.
absl::optional<double> SecondsOfAll(const TablesReport& report, size_t part, size_t method);
// Beside recall, where any time is known.
void AddTimeColumns(const TablesReport& report, TableGrid* grid);
void AddTimeCells(const TablesReport& report, size_t part, size_t method,
                  std::vector<std::string>* cells);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_TABLES_CELLS_H_
