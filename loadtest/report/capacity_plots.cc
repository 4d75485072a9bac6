#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "loadtest/report/figures.h"
#include "loadtest/report/plots.h"

namespace sightline {
namespace {

double HighestRate(const ReportedCapacity& capacity) {
  double highest = 0;
  for (const CurvePoint& point : capacity.curve) highest = std::max(highest, point.rate);
  return 1.04 * highest;
}

Axis RateAxis(const ReportedCapacity& capacity) {
  return Axis::Linear(0, HighestRate(capacity), RateLabel);
}

// With words beside their lines, on different heights and sides, as they may be close.
void DrawKneeAndCapacity(const ReportedCapacity& capacity, double knee_note, double rate_note,
                         Plot* plot) {
  const double knee = capacity.knee.has_value() ? capacity.curve[*capacity.knee].rate : 0;
  const bool knee_first = capacity.knee.has_value() && knee < capacity.rate;
  const auto side = [](bool first) { return first ? Plot::Side::kLeft : Plot::Side::kRight; };
  if (capacity.rate > 0) {
    plot->Band(0, capacity.rate, "holds");
    plot->VerticalLine(capacity.rate, "capacityline");
    plot->Note({capacity.rate, rate_note}, absl::StrCat("capacity ", RateText(capacity.rate)),
               "note strong", side(capacity.knee.has_value() && !knee_first));
  }
  if (!capacity.knee.has_value()) return;
  plot->VerticalLine(knee, "kneeline");
  plot->Note({knee, knee_note}, absl::StrCat("knee ", RateText(knee)), "note strong",
             side(knee_first));
}

// A dot where the SLO is met and a cross where it is not: not by colour alone.
void DrawPoints(const ReportedCapacity& capacity, const std::vector<PlotPoint>& points,
                Plot* plot) {
  for (size_t i = 0; i < points.size(); ++i) {
    if (std::isnan(points[i].y)) continue;
    if (capacity.MeetsSlo(capacity.curve[i])) {
      plot->Dot(points[i], "met");
    } else {
      plot->Cross(points[i], "notmet");
    }
  }
  plot->AddLegend(LegendShape::kDot, "met", "meets the SLO");
  plot->AddLegend(LegendShape::kCross, "notmet", "does not");
  if (capacity.knee.has_value()) plot->AddLegend(LegendShape::kLine, "kneeline", "knee");
}

void SetHover(const ReportedCapacity& capacity, Plot* plot) {
  std::vector<double> rates;
  std::string table = "offered\tanswered\tp50\tp99\terrors\tdegraded";
  for (const CurvePoint& point : capacity.curve) {
    rates.push_back(point.rate);
    std::vector<std::string> cells = RateCells(capacity, point);
    cells.pop_back();  // crosses and dots tell it
    absl::StrAppend(&table, "\n", absl::StrJoin(cells, "\t"));
  }
  plot->SetHover(std::move(rates), std::move(table));
}

}  // namespace

absl::optional<Plot> SaturationPlot(const ReportData& data) {
  if (!data.capacity.has_value() || data.capacity->curve.empty()) return absl::nullopt;
  const ReportedCapacity& capacity = *data.capacity;
  const double highest = HighestRate(capacity);
  Plot plot({"saturation-curve", "Saturation curve",
             "Answers over offered load.  On the thin line everything is answered; the knee is "
             "where more load stops to bring more answers.",
             absl::StrCat("Answered over offered rate at ", capacity.curve.size(),
                          " rates. Capacity: ", CapacityText(capacity), "."),
             "offered, requests/s", "answered/s"},
            RateAxis(capacity), RateAxis(capacity));
  std::vector<PlotPoint> points;
  for (const CurvePoint& point : capacity.curve) points.push_back({point.rate, point.achieved});
  DrawKneeAndCapacity(capacity, 0.03 * highest, 0.11 * highest, &plot);
  plot.Line({{0, 0}, {highest, highest}}, "ideal");
  plot.Line(points, "p90");
  plot.AddLegend(LegendShape::kLine, "p90", "answered");
  plot.AddLegend(LegendShape::kLine, "ideal", "all answered");
  DrawPoints(capacity, points, &plot);
  SetHover(capacity, &plot);
  return plot;
}

absl::optional<Plot> LatencyOverRate(const ReportData& data) {
  if (!data.capacity.has_value()) return absl::nullopt;
  const ReportedCapacity& capacity = *data.capacity;
  std::vector<PlotPoint> p50, p99;
  PlotRange range;
  for (const CurvePoint& point : capacity.curve) {
    p50.push_back({point.rate, Milliseconds(point.p50)});
    p99.push_back({point.rate, Milliseconds(point.p99)});
    range.Add(p50.back().y);
    range.Add(p99.back().y);
  }
  if (range.high == 0) return absl::nullopt;
  for (const auto& [share, limit] : data.latency_limits) {
    range.high = std::max(range.high, Milliseconds(limit));
  }
  Plot plot({"latency-over-rate", "Latency over offered rate",
             "From when requests were meant to be sent.  Of a rate that was measured more than "
             "once, the median of its windows.",
             absl::StrCat("p50 and p99 at ", capacity.curve.size(), " rates, from ",
                          LatencyLabel(range.low), " to ", LatencyLabel(range.high), "."),
             "offered, requests/s", "latency, log"},
            RateAxis(capacity), Axis::Log(range.low, range.high, LatencyLabel));
  DrawKneeAndCapacity(capacity, range.low, 1.3 * range.low, &plot);
  for (const auto& [share, limit] : data.latency_limits) {
    plot.HorizontalLine(0, HighestRate(capacity), Milliseconds(limit), "limit");
    plot.Note({0, Milliseconds(limit)}, LimitText(share, limit), "note");
  }
  plot.Line(p99, "p99");
  plot.Line(p50, "p50");
  plot.AddLegend(LegendShape::kLine, "p50", "p50");
  plot.AddLegend(LegendShape::kLine, "p99", "p99");
  if (!data.latency_limits.empty()) plot.AddLegend(LegendShape::kLine, "limit", "limit");
  DrawPoints(capacity, p99, &plot);
  SetHover(capacity, &plot);
  return plot;
}

}  // namespace sightline
