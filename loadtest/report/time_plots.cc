#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/table.h"
#include "loadtest/report/figures.h"
#include "loadtest/report/plots.h"

namespace sightline {
namespace {

// A plot has about as many pixels; more columns would only cover each other.
constexpr int64_t kMostColumns = 600;

struct DrawnQuantile {
  double share;
  const char* css;
};
constexpr DrawnQuantile kDrawnQuantiles[] = {{0.5, "p50"}, {0.9, "p90"}, {0.99, "p99"}};

std::string SecondsLabel(double seconds) {
  return LengthText(absl::Seconds(std::round(1000 * seconds) / 1000));
}

// ---- columns: seconds, or so many of them together that a plot has room ----

int64_t ColumnSeconds(const LoadResult& run) {
  return (static_cast<int64_t>(run.seconds.size()) + kMostColumns - 1) / kMostColumns;
}

struct Column {
  int64_t from = 0;  // seconds since the run's start
  int64_t length = 0;
  int64_t intended = 0, ended = 0;
  int64_t count = 0, ok = 0, degraded = 0;
  LatencyHistogram latency;

  double middle() const { return static_cast<double>(from) + static_cast<double>(length) / 2; }
};

// Columns of `length` seconds, of which one begins at the second `boundary`; the first and
// the last may be shorter.
std::vector<Column> Columns(const LoadResult& run, int64_t length, int64_t boundary = 0) {
  std::vector<Column> columns;
  for (size_t i = 0; i < run.seconds.size(); ++i) {
    const Second& second = run.seconds[i];
    if (i == 0 || (second.second - boundary) % length == 0) columns.push_back({second.second});
    Column& column = columns.back();
    ++column.length;
    column.intended += second.intended;
    column.ended += second.ended;
    column.count += second.tally.count;
    column.ok += second.tally.ok;
    column.degraded += second.tally.degraded;
    column.latency.Merge(second.tally.latency);
  }
  return columns;
}

// ---- what both plots share ----

double End(const LoadResult& run) {
  const double planned = absl::ToDoubleSeconds(run.warm_up + run.length);
  return run.seconds.empty()
             ? planned
             : std::max(planned, static_cast<double>(run.seconds.back().second + 1));
}

Axis TimeAxis(const LoadResult& run) {
  return Axis::Linear(0, End(run), SecondsLabel);
}

void DrawWarmUpAndFaultAreas(const LoadResult& run, Plot* plot) {
  if (const double until = absl::ToDoubleSeconds(run.warm_up); until > 0) {
    plot->Band(0, until, "warmup");
    plot->BandLabel(0, until, "warm-up", "note");
  }
  const double end = End(run);
  for (const FaultMark& fault : run.faults) {
    const double from = absl::ToDoubleSeconds(fault.at);
    const double to = std::max(from, absl::ToDoubleSeconds(fault.ended));
    const double whole = std::min(end, to + absl::ToDoubleSeconds(fault.whole_again));
    if (to > from) plot->Band(from, to, "fault");
    if (whole > to) plot->Band(to, whole, "recovering");
  }
}

// Above the data, so that they can be read.
void DrawFaultMarks(const LoadResult& run, Plot* plot) {
  for (size_t i = 0; i < run.faults.size(); ++i) {
    const double from = absl::ToDoubleSeconds(run.faults[i].at);
    const double until =
        i + 1 < run.faults.size() ? absl::ToDoubleSeconds(run.faults[i + 1].at) : End(run);
    plot->VerticalLine(from, "faultline");
    plot->BandLabel(from, until, absl::StrCat(FaultLetter(i), "  ", run.faults[i].name),
                    "note faultname");
  }
}

void AddFaultLegend(const LoadResult& run, Plot* plot) {
  if (run.warm_up > absl::ZeroDuration()) {
    plot->AddLegend(LegendShape::kArea, "warmup", "warm-up, not judged");
  }
  if (run.faults.empty()) return;
  plot->AddLegend(LegendShape::kArea, "fault", "fault");
  plot->AddLegend(LegendShape::kArea, "recovering", "undone, not whole yet");
}

std::vector<double> Middles(const std::vector<Column>& columns) {
  std::vector<double> middles;
  for (const Column& column : columns) middles.push_back(column.middle());
  return middles;
}

// "12s", or "12s to 14s" where a column is more than a second.
std::string TimeCell(const Column& column) {
  const std::string from = SecondsLabel(static_cast<double>(column.from));
  if (column.length == 1) return from;
  return absl::StrCat(from, " to ", SecondsLabel(static_cast<double>(column.from + column.length)));
}

// ---- latency ----

// A percentile over windows of one length.
struct QuantileSeries {
  DrawnQuantile quantile;
  int64_t window = 0;  // seconds
  std::vector<Column> windows;

