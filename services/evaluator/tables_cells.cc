#include "services/evaluator/tables_cells.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sightline {

std::string GridText(const TableGrid& grid) {
  Table table(grid.columns);
  for (const std::vector<std::string>& row : grid.rows) table.AddRow(row);
  return table.ToString(/*indent=*/2);
}

TableGrid MethodsGrid() {
  TableGrid grid;
  grid.columns = {{"method"}, {"depth", true}};
  return grid;
}

void AddColumn(const std::string& title, TableGrid* grid) {
  grid->columns.push_back({title, true});
}

std::vector<std::string> MethodCells(const TablesReport::Ranking& ranking) {
  return {RankingText(ranking),
          ranking.method.depth == 0 ? "-" : absl::StrCat(ranking.method.depth)};
}

absl::string_view ShortName(Direction direction) {
  return direction == Direction::kImageToText ? "TR" : "IR";
}

std::array<Direction, 2> DirectionsInOrder(bool image_to_text_first) {
  if (image_to_text_first) return {Direction::kImageToText, Direction::kTextToImage};
  return {Direction::kTextToImage, Direction::kImageToText};
}

std::string RankingText(const TablesReport::Ranking& ranking) {
  std::string text = ranking.policy;
  if (ranking.runs > 1) absl::StrAppend(&text, " (mean of ", ranking.runs, ")");
  if (ranking.method.depth > 0) absl::StrAppend(&text, " ", MethodText(ranking.method));
  return text;
}

std::string Percent(double share) {
  return absl::StrFormat("%.1f", 100 * share);
}

std::string Mrr(double value) {
  return absl::StrFormat("%.3f", value);
}

bool AnyTime(const TablesReport& report) {
  return std::any_of(report.rankings.begin(), report.rankings.end(),
                     [](const TablesReport::Ranking& ranking) { return ranking.time.has_value(); });
}

void AddTimeColumns(const TablesReport& report, TableGrid* grid) {
  if (!AnyTime(report)) return;
  AddColumn("s a query", grid);
  AddColumn("s with encoding", grid);
}

std::string Seconds(double seconds, bool computed) {
  return absl::StrFormat("%.3g%s", seconds, computed ? kComputed : "");
}

absl::optional<double> SecondsOfAll(const TablesReport& report, size_t part, size_t method) {
  const absl::optional<QueryTime>& time = report.rankings[method].time;
  if (!time.has_value() || !time->encoding_seconds.has_value()) return absl::nullopt;
  const auto captions = static_cast<double>(report.rows[method].parts[part].queries[0]);
  return *time->encoding_seconds + captions * time->seconds;
}

void AddTimeCells(const TablesReport& report, size_t part, size_t method,
                  std::vector<std::string>* cells) {
  if (!AnyTime(report)) return;
  const absl::optional<QueryTime>& time = report.rankings[method].time;
  cells->push_back(time.has_value() ? Seconds(time->seconds, time->computed) : "-");
  const absl::optional<double> all = SecondsOfAll(report, part, method);
  cells->push_back(all.has_value() ? Seconds(*all, time->computed) : "-");
}

}  // namespace sightline
