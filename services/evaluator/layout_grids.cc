#include "services/evaluator/layout_grids.h"

#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/config/table.h"
#include "common/evaluation/metrics.h"

namespace sightline {
namespace {

using Ranking = TablesReport::Ranking;
using Rows = PaperLayout::Rows;
using More = PaperLayout::More;

constexpr char kEnglish[] = "en";

// Which of the cutoffs a paper prints, by their numbers.
std::vector<int> CutoffsOf(const PaperLayout& layout, const TablesReport& report) {
  const int first = FirstCutoff(report.recall);
  if (layout.without_middle) return {first, first + 2};
  return {first, first + 1, first + 2};
}

// "50.0/80.1/88.3"; with MRR behind it, where a paper has that.
std::string Recalls(const PaperLayout& layout, const TablesReport& report, const PartRow& row,
                    Direction direction) {
  std::vector<std::string> values;
  for (const int cutoff : CutoffsOf(layout, report)) {
    values.push_back(Percent(row.values[TableIndex(direction, kRecallAt1 + cutoff)]));
  }
  if (layout.more == More::kReciprocal) {
    values.push_back(Mrr(row.values[TableIndex(direction, kReciprocalOfRank)]));
  }
  return absl::StrJoin(values, "/");
}

std::string RecallsTitle(const PaperLayout& layout, const TablesReport& report,
                         Direction direction) {
  std::vector<std::string> cutoffs;
  for (const int cutoff : CutoffsOf(layout, report)) {
    cutoffs.push_back(absl::StrCat(kRecallCutoffs[cutoff]));
  }
  return absl::StrCat(ShortName(direction), " R@", absl::StrJoin(cutoffs, "/"),
                      layout.more == More::kReciprocal ? "/MRR" : "");
}

TableGrid RecallsGrid(const PaperLayout& layout, const TablesReport& report, size_t part) {
  const auto directions = DirectionsInOrder(layout.image_to_text_first);
  TableGrid grid = MethodsGrid();
  for (const Direction direction : directions) {
    AddColumn(RecallsTitle(layout, report, direction), &grid);
  }
  if (layout.more == More::kAverage) AddColumn("AR", &grid);
  if (layout.more == More::kSum) AddColumn("rsum", &grid);
  AddTimeColumns(report, &grid);
  for (size_t m = 0; m < report.rankings.size(); ++m) {
    const PartRow& row = report.rows[m].parts[part];
    std::vector<std::string> cells = MethodCells(report.rankings[m]);
    for (const Direction direction : directions) {
      cells.push_back(Recalls(layout, report, row, direction));
    }
    if (layout.more == More::kAverage) cells.push_back(Percent(row.values[kAverageRecall]));
    if (layout.more == More::kSum) cells.push_back(Percent(row.values[kRecallSum]));
    AddTimeCells(report, part, m, &cells);
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

// Mean of AR over the languages, or over all but English; "-" if none is left.
std::string MeanOfLanguages(const TablesReport& report, const MethodRow& row, bool with_english) {
  double sum = 0;
  int count = 0;
  for (size_t part = 0; part < report.parts.size(); ++part) {
    if (!with_english && report.parts[part].language == kEnglish) continue;
    sum += row.parts[part].values[kAverageRecall];
    ++count;
  }
  return count == 0 ? "-" : Percent(sum / count);
}

TableGrid LanguagesGrid(const PaperLayout& layout, const TablesReport& report) {
  TableGrid grid = MethodsGrid();
  for (const TablePart& part : report.parts) AddColumn(part.language, &grid);
  const bool meta = layout.rows == Rows::kMetaAve;
  AddColumn(meta ? "Meta-Ave" : "mean", &grid);
  if (!meta) AddColumn("mean without en", &grid);
  for (size_t m = 0; m < report.rankings.size(); ++m) {
    const MethodRow& row = report.rows[m];
    std::vector<std::string> cells = MethodCells(report.rankings[m]);
    for (const PartRow& part : row.parts) cells.push_back(Percent(part.values[kAverageRecall]));
    cells.push_back(MeanOfLanguages(report, row, /*with_english=*/true));
    if (!meta) cells.push_back(MeanOfLanguages(report, row, /*with_english=*/false));
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

// Or more, of those before the point.
std::string ThreeDigits(double number) {
  return number < 100 ? absl::StrFormat("%.3g", number)
                      : WithThousands(static_cast<int64_t>(std::llround(number)));
}

std::string Times(double ratio, bool computed) {
  return absl::StrCat(ThreeDigits(ratio), computed ? kComputed : "");
}

// How many times faster each method is than the first.
TableGrid SpeedupsGrid(const TablesReport& report) {
  TableGrid grid = MethodsGrid();
  AddColumn("s a query", &grid);
  AddColumn(absl::StrCat("x ", RankingText(report.rankings.front())), &grid);
  const absl::optional<QueryTime>& first = report.rankings.front().time;
  for (const Ranking& ranking : report.rankings) {
    std::vector<std::string> cells = MethodCells(ranking);
    const absl::optional<QueryTime>& time = ranking.time;
    cells.push_back(time.has_value() ? Seconds(time->seconds, time->computed) : "-");
    const bool both = time.has_value() && first.has_value() && time->seconds > 0;
    cells.push_back(both ? Times(first->seconds / time->seconds, first->computed || time->computed)
                         : "-");
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

TableGrid SpreadsGrid(const TablesReport& report) {
  TableGrid grid = MethodsGrid();
  for (const char* title : {"mean ms", "min", "max", "P95", "P99.99"}) AddColumn(title, &grid);
  for (const Ranking& ranking : report.rankings) {
    std::vector<std::string> cells = MethodCells(ranking);
    const bool known = ranking.time.has_value() && ranking.time->spread.has_value();
    const TimeSpread spread = known ? *ranking.time->spread : TimeSpread();
    for (const double seconds :
         {spread.mean, spread.least, spread.most, spread.p95, spread.p99_99}) {
      cells.push_back(known ? Seconds(1e3 * seconds, ranking.time->computed) : "-");
    }
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

// "16 ms", "1 500 ms", "2.4 h", "2.3 years": in the largest unit that leaves two of it.
std::string Wait(double seconds, bool computed) {
  struct Unit {
    double seconds;
    absl::string_view name;
  };
  constexpr Unit kUnits[] = {
      {365.25 * 86400, "years"}, {86400, "days"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}};
  const Unit* unit = std::begin(kUnits);
  while (unit->seconds > 1e-3 && seconds < 2 * unit->seconds) ++unit;
  return absl::StrCat(ThreeDigits(seconds / unit->seconds), " ", unit->name,
                      computed ? kComputed : "");
}

TableGrid WaitsGrid(const TablesReport& report, size_t part) {
  TableGrid grid = MethodsGrid();
  AddColumn("a query", &grid);
  AddColumn("all with encoding", &grid);
  for (size_t m = 0; m < report.rankings.size(); ++m) {
    const absl::optional<QueryTime>& time = report.rankings[m].time;
    std::vector<std::string> cells = MethodCells(report.rankings[m]);
    cells.push_back(time.has_value() ? Wait(time->seconds, time->computed) : "-");
    const absl::optional<double> all = SecondsOfAll(report, part, m);
    cells.push_back(all.has_value() ? Wait(*all, time->computed) : "-");
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

}  // namespace

std::vector<TableGrid> LayoutGrids(const PaperLayout& layout, const TablesReport& report) {
  if (layout.rows == Rows::kSpeedups) return {SpeedupsGrid(report)};
  if (layout.rows == Rows::kSpreads) return {SpreadsGrid(report)};
  if (layout.of_languages()) return {LanguagesGrid(layout, report)};
  std::vector<TableGrid> grids;
  for (size_t part = 0; part < report.parts.size(); ++part) {
    grids.push_back(layout.rows == Rows::kWaits ? WaitsGrid(report, part)
                                                : RecallsGrid(layout, report, part));
  }
  return grids;
}

}  // namespace sightline
