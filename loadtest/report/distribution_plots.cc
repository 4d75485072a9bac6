#include "loadtest/report/distribution_plots.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/table.h"
#include "loadtest/report/figures.h"
#include "loadtest/report/stacked_bars.h"
#include "loadtest/report/svg_plot.h"

namespace sightline {
namespace {

constexpr int kMaxNameWidth = 24;
// So many colours there are; further series would look like others.
constexpr size_t kMostKinds = 6;

double Milliseconds(absl::Duration latency) {
  return absl::ToDoubleMilliseconds(latency);
}

std::string LatencyLabel(double milliseconds) {
  if (milliseconds <= 0) return "0";
  return LatencyText(absl::Milliseconds(milliseconds));
}

// ---- percentile curve ----

struct Curve {
  std::string css;
  std::vector<PlotPoint> told, rest;  // the rest has fewer than ten samples beyond it
};

// Where the slowest of `count` samples lies; at 1 it would lie at infinity.
double LastShare(int64_t count) {
  return 1 - 1 / (static_cast<double>(count) + 1);
}

Curve CurveOf(const LatencyHistogram& latency, std::string css) {
  Curve curve{std::move(css)};
  curve.told.push_back({0, Milliseconds(latency.min())});
  int64_t seen = 0;
  for (const LatencyHistogram::Bucket& bucket : latency.Buckets()) {
    seen += bucket.count;
    const double share = static_cast<double>(seen) / static_cast<double>(latency.count());
    const PlotPoint point = {std::min(share, LastShare(latency.count())),
                             Milliseconds(std::min(bucket.high, latency.max()))};
    const bool told = latency.count() - seen >= LatencyHistogram::kSamplesBeyond;
    if (!told && curve.rest.empty()) curve.rest.push_back(curve.told.back());
    (told ? curve.told : curve.rest).push_back(point);
  }
  return curve;
}

std::vector<NamedTally> DrawnKinds(const LoadResult& run) {
  std::vector<NamedTally> kinds;
  for (const NamedTally& kind : TalliesByKind(run)) {
    if (kind.tally->latency.count() > 0 && kinds.size() <= kMostKinds) kinds.push_back(kind);
  }
  return kinds;
}

std::string KindClass(size_t index) {
  return index == 0 ? "all" : absl::StrCat("series", index);
}

std::string DrawCurves(const ReportData& data, const std::vector<Curve>& curves,
                       const PlotSize& size, const char* suffix) {
  const LatencyHistogram& latency = data.result.total.latency;
  double low = Milliseconds(latency.max()), high = Milliseconds(latency.max());
  for (const Curve& curve : curves) low = std::min(low, curve.told.front().y);
  for (const auto& [share, limit] : data.latency_limits) {
    high = std::max(high, Milliseconds(limit));
  }
  SvgPlot plot({absl::StrCat("percentile-curve-", suffix), "Percentile curve",
                absl::StrCat("Latency at each percentile. All requests: p50 ",
                             LatencyText(latency.Quantile(0.5)), ", p99 ",
                             LatencyText(latency.Quantile(0.99)), ", maximum ",
                             LatencyText(latency.max()), "."),
                "percentile of requests", "latency, log"},
               size,
               Axis::Nines(LastShare(latency.count()),
                           [](double share) { return QuantileName(share).substr(1) + "%"; }),
               Axis::Log(low, high, size.y_ticks, LatencyLabel));
  // All requests last, above their parts.
  for (auto curve = curves.rbegin(); curve != curves.rend(); ++curve) {
    plot.Line(curve->rest, absl::StrCat(curve->css, " rest"));
    plot.Line(curve->told, curve->css);
  }
  for (const auto& [share, limit] : data.latency_limits) {
    if (share >= LastShare(latency.count())) continue;
    const PlotPoint corner = {share, Milliseconds(limit)};
    plot.HorizontalLine(0, share, corner.y, "limit");
    plot.Cross(corner, 4, "limitmark");
    plot.Note(corner, absl::StrCat(QuantileName(share), " limit ", LatencyText(limit)), "note");
  }
  return plot.Svg();
}

// ---- stages ----

// Where a stage's colour is in the style sheet; further stages share the last.
std::string StageClass(const std::string& stage) {
  for (const char* known : {"encode", "search", "rerank", "fetch"}) {
    if (stage == known) return absl::StrCat("stage-", stage);
  }
  return "stage-other";
}

// Mean time of each stage over all answers of the total; an answer in which a stage did not
// run has spent no time in it.
BarRow StageRow(const NamedTally& kind) {
  BarRow row;
  const std::vector<NamedHistogram> stages = StagesInOrder(*kind.tally);
  const auto total = std::find_if(stages.begin(), stages.end(),
                                  [](const auto& stage) { return stage.name == "total"; });
  const double answers = static_cast<double>(
      std::max<int64_t>(1, total != stages.end() ? total->histogram->count() : kind.tally->ok));
  double sum = 0;
  for (const NamedHistogram& stage : stages) {
    if (stage.name == "total") continue;
    const double mean = Milliseconds(stage.histogram->mean()) *
                        static_cast<double>(stage.histogram->count()) / answers;
    row.parts.push_back(
        {StageClass(stage.name), Printable(stage.name, kMaxNameWidth), mean, LatencyLabel(mean)});
    sum += mean;
  }
  double whole = sum;
  if (total != stages.end()) {
    whole = std::max(sum, Milliseconds(total->histogram->mean()));
    row.parts.push_back({"stage-rest", "rest", whole - sum, LatencyLabel(whole - sum)});
  }
  row.label =
      absl::StrCat(Printable(kind.name, kMaxNameWidth), ": ", LatencyLabel(whole), " on average");
  return row;
}

}  // namespace

absl::optional<Figure> PercentileCurve(const ReportData& data) {
  const std::vector<NamedTally> kinds = DrawnKinds(data.result);
  if (kinds.empty()) return absl::nullopt;
  Figure figure;
  figure.id = "percentile-curve";
  figure.title = "Percentile curve";
  figure.caption =
      "Each nine is as wide as the one before it, so that the tail can be seen.  Dotted: fewer "
      "than ten samples lie beyond, an anecdote.";
  std::vector<Curve> curves;
  for (size_t i = 0; i < kinds.size(); ++i) {
    curves.push_back(CurveOf(kinds[i].tally->latency, KindClass(i)));
    figure.legend.push_back(
        {LegendShape::kLine, KindClass(i), Printable(kinds[i].name, kMaxNameWidth)});
  }
  if (!data.latency_limits.empty()) {
    figure.legend.push_back({LegendShape::kLine, "limit", "limit of all requests"});
  }
  figure.wide = DrawCurves(data, curves, kWidePlot, "wide");
  figure.narrow = DrawCurves(data, curves, kNarrowPlot, "narrow");
  return figure;
}

absl::optional<Figure> StageBreakdown(const ReportData& data) {
  std::vector<BarRow> rows;
  Figure figure;
  for (const NamedTally& kind : TalliesByKind(data.result)) {
    if (StagesInOrder(*kind.tally).empty()) continue;
    rows.push_back(StageRow(kind));
    for (const BarPart& part : rows.back().parts) {
      const bool known =
          std::any_of(figure.legend.begin(), figure.legend.end(),
                      [&part](const LegendEntry& entry) { return entry.label == part.name; });
      if (!known) figure.legend.push_back({LegendShape::kArea, part.css, part.name});
    }
  }
  if (rows.empty()) return absl::nullopt;
  figure.id = "stage-breakdown";
  figure.title = "Where the time goes";
  figure.caption =
      "Mean time in each stage of answers that were OK, as the router tells it.  Rest: in the "
      "router outside of any stage.  The way to the router and waiting before it are not in here.";
  const auto draw = [&rows](const PlotSize& size, const char* suffix) {
    return StackedBars({absl::StrCat("stage-breakdown-", suffix), "Where the time goes",
                        "Mean time of each stage of a request, by kind.", "mean time", ""},
                       size, rows, LatencyLabel);
  };
  figure.wide = draw(kWidePlot, "wide");
  figure.narrow = draw(kNarrowPlot, "narrow");
  return figure;
}

}  // namespace sightline
