#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/table.h"
#include "loadtest/report/figures.h"
#include "loadtest/report/plots.h"

namespace sightline {
namespace {

constexpr int kMaxNameWidth = 24;
// So many colours there are; further series would look like others.
constexpr size_t kMostKinds = 6;

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
std::vector<Plot::BarPart> StageParts(const NamedTally& kind) {
  std::vector<Plot::BarPart> parts;
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
    parts.push_back(
        {StageClass(stage.name), Printable(stage.name, kMaxNameWidth), mean, LatencyLabel(mean)});
    sum += mean;
  }
  if (total != stages.end()) {
    const double rest = std::max(0.0, Milliseconds(total->histogram->mean()) - sum);
    parts.push_back({"stage-rest", "rest", rest, LatencyLabel(rest)});
  }
  return parts;
}

double Sum(const std::vector<Plot::BarPart>& parts) {
  double sum = 0;
  for (const Plot::BarPart& part : parts) sum += part.value;
  return sum;
}

void AddPartsToLegend(const std::vector<Plot::BarPart>& parts, Plot* plot) {
  for (const Plot::BarPart& part : parts) {
    const bool known =
        std::any_of(plot->legend().begin(), plot->legend().end(),
                    [&part](const LegendEntry& entry) { return entry.label == part.name; });
    if (!known) plot->AddLegend(LegendShape::kArea, part.css, part.name);
  }
}

}  // namespace

absl::optional<Plot> PercentileCurve(const ReportData& data) {
  const std::vector<NamedTally> kinds = DrawnKinds(data.result);
  if (kinds.empty()) return absl::nullopt;
  const LatencyHistogram& latency = data.result.total.latency;
  const double last = LastShare(latency.count());
  std::vector<Curve> curves;
  PlotRange range;
  range.Add(Milliseconds(latency.max()));
  for (size_t i = 0; i < kinds.size(); ++i) {
    curves.push_back(CurveOf(kinds[i].tally->latency, KindClass(i)));
    range.Add(curves.back().told.front().y);
  }
  for (const auto& [share, limit] : data.latency_limits) {
    range.high = std::max(range.high, Milliseconds(limit));
  }
  Plot plot({"percentile-curve", "Percentile curve",
             "Each nine is as wide as the one before it, so that the tail can be seen.  Dotted: "
             "fewer than ten samples lie beyond, an anecdote.",
             absl::StrCat("Latency at each percentile. All requests: p50 ",
                          LatencyText(latency.Quantile(0.5)), ", p99 ",
                          LatencyText(latency.Quantile(0.99)), ", maximum ",
                          LatencyText(latency.max()), "."),
             "percentile of requests", "latency, log"},
            Axis::Nines(last, [](double share) { return QuantileName(share).substr(1) + "%"; }),
            Axis::Log(range.low, range.high, LatencyLabel));
  // All requests last, above their parts.
  for (auto curve = curves.rbegin(); curve != curves.rend(); ++curve) {
    plot.Line(curve->rest, absl::StrCat(curve->css, " rest"));
    plot.Line(curve->told, curve->css);
  }
  for (const auto& [share, limit] : data.latency_limits) {
    if (share >= last) continue;
    const PlotPoint corner = {share, Milliseconds(limit)};
    plot.HorizontalLine(0, share, corner.y, "limit");
    plot.Cross(corner, "limitmark");
    plot.Note(corner, LimitText(share, limit), "note");
  }
  for (size_t i = 0; i < kinds.size(); ++i) {
    plot.AddLegend(LegendShape::kLine, KindClass(i), Printable(kinds[i].name, kMaxNameWidth));
  }
  if (!data.latency_limits.empty()) {
    plot.AddLegend(LegendShape::kLine, "limit", "limit of all requests");
  }
  return plot;
}

absl::optional<Plot> StageBreakdown(const ReportData& data) {
  std::vector<std::pair<std::string, std::vector<Plot::BarPart>>> bars;
  double longest = 0;
  for (const NamedTally& kind : TalliesByKind(data.result)) {
    if (StagesInOrder(*kind.tally).empty()) continue;
    bars.emplace_back(kind.name, StageParts(kind));
    longest = std::max(longest, Sum(bars.back().second));
  }
  if (bars.empty()) return absl::nullopt;
  Plot plot({"stage-breakdown", "Where the time goes",
             "Mean time in each stage of answers that were OK, as the router tells it.  Rest: in "
             "the router outside of any stage.  The way to the router and waiting before it are "
             "not in here.",
             "Mean time of each stage of a request, by kind.", "mean time", ""},
            Axis::Linear(0, longest, LatencyLabel), Axis::Linear(0, 1, LatencyLabel));
  for (const auto& [kind, parts] : bars) {
    plot.AddBar(
        absl::StrCat(Printable(kind, kMaxNameWidth), ": ", LatencyLabel(Sum(parts)), " on average"),
        parts);
    AddPartsToLegend(parts, &plot);
  }
  return plot;
}

}  // namespace sightline
