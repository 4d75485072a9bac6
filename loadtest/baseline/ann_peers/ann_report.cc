#include "loadtest/baseline/ann_peers/ann_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "common/config/table.h"

namespace sightline {
namespace {

using Json = nlohmann::ordered_json;

double Percentile(std::vector<float> seconds, double share) {
  const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(seconds.size() - 1));
  std::nth_element(seconds.begin(), seconds.begin() + place, seconds.end());
  return seconds[place];
}

std::string Rate(absl::optional<double> seconds) {
  return seconds.has_value() ? absl::StrFormat("%.0f", 1 / *seconds) : "-";
}

// Of `a` to `b` in each round; empty if either never finds as much.
std::vector<double> RateRatios(const MeasuredContender& a, const MeasuredContender& b,
                               double recall, int rounds) {
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const absl::optional<double> seconds = a.SecondsAtRecall(recall, round);
    const absl::optional<double> others = b.SecondsAtRecall(recall, round);
    if (seconds.has_value() && others.has_value()) ratios.push_back(*others / *seconds);
  }
  return ratios;
}

struct Comparison {
  double recall;
  const MeasuredContender* ours;
  const MeasuredContender* other;
  Quartiles rate;
};

std::vector<Comparison> Compare(const AnnReport& report) {
  std::vector<Comparison> comparisons;
  for (const double recall : report.recalls) {
    for (const MeasuredContender& ours : report.contenders) {
      if (!ours.contender->ours()) continue;
      for (const MeasuredContender& other : report.contenders) {
        const auto ratios = RateRatios(ours, other, recall, report.rounds);
        if (&other == &ours || ratios.empty()) continue;
        comparisons.push_back({recall, &ours, &other, QuartilesOf(ratios)});
      }
    }
  }
  return comparisons;
}

double BytesRatio(const Comparison& comparison) {
  return static_cast<double>(comparison.ours->bytes) / static_cast<double>(comparison.other->bytes);
}

std::string RatesTable(const AnnReport& report, double recall) {
  Table table({{"at recall " + absl::StrFormat("%g", recall)},
               {"bytes an item", true},
               {"CPU s to build", true},
               {"queries/s", true},
               {"least effort"},
               {"recall", true},
               {"p50 ms", true},
               {"p99 ms", true},
               {"recall@100", true}});
  for (const MeasuredContender& contender : report.contenders) {
    std::vector<std::string> cells = {
        contender.contender->name(),
        absl::StrFormat("%.0f", static_cast<double>(contender.bytes) / report.items),
        absl::StrFormat("%.0f", contender.build_seconds),
        Rate(contender.SecondsAtRecall(recall, absl::nullopt))};
    if (const MeasuredEffort* const effort = contender.FastestAt(recall)) {
      cells.push_back(effort->effort.label);
      cells.push_back(absl::StrFormat("%.4f", effort->recall));
      cells.push_back(absl::StrFormat("%.3f", 1e3 * Percentile(effort->seconds, 0.5)));
      cells.push_back(absl::StrFormat("%.3f", 1e3 * Percentile(effort->seconds, 0.99)));
      cells.push_back(absl::StrFormat("%.4f", effort->recall_100));
    } else {
      cells.insert(cells.end(), 5, "-");
    }
    table.AddRow(cells);
  }
  return table.ToString();
}

Json EffortJson(const MeasuredEffort& effort) {
  Json rates = Json::array();
  for (const double seconds : effort.round_seconds) rates.push_back(1 / seconds);
  return {{"effort", effort.effort.label},
          {"recall", effort.recall},
          {"recall_at_100", effort.recall_100},
          {"queries_per_second", 1 / QuartilesOf(effort.round_seconds).median},
          {"p50_ms", 1e3 * Percentile(effort.seconds, 0.5)},
          {"p99_ms", 1e3 * Percentile(effort.seconds, 0.99)},
          {"rounds", rates}};
}

Json ContenderJson(const AnnReport& report, const MeasuredContender& contender) {
  Json efforts = Json::array(), at = Json::array();
  for (const MeasuredEffort& effort : contender.efforts) efforts.push_back(EffortJson(effort));
  for (const double recall : report.recalls) {
    const absl::optional<double> seconds = contender.SecondsAtRecall(recall, absl::nullopt);
    if (!seconds.has_value()) continue;
    at.push_back({{"recall", recall}, {"queries_per_second", 1 / *seconds}});
  }
  return {{"name", contender.contender->name()},
          {"ours", contender.contender->ours()},
          {"bytes", contender.bytes},
          {"bytes_per_item", static_cast<double>(contender.bytes) / report.items},
          {"build_seconds", contender.build_seconds},
          {"at", at},
          {"efforts", efforts}};
}

}  // namespace

std::string TextOf(const AnnReport& report) {
  std::string text = absl::StrCat(
      report.items_are, "; ", report.queries, " queries one at a time, top ", report.top_k, "; ",
      report.rounds, " rounds; ", report.cpu, absl::StrFormat(", load before %.2f\n", report.load));
  for (const double recall : report.recalls) {
    absl::StrAppend(&text, "\n", RatesTable(report, recall));
  }
  Table table(
      {{"recall", true}, {"ours"}, {"to"}, {"rate", true}, {"quartiles"}, {"memory", true}});
  for (const Comparison& comparison : Compare(report)) {
    table.AddRow({absl::StrFormat("%g", comparison.recall), comparison.ours->contender->name(),
                  comparison.other->contender->name(),
                  absl::StrFormat("%.2f", comparison.rate.median),
                  absl::StrFormat("[%.2f, %.2f]", comparison.rate.lower, comparison.rate.upper),
                  absl::StrFormat("%.2f", BytesRatio(comparison))});
  }
  if (!table.empty()) absl::StrAppend(&text, "\n", table.ToString());
  return text;
}

std::string JsonOf(const AnnReport& report) {
  Json contenders = Json::array(), ratios = Json::array();
  for (const MeasuredContender& contender : report.contenders) {
    contenders.push_back(ContenderJson(report, contender));
  }
  for (const Comparison& comparison : Compare(report)) {
    ratios.push_back({{"recall", comparison.recall},
                      {"ours", comparison.ours->contender->name()},
                      {"to", comparison.other->contender->name()},
                      {"rate", comparison.rate.median},
                      {"lower", comparison.rate.lower},
                      {"upper", comparison.rate.upper},
                      {"bytes", BytesRatio(comparison)}});
  }
  const Json json = {{"items", report.items_are},
                     {"queries", report.queries},
                     {"top_k", report.top_k},
                     {"rounds", report.rounds},
                     {"cpu", report.cpu},
                     {"load", report.load},
                     {"processor_time", report.processor_time},
                     {"contenders", contenders},
                     {"ratios", ratios}};
  return absl::StrCat(json.dump(1), "\n");
}

}  // namespace sightline