  absl::optional<absl::Duration> At(size_t i) const {
    return windows[i].latency.Quantile(quantile.share);
  }
  // In the window that holds the time `second`.
  absl::optional<absl::Duration> Around(double second) const {
    size_t i = 0;
    while (i + 1 < windows.size() && static_cast<double>(windows[i + 1].from) <= second) ++i;
    return At(i);
  }
};

// Most of its windows have the percentile to tell: a gap here and there is a quiet second.
bool TellsMost(const QuantileSeries& series) {
  int64_t told = 0, asked = 0;
  for (size_t i = 0; i < series.windows.size(); ++i) {
    asked += series.windows[i].latency.count() > 0 ? 1 : 0;
    told += series.At(i).has_value() ? 1 : 0;
  }
  return told > 0 && 10 * told >= 8 * asked;
}

absl::optional<QuantileSeries> ShortestWindows(const LoadResult& run, DrawnQuantile quantile) {
  constexpr int kFewestWindows = 3;
  const int64_t column = ColumnSeconds(run);
  for (const int64_t times : {1, 2, 5, 10, 20, 30, 60, 120, 300, 600}) {
    const int64_t window = column * times;
    if (window * kFewestWindows > static_cast<int64_t>(run.seconds.size())) break;
    // What is cold must not darken what is judged.
    const int64_t warm = absl::ToInt64Seconds(absl::Ceil(run.warm_up, absl::Seconds(1)));
    QuantileSeries series = {quantile, window, Columns(run, window, warm)};
    if (TellsMost(series)) return series;
  }
  return absl::nullopt;
}

std::vector<QuantileSeries> AllSeries(const LoadResult& run) {
  std::vector<QuantileSeries> all;
  for (const DrawnQuantile& quantile : kDrawnQuantiles) {
    if (auto series = ShortestWindows(run, quantile)) all.push_back(*std::move(series));
  }
  return all;
}

// Windows of several columns are level: a slope between them would tell of changes at times
// when there were none.
std::vector<PlotPoint> QuantilePoints(const QuantileSeries& series, int64_t column) {
  std::vector<PlotPoint> points;
  for (size_t i = 0; i < series.windows.size(); ++i) {
    const Column& window = series.windows[i];
    const double y = Milliseconds(series.At(i));
    if (series.window == column) {
      points.push_back({window.middle(), y});
    } else {
      points.push_back({static_cast<double>(window.from), y});
      points.push_back({static_cast<double>(window.from + window.length), y});
    }
  }
  return points;
}

std::vector<PlotPoint> MaxPoints(const std::vector<Column>& columns) {
  std::vector<PlotPoint> points;
  for (const Column& column : columns) {
    points.push_back({column.middle(),
                      column.latency.count() > 0 ? Milliseconds(column.latency.max()) : kNoNumber});
  }
  return points;
}

std::string LatencyHover(const std::vector<Column>& columns,
                         const std::vector<QuantileSeries>& all) {
  std::string table = "time\trequests";
  for (const QuantileSeries& series : all) {
    absl::StrAppend(&table, "\t", QuantileName(series.quantile.share));
  }
  absl::StrAppend(&table, "\tmax");
  for (size_t i = 0; i < columns.size(); ++i) {
    absl::StrAppend(&table, "\n", TimeCell(columns[i]), "\t", WithThousands(columns[i].count));
    for (const QuantileSeries& series : all) {
      absl::StrAppend(&table, "\t", LatencyText(series.Around(columns[i].middle())));
    }
    absl::StrAppend(&table, "\t",
                    columns[i].latency.count() > 0 ? LatencyText(columns[i].latency.max()) : "–");
  }
  return table;
}

// ---- throughput ----

std::string ThroughputHover(const std::vector<Column>& columns) {
  std::string table = "time\tintended\tanswered whole\tdegraded\tfailed\tended then";
  for (const Column& column : columns) {
    absl::StrAppend(&table, "\n", TimeCell(column));
    for (const int64_t count : {column.intended, column.ok - column.degraded, column.degraded,
                                column.count - column.ok, column.ended}) {
      absl::StrAppend(&table, "\t", WithThousands(count));
    }
  }
  return table;
}

bool AnyRequest(const std::vector<Column>& columns) {
  return std::any_of(columns.begin(), columns.end(),
                     [](const Column& column) { return column.latency.count() > 0; });
}

}  // namespace

absl::optional<Plot> LatencyOverTime(const ReportData& data) {
  const LoadResult& run = data.result;
  const std::vector<Column> columns = Columns(run, ColumnSeconds(run));
  if (!AnyRequest(columns)) return absl::nullopt;
  const std::vector<QuantileSeries> all = AllSeries(run);
  // The highest percentile first: the median is drawn last and never covered.
  std::vector<std::pair<std::string, std::vector<PlotPoint>>> lines = {{"max", MaxPoints(columns)}};
  for (auto series = all.rbegin(); series != all.rend(); ++series) {
    lines.emplace_back(series->quantile.css, QuantilePoints(*series, ColumnSeconds(run)));
  }
  PlotRange range;
  for (const auto& [css, points] : lines) {
    for (const PlotPoint& point : points) range.Add(point.y);
  }
  for (const auto& [share, limit] : data.latency_limits) range.Add(Milliseconds(limit));

  Plot plot({"latency-over-time", "Latency over time",
             "From when a request was meant to be sent, failed ones too, at that time.  A "
             "percentile is told only with ten samples beyond it: where a second has too few, it "
             "is one of several seconds, as the legend says.",
             absl::StrCat("Percentiles and maximum of latency from the intended start, on a "
                          "logarithmic axis from ",
                          LatencyLabel(range.low), " to ", LatencyLabel(range.high), ", over ",
                          SecondsLabel(End(run)), " with ", run.faults.size(), " faults."),
             "since the run's start", "latency, log"},
            TimeAxis(run), Axis::Log(range.low, range.high, LatencyLabel));
  DrawWarmUpAndFaultAreas(run, &plot);
  for (const auto& [share, limit] : data.latency_limits) {
    plot.HorizontalLine(absl::ToDoubleSeconds(run.warm_up), End(run), Milliseconds(limit), "limit");
    plot.Note({End(run), Milliseconds(limit)}, LimitText(share, limit), "note");
  }
  for (const auto& [css, points] : lines) plot.Line(points, css);
  DrawFaultMarks(run, &plot);
  for (const QuantileSeries& series : all) {
    plot.AddLegend(LegendShape::kLine, series.quantile.css,
                   absl::StrCat(QuantileName(series.quantile.share), " of each ",
                                SecondsLabel(static_cast<double>(series.window))));
  }
  plot.AddLegend(LegendShape::kLine, "max", "maximum");
  if (!data.latency_limits.empty()) plot.AddLegend(LegendShape::kLine, "limit", "limit");
  AddFaultLegend(run, &plot);
  plot.SetHover(Middles(columns), LatencyHover(columns, all));
  return plot;
}

absl::optional<Plot> ThroughputOverTime(const ReportData& data) {
  const LoadResult& run = data.result;
  const std::vector<Column> columns = Columns(run, ColumnSeconds(run));
  std::vector<Plot::Step> whole, degraded, failed;
  std::vector<PlotPoint> intended, ended;
  double most = 0;
  for (const Column& column : columns) {
    const double x = static_cast<double>(column.from);
    const auto rate = [&](int64_t count) {
      const double a_second = static_cast<double>(count) / static_cast<double>(column.length);
      most = std::max(most, a_second);
      return a_second;
    };
    whole.push_back({x, 0, rate(column.ok - column.degraded)});
    degraded.push_back({x, whole.back().high, rate(column.ok)});
    failed.push_back({x, degraded.back().high, rate(column.count)});
    intended.push_back({x, rate(column.intended)});
    ended.push_back({column.middle(), rate(column.ended)});
  }
  if (most <= 0) return absl::nullopt;

  const Tally& total = run.total;
  Plot plot({"throughput-over-time", "Throughput over time",
             "Areas: requests by when they were meant to be sent, and what became of them.  The "
             "line of those that ended then leaves their upper edge where a backlog grows or is "
             "worked off.",
             absl::StrCat("Requests per second, stacked: answered whole, answered degraded, "
                          "failed. Without the warm-up ",
                          total.ok - total.degraded, " were answered whole, ", total.degraded,
                          " degraded, and ", total.failed(), " failed."),
             "since the run's start", "requests/s"},
            TimeAxis(run), Axis::FromZero(most, RateLabel));
  const double last = static_cast<double>(columns.back().length);
  plot.StepArea(whole, last, "whole");
  plot.StepArea(degraded, last, "degraded");
  plot.StepArea(failed, last, "failed");
  DrawWarmUpAndFaultAreas(run, &plot);
  plot.StepLine(intended, last, "intended");
  plot.Line(ended, "ended");
  DrawFaultMarks(run, &plot);
  plot.AddLegend(LegendShape::kLine, "intended", "intended");
  plot.AddLegend(LegendShape::kLine, "ended", "ended then");
  plot.AddLegend(LegendShape::kArea, "whole", "answered whole");
  plot.AddLegend(LegendShape::kArea, "degraded", "answered degraded");
  plot.AddLegend(LegendShape::kArea, "failed", "failed");
  AddFaultLegend(run, &plot);
  plot.SetHover(Middles(columns), ThroughputHover(columns));
  return plot;
}

}  // namespace sightline
