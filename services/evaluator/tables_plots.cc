#include "services/evaluator/tables_plots.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "common/evaluation/metrics.h"
#include "common/plot/line_chart.h"
#include "services/evaluator/tables_grids.h"

namespace sightline {
namespace {

using Ranking = TablesReport::Ranking;

constexpr double kPercent = 100;
constexpr double kLeastSeconds = 1e-9;  // of an axis that has no zero

std::string Percent(double value) {
  return absl::StrFormat("%.1f %%", value);
}
std::string Plain(double value) {
  return absl::StrFormat("%.4g", value);
}

// What is plotted: R@K of a direction.
struct Recall {
  Direction direction = Direction::kTextToImage;
  int cutoff = 0;  // place in kRecallCutoffs

  int index() const { return TableIndex(direction, kRecallAt1 + cutoff); }
  std::string Title() const {
    return absl::StrCat(ShortName(direction), " R@", kRecallCutoffs[cutoff]);
  }
  // For ids.
  std::string Slug() const {
    return absl::AsciiStrToLower(absl::StrCat(ShortName(direction), "-", kRecallCutoffs[cutoff]));
  }
};

// A ranking is on a line, at an x, or flat: then it has no x of its own.
struct Spot {
  std::string line;
  absl::optional<double> x;
};
// Nothing: the plot has no place for it.
using SpotOf = std::function<absl::optional<Spot>(const Ranking& ranking)>;

absl::optional<Spot> AtDepth(const Ranking& ranking) {
  if (ranking.method.depth == 0) return Spot{ranking.policy, absl::nullopt};
  return Spot{RankingText(ranking), ranking.method.depth};
}

absl::optional<Spot> AtLambda(const Ranking& ranking) {
  const Method& method = ranking.method;
  if (method.depth == 0) return Spot{ranking.policy, absl::nullopt};
  const CombinationKind kind = method.combination.kind;
  const std::string line =
      absl::StrCat(ranking.policy, " ", CombinationKindName(kind), ", ", method.depth);
  if (kind == CombinationKind::kReplace) return Spot{line, absl::nullopt};
  return Spot{line, method.combination.lambda};
}

absl::optional<Spot> AtTime(const Ranking& ranking) {
  if (!ranking.time.has_value()) return absl::nullopt;
  return Spot{RankingText(ranking), std::max(ranking.time->seconds, kLeastSeconds)};
}

ChartLine* LineNamed(const std::string& name, std::vector<ChartLine>* lines) {
  for (ChartLine& line : *lines) {
    if (line.name == name) return &line;
  }
  ChartLine& line = lines->emplace_back();
  line.name = name;
  return &line;
}

void AddPoint(double x, const Interval& interval, ChartLine* line) {
  size_t at = 0;
  while (at < line->points.size() && line->points[at].x < x) ++at;
  line->points.insert(line->points.begin() + static_cast<std::ptrdiff_t>(at),
                      {x, kPercent * interval.estimate});
  line->whiskers.insert(line->whiskers.begin() + static_cast<std::ptrdiff_t>(at),
                        {kPercent * interval.low, kPercent * interval.high});
}

// A ranking without an x holds from the first x to the last.
std::vector<ChartLine> LinesOf(const TablesReport& report, size_t part, const Recall& recall,
                               const SpotOf& spot_of, const std::set<double>& xs) {
  std::vector<ChartLine> lines;
  for (size_t m = 0; m < report.rankings.size(); ++m) {
    const absl::optional<Spot> spot = spot_of(report.rankings[m]);
    if (!spot.has_value()) continue;
    ChartLine* const line = LineNamed(spot->line, &lines);
    const Interval& interval = report.rows[m].parts[part].intervals[recall.index()];
    line->dots = spot->x.has_value();
    if (spot->x.has_value()) {
      AddPoint(*spot->x, interval, line);
    } else {
      for (const double x : {*xs.begin(), *xs.rbegin()}) AddPoint(x, interval, line);
      line->whiskers.clear();
    }
  }
  return lines;
}

std::set<double> XsOf(const TablesReport& report, const SpotOf& spot_of) {
  std::set<double> xs;
  for (const Ranking& ranking : report.rankings) {
    const absl::optional<Spot> spot = spot_of(ranking);
    if (spot.has_value() && spot->x.has_value()) xs.insert(*spot->x);
  }
  return xs;
}

// Recalls lie close together, so that an axis from zero would show a band.
Axis RecallAxis(const std::vector<ChartLine>& lines) {
  const PlotRange range = RangeOfY(lines);
  const double room = std::max(1.0, (range.high - range.low) / 10);
  return Axis::Linear(std::max(0.0, range.low - room), std::min(kPercent, range.high + room),
                      Percent);
}

PlotText TextOf(const std::string& id, const std::string& title, const std::string& caption,
                const std::string& x_unit) {
  PlotText text;
  text.id = id;
  text.title = title;
  text.caption = text.description = caption;
  text.x_unit = x_unit;
  text.y_unit = "recall";
  return text;
}

std::vector<Plot> Sweep(const TablesReport& report, size_t part, const SpotOf& spot_of,
                        const std::string& name, const std::string& x_unit,
                        const std::string& caption) {
  std::vector<Plot> plots;
  const std::set<double> xs = XsOf(report, spot_of);
  if (xs.size() < 2) return plots;
  const int first = FirstCutoff(report.recall);
  for (const Direction direction : DirectionsInOrder(report.image_to_text_first)) {
    for (const int cutoff : {first, first + 2}) {
      const Recall recall = {direction, cutoff};
      std::vector<ChartLine> lines = LinesOf(report, part, recall, spot_of, xs);
      const Axis y = RecallAxis(lines);
      plots.push_back(LineChart(
          TextOf(absl::StrCat(name, "-", recall.Slug(), "-", part),
                 absl::StrCat(recall.Title(), " over ", name), caption, x_unit),
          Axis::Linear(*xs.begin(), *xs.rbegin(), Plain), y, std::move(lines), Plain, Percent));
    }
  }
  return plots;
}

absl::optional<Plot> OverTime(const TablesReport& report, size_t part) {
  const std::set<double> xs = XsOf(report, AtTime);
  if (xs.empty()) return absl::nullopt;
  const Recall recall = {Direction::kTextToImage, FirstCutoff(report.recall)};
  std::vector<ChartLine> lines = LinesOf(report, part, recall, AtTime, xs);
  // Dots and crosses are drawn here, by what is known of each point.
  for (ChartLine& line : lines) line.dots = false;
  Plot plot = LineChart(
      TextOf(absl::StrCat("time-", part), absl::StrCat(recall.Title(), " over time a query"),
             TimeNote(report) + "  A cross stands for a star.", "s a query"),
      Axis::Log(*xs.begin(), *xs.rbegin(), Plain), RecallAxis(lines), lines, Plain, Percent);
  for (size_t m = 0; m < report.rankings.size(); ++m) {
    const absl::optional<Spot> spot = AtTime(report.rankings[m]);
    if (!spot.has_value()) continue;
    const size_t number = static_cast<size_t>(LineNamed(spot->line, &lines) - lines.data());
    if (number >= kMostChartLines) continue;
    const double share = report.rows[m].parts[part].values[recall.index()];
    const PlotPoint point = {*spot->x, kPercent * share};
    const std::string css = LineClass(number) + " point";
    if (report.rankings[m].time->computed) {
      plot.Cross(point, css);
    } else {
      plot.Dot(point, css);
    }
  }
  return plot;
}

}  // namespace

std::vector<Plot> TablesPlots(const TablesReport& report, size_t part) {
  std::vector<Plot> plots =
      Sweep(report, part, AtDepth, "depth", "candidates reranked",
            absl::StrCat("Bars are intervals of ",
                         absl::StrFormat("%g", kPercent * report.bootstrap.confidence),
                         " %; flat: nothing is reranked."));
  for (Plot& plot : Sweep(report, part, AtLambda, "lambda", "weight of the retrieval score",
                          "Sums of both scores, by the number of candidates that are reranked; "
                          "flat: replace, or nothing is reranked.")) {
    plots.push_back(std::move(plot));
  }
  absl::optional<Plot> over_time = OverTime(report, part);
  if (over_time.has_value()) plots.push_back(*std::move(over_time));
  return plots;
}

}  // namespace sightline
