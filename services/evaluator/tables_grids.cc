#include "services/evaluator/tables_grids.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/evaluation/metrics.h"

namespace sightline {
namespace {

using Ranking = TablesReport::Ranking;

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

// How many there are in a pool: "1 000", or "2 to 6" where pools differ.
std::string SizesOf(const TablePart& part, Direction direction) {
  const auto size = [direction](const EvaluationPool& pool) {
    return pool.candidate_count(direction);
  };
  int64_t least = size(part.pools.front()), most = least;
  for (const EvaluationPool& pool : part.pools) {
    least = std::min(least, size(pool));
    most = std::max(most, size(pool));
  }
  if (least == most) return WithThousands(most);
  return absl::StrCat(WithThousands(least), " to ", WithThousands(most));
}

}  // namespace

std::string PartTitle(const TablesReport& report, size_t part) {
  const TablePart& own = report.parts[part];
  std::string title = Printable(report.protocol, 0);
  if (!own.language.empty()) absl::StrAppend(&title, ", ", Printable(own.language, 0));
  if (own.pools.size() > 1) {
    absl::StrAppend(&title, ", mean of ", WithThousands(static_cast<int64_t>(own.pools.size())),
                    " pools");
  }
  const auto& queries = report.rows.front().parts[part].queries;
  absl::StrAppend(&title, ": ", WithThousands(queries[0]), " captions look for ",
                  SizesOf(own, Direction::kTextToImage), " images, ", WithThousands(queries[1]),
                  " images for ", SizesOf(own, Direction::kImageToText), " captions");
  return title;
}

TableGrid RecallGrid(const TablesReport& report, size_t part) {
  const int first = FirstCutoff(report.recall);
  const auto directions = DirectionsInOrder(report.image_to_text_first);
  TableGrid grid = MethodsGrid();
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
    std::vector<std::string> cells = MethodCells(report.rankings[m]);
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
  TableGrid grid = MethodsGrid();
  for (const Direction direction : directions) {
    for (const std::string& title : {std::string("MRR"), std::string("MAP"), ndcg,
                                     std::string("median"), std::string("mean rank")}) {
      AddColumn(absl::StrCat(ShortName(direction), " ", title), &grid);
    }
  }
  for (size_t m = 0; m < report.rankings.size(); ++m) {
    const PartRow& row = report.rows[m].parts[part];
    std::vector<std::string> cells = MethodCells(report.rankings[m]);
    for (const Direction direction : directions) {
      for (const int measure : {kReciprocalOfRank, kAveragePrecision, kNdcg}) {
        cells.push_back(Mrr(row.values[TableIndex(direction, measure)]));
      }
      cells.push_back(
          absl::StrFormat("%.1f", row.median_rank[static_cast<int>(direction)].estimate));
      cells.push_back(absl::StrFormat("%.1f", row.values[TableIndex(direction, kRank)]));
    }
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

TableGrid LanguageGrid(const TablesReport& report) {
  TableGrid grid = MethodsGrid();
  for (const TablePart& part : report.parts) AddColumn(absl::StrCat(part.language, " AR"), &grid);
  AddColumn(absl::StrCat("Meta-Ave ", Sure(report)), &grid);
  const bool compared = report.rankings.size() > 1;
  if (compared) AddColumn(absl::StrCat("- first ", Sure(report)), &grid);
  for (size_t m = 0; m < report.rankings.size(); ++m) {
    const MethodRow& row = report.rows[m];
    std::vector<std::string> cells = MethodCells(report.rankings[m]);
    for (const PartRow& part : row.parts) cells.push_back(Percent(part.values[kAverageRecall]));
    cells.push_back(PercentWithin(row.meta_average));
    if (compared) cells.push_back(m == 0 ? "" : Points(*row.meta_minus_first));
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

std::string ListsNote(const TablesReport& report) {
  if (report.queries_beyond_lists == 0) return "";
  return absl::StrCat(
      "Lists end at ", WithThousands(report.list_length), ", and those of ",
      WithThousands(report.queries_beyond_lists),
      " queries lack something that is right. It counts as never found, and for ranks as the next "
      "place: longer lists can only find more.");
}

std::string TimeNote(const TablesReport& report) {
  if (!AnyTime(report)) return "";
  int64_t images = 0;
  bool alike = true;
  for (const AskingCaptions& pool : report.asking) {
    images += pool.images;
    alike = alike && pool.images == report.asking.front().images;
  }
  images /= static_cast<int64_t>(report.asking.size());
  std::string note = absl::StrCat("Times are of a caption that looks among ", WithThousands(images),
                                  alike ? " images." : " images on average.");
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
