#include "services/evaluator/tables_grids.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/evaluation/metrics.h"

namespace sightline {
namespace {

using Ranking = TablesReport::Ranking;
using Rows = PaperLayout::Rows;
using More = PaperLayout::More;

constexpr char kEnglish[] = "en";
constexpr char kComputed[] = "*";

std::string Percent(double share) {
  return absl::StrFormat("%.1f", 100 * share);
}

std::string PercentWithin(const Interval& interval) {
  return absl::StrFormat("%.1f [%.1f, %.1f]", 100 * interval.estimate, 100 * interval.low,
                         100 * interval.high);
}

std::string Points(const Interval& interval) {
  return absl::StrFormat("%+.1f [%+.1f, %+.1f]", 100 * interval.estimate, 100 * interval.low,
                         100 * interval.high);
}

std::string Sure(const TablesReport& report) {
  return absl::StrCat("[", absl::StrFormat("%g", 100 * report.bootstrap.confidence), " %]");
}

std::string Mrr(double value) {
  return absl::StrFormat("%.3f", value);
}

// --- what all tables begin and end with ---

TableGrid Begun() {
  TableGrid grid;
  grid.columns = {{"method"}, {"depth", true}};
  return grid;
}

void AddColumn(const std::string& title, TableGrid* grid) {
  grid->columns.push_back({title, true});
}

std::vector<std::string> FirstCells(const Ranking& ranking) {
  return {RankingText(ranking),
          ranking.method.depth == 0 ? "-" : absl::StrCat(ranking.method.depth)};
}

bool AnyTime(const TablesReport& report) {
  return std::any_of(report.rankings.begin(), report.rankings.end(),
                     [](const Ranking& ranking) { return ranking.time.has_value(); });
}

void AddTimeColumns(const TablesReport& report, TableGrid* grid) {
  if (!AnyTime(report)) return;
  AddColumn("s a query", grid);
  AddColumn("s with encoding", grid);
}

std::string Seconds(double seconds, bool computed) {
  return absl::StrFormat("%.3g%s", seconds, computed ? kComputed : "");
}

std::string Times(double ratio, bool computed) {
  const std::string number = ratio < 100 ? absl::StrFormat("%.3g", ratio)
                                         : WithThousands(static_cast<int64_t>(std::llround(ratio)));
  return absl::StrCat(number, computed ? kComputed : "");
}

// With encoding it is what all captions of the part take, one after the other.
void AddTimeCells(const TablesReport& report, size_t part, size_t method,
                  std::vector<std::string>* cells) {
  if (!AnyTime(report)) return;
  const absl::optional<QueryTime>& time = report.rankings[method].time;
  cells->push_back(time.has_value() ? Seconds(time->seconds, time->computed) : "-");
  const bool encoding = time.has_value() && time->encoding_seconds.has_value();
  const auto captions = static_cast<double>(report.rows[method].parts[part].queries[0]);
  cells->push_back(
      encoding ? Seconds(*time->encoding_seconds + captions * time->seconds, time->computed) : "-");
}

// --- the papers' ---

// "50.0/80.1/88.3"; with MRR behind it, where a paper has that.
std::string Recalls(const TablesReport& report, const PartRow& row, Direction direction,
                    bool reciprocal) {
  std::string text;
  const int first = FirstCutoff(report.recall);
  for (int i = first; i < first + 3; ++i) {
    absl::StrAppend(&text, text.empty() ? "" : "/",
                    Percent(row.values[TableIndex(direction, kRecallAt1 + i)]));
  }
  if (reciprocal) {
    absl::StrAppend(&text, "/", Mrr(row.values[TableIndex(direction, kReciprocalOfRank)]));
  }
  return text;
}

std::string RecallsTitle(const TablesReport& report, Direction direction, bool reciprocal) {
  const int first = FirstCutoff(report.recall);
  return absl::StrCat(ShortName(direction), " R@", kRecallCutoffs[first], "/",
                      kRecallCutoffs[first + 1], "/", kRecallCutoffs[first + 2],
                      reciprocal ? "/MRR" : "");
}

TableGrid RecallsGrid(const PaperLayout& layout, const TablesReport& report, size_t part) {
  const bool reciprocal = layout.more == More::kReciprocal;
  const auto directions = DirectionsInOrder(layout.image_to_text_first);
  TableGrid grid = Begun();
  for (const Direction direction : directions) {
    AddColumn(RecallsTitle(report, direction, reciprocal), &grid);
  }
  if (layout.more == More::kAverage) AddColumn("AR", &grid);
  if (layout.more == More::kSum) AddColumn("rsum", &grid);
  AddTimeColumns(report, &grid);
  for (size_t m = 0; m < report.rankings.size(); ++m) {
    const PartRow& row = report.rows[m].parts[part];
    std::vector<std::string> cells = FirstCells(report.rankings[m]);
    for (const Direction direction : directions) {
      cells.push_back(Recalls(report, row, direction, reciprocal));
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
  TableGrid grid = Begun();
  for (const TablePart& part : report.parts) AddColumn(part.language, &grid);
  const bool meta = layout.rows == Rows::kMetaAve;
  AddColumn(meta ? "Meta-Ave" : "mean", &grid);
  if (!meta) AddColumn("mean without en", &grid);
  for (size_t m = 0; m < report.rankings.size(); ++m) {
    const MethodRow& row = report.rows[m];
    std::vector<std::string> cells = FirstCells(report.rankings[m]);
    for (const PartRow& part : row.parts) cells.push_back(Percent(part.values[kAverageRecall]));
    cells.push_back(MeanOfLanguages(report, row, /*with_english=*/true));
    if (!meta) cells.push_back(MeanOfLanguages(report, row, /*with_english=*/false));
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

// How many times faster each method is than the first.
TableGrid SpeedupsGrid(const TablesReport& report) {
  TableGrid grid = Begun();
  AddColumn("s a query", &grid);
  AddColumn(absl::StrCat("x ", RankingText(report.rankings.front())), &grid);
  const absl::optional<QueryTime>& first = report.rankings.front().time;
  for (const Ranking& ranking : report.rankings) {
    std::vector<std::string> cells = FirstCells(ranking);
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
  TableGrid grid = Begun();
  for (const char* title : {"mean ms", "min", "max", "P95", "P99.99"}) AddColumn(title, &grid);
  for (const Ranking& ranking : report.rankings) {
    std::vector<std::string> cells = FirstCells(ranking);
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

}  // namespace

absl::string_view ShortName(Direction direction) {
  return direction == Direction::kImageToText ? "TR" : "IR";
}

std::array<Direction, 2> DirectionsInOrder(bool image_to_text_first) {
  if (image_to_text_first) return {Direction::kImageToText, Direction::kTextToImage};
  return {Direction::kTextToImage, Direction::kImageToText};
}

std::string RankingText(const Ranking& ranking) {
  std::string text = ranking.policy;
  if (ranking.runs > 1) absl::StrAppend(&text, " (mean of ", ranking.runs, ")");
  if (ranking.method.depth > 0) absl::StrAppend(&text, " ", MethodText(ranking.method));
  return text;
}

std::string GridText(const TableGrid& grid) {
  Table table(grid.columns);
  for (const std::vector<std::string>& row : grid.rows) table.AddRow(row);
  return table.ToString(/*indent=*/2);
}

// How many there are in a pool: "1 000", or "2 to 6" where pools differ.
std::string SizesOf(const TablePart& part, Direction direction) {
  const auto size = [direction](const EvaluationPool& pool) {
    return static_cast<int64_t>(pool.candidates(direction).size());
  };
  int64_t least = size(part.pools.front()), most = least;
  for (const EvaluationPool& pool : part.pools) {
    least = std::min(least, size(pool));
    most = std::max(most, size(pool));
  }
  if (least == most) return WithThousands(most);
  return absl::StrCat(WithThousands(least), " to ", WithThousands(most));
}

std::string PartTitle(const TablesReport& report, size_t part) {
  const TablePart& own = report.parts[part];
  std::string title = Printable(report.protocol, 0);
  if (!own.language.empty()) absl::StrAppend(&title, ", ", Printable(own.language, 0));
  if (own.pools.size() > 1)
    absl::StrAppend(&title, ", mean of ", WithThousands(static_cast<int64_t>(own.pools.size())),
                    " pools");
  const auto& queries = report.rows.front().parts[part].queries;
  absl::StrAppend(&title, ": ", WithThousands(queries[0]), " captions look for ",
                  SizesOf(own, Direction::kTextToImage), " images, ", WithThousands(queries[1]),
                  " images for ", SizesOf(own, Direction::kImageToText), " captions");
  return title;
}

TableGrid RecallGrid(const TablesReport& report, size_t part) {
  const int first = FirstCutoff(report.recall);
  const auto directions = DirectionsInOrder(report.image_to_text_first);
  TableGrid grid = Begun();
  for (const Direction direction : directions) {
    for (int i = first; i < first + 3; ++i) {
      AddColumn(absl::StrCat(ShortName(direction), " R@", kRecallCutoffs[i]), &grid);
    }
  }
  AddColumn(absl::StrCat("AR ", Sure(report)), &grid);
  AddColumn("rsum", &grid);
  const bool compared = report.rankings.size() > 1;
  if (compared) AddColumn(absl::StrCat("AR - first ", Sure(report)), &grid);
  AddTimeColumns(report, &grid);
  for (size_t m = 0; m < report.rankings.size(); ++m) {
    const PartRow& row = report.rows[m].parts[part];
    std::vector<std::string> cells = FirstCells(report.rankings[m]);
    for (const Direction direction : directions) {
      for (int i = first; i < first + 3; ++i) {
        cells.push_back(Percent(row.values[TableIndex(direction, kRecallAt1 + i)]));
      }
    }
    cells.push_back(PercentWithin(row.intervals[kAverageRecall]));
    cells.push_back(Percent(row.values[kRecallSum]));
    if (compared) cells.push_back(m == 0 ? "" : Points(row.minus_first[kAverageRecall]));
    AddTimeCells(report, part, m, &cells);
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

TableGrid OtherGrid(const TablesReport& report, size_t part) {
  const auto directions = DirectionsInOrder(report.image_to_text_first);
  const std::string ndcg = absl::StrCat("NDCG@", report.measure.ndcg_cutoff);
  TableGrid grid = Begun();
  for (const Direction direction : directions) {
    for (const std::string& title : {std::string("MRR"), std::string("MAP"), ndcg,
                                     std::string("median"), std::string("mean rank")}) {
      AddColumn(absl::StrCat(ShortName(direction), " ", title), &grid);
    }
  }
  for (size_t m = 0; m < report.rankings.size(); ++m) {
    const PartRow& row = report.rows[m].parts[part];
    std::vector<std::string> cells = FirstCells(report.rankings[m]);
    for (const Direction direction : directions) {
      for (const int measure : {kReciprocalOfRank, kAveragePrecision, kNdcg}) {
        cells.push_back(Mrr(row.values[TableIndex(direction, measure)]));
      }
      cells.push_back(absl::StrFormat("%.1f", row.median_rank[static_cast<int>(direction)]));
      cells.push_back(absl::StrFormat("%.1f", row.values[TableIndex(direction, kRank)]));
    }
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

TableGrid LanguageGrid(const TablesReport& report) {
  TableGrid grid = Begun();
  for (const TablePart& part : report.parts) AddColumn(absl::StrCat(part.language, " AR"), &grid);
  AddColumn(absl::StrCat("Meta-Ave ", Sure(report)), &grid);
  const bool compared = report.rankings.size() > 1;
  if (compared) AddColumn(absl::StrCat("- first ", Sure(report)), &grid);
  for (size_t m = 0; m < report.rankings.size(); ++m) {
    const MethodRow& row = report.rows[m];
    std::vector<std::string> cells = FirstCells(report.rankings[m]);
    for (const PartRow& part : row.parts) cells.push_back(Percent(part.values[kAverageRecall]));
    cells.push_back(PercentWithin(row.meta_average));
    if (compared) cells.push_back(m == 0 ? "" : Points(*row.meta_minus_first));
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

std::vector<TableGrid> LayoutGrids(const PaperLayout& layout, const TablesReport& report) {
  if (layout.rows == Rows::kSpeedups) return {SpeedupsGrid(report)};
  if (layout.rows == Rows::kSpreads) return {SpreadsGrid(report)};
  if (layout.rows != Rows::kRecalls) return {LanguagesGrid(layout, report)};
  std::vector<TableGrid> grids;
  for (size_t part = 0; part < report.parts.size(); ++part) {
    grids.push_back(RecallsGrid(layout, report, part));
  }
  return grids;
}

std::string TimeNote(const TablesReport& report) {
  if (!AnyTime(report)) return "";
  std::string note = absl::StrCat("Times are of a caption that looks for all ",
                                  WithThousands(report.image_count), " images of the matrices.");
  const bool computed = std::any_of(
      report.rankings.begin(), report.rankings.end(),
      [](const Ranking& ranking) { return ranking.time.has_value() && ranking.time->computed; });
  if (computed) {
    absl::StrAppend(&note, " ", kComputed,
                    " was not measured as it stands: a stage was timed with another number of "
                    "pairs.");
  }
  return note;
}

}  // namespace sightline
