#include "services/evaluator/report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/bundle/declared_combinations.h"
#include "common/config/table.h"

namespace sightline {
namespace {

// Keys in the order in which they are written here.
using Json = nlohmann::ordered_json;

std::string Text(absl::string_view text) {
  return std::string(text);
}

std::string Percent(double share) {
  return absl::StrFormat("%.1f", 100 * share);
}

std::string Points(const Interval& gain) {
  return absl::StrFormat("%+.1f [%+.1f, %+.1f]", 100 * gain.estimate, 100 * gain.low,
                         100 * gain.high);
}

std::string Fractions(const Interval& gain) {
  return absl::StrFormat("%+.4f [%+.4f, %+.4f]", gain.estimate, gain.low, gain.high);
}

std::vector<std::string> NameAndDepth(const Method& method, bool declared) {
  return {absl::StrCat(MethodText(method), declared ? " (declared)" : ""),
          method.depth == 0 ? "-" : absl::StrCat(method.depth)};
}

std::vector<std::string> Row(const MethodResult& result, bool declared) {
  std::vector<std::string> row = NameAndDepth(result.method, declared);
  for (const double recall : result.metrics.recall) row.push_back(Percent(recall));
  row.push_back(absl::StrFormat("%.4f", result.metrics.mrr));
  row.push_back(result.gain.has_value() ? Points(result.gain->recall[0]) : "");
  row.push_back(result.gain.has_value() ? Fractions(result.gain->mrr) : "");
  return row;
}

std::string Title(const MeasureReport& report, const Measurement& measurement) {
  const EvaluatedIndex& target = report.target(measurement.direction);
  const int64_t queries =
      measurement.results.empty() ? 0 : measurement.results[0].metrics.query_count;
  return absl::StrCat(DirectionName(measurement.direction), ", ", SplitText(measurement.split),
                      report.live ? ", live" : "", ": ", WithThousands(queries), " queries, ",
                      WithThousands(target.item_count), " items of ", target.index, "/",
                      target.generation, "\n");
}

std::string ChoiceText(const Choice& choice, int list_length) {
  return absl::StrFormat(
      "choice for %s: %s (mean R@1 %s, MRR@%d %.4f)\n", DirectionName(choice.direction),
      choice.combination.has_value() ? CombinationText(*choice.combination) : kNoCombination,
      Percent(choice.recall_at_1), list_length, choice.mrr);
}

Json CombinationJson(const absl::optional<Combination>& combination) {
  if (!combination.has_value()) return {{"combination", kNoCombination}};
  Json json = {{"combination", Text(CombinationKindName(combination->kind))}};
  // As it was written: 0.1, not what a float makes of it.
  if (combination->kind != CombinationKind::kReplace) {
    json["lambda"] = Json::parse(absl::StrCat(combination->lambda));
  }
  return json;
}

Json DeclaredJson(const DeclaredCombination& declared) {
  if (!declared.by_default) return CombinationJson(absl::nullopt);
  return CombinationJson(declared.combination);
}

Json IndexJson(const EvaluatedIndex& index) {
  Json json = {{"index", index.index},
               {"generation", index.generation},
               {"item_count", index.item_count},
               {"encoder_model", index.encoder_model},
               {"reranker_model", index.reranker_model},
               {"reranker", index.reranker}};
  if (index.declared.has_value()) json["declared"] = DeclaredJson(*index.declared);
  return json;
}

Json IntervalJson(const Interval& interval) {
  return {{"difference", interval.estimate}, {"low", interval.low}, {"high", interval.high}};
}

Json GainJson(const Gain& gain) {
  Json json;
  for (size_t i = 0; i < kRecallCutoffs.size(); ++i) {
    json[absl::StrCat("recall_at_", kRecallCutoffs[i])] = IntervalJson(gain.recall[i]);
  }
  json["mrr"] = IntervalJson(gain.mrr);
  return json;
}

Json MethodJson(const MethodResult& result, bool declared) {
  Json json = {{"name", MethodText(result.method)}, {"depth", result.method.depth}};
  if (result.method.depth > 0) json.update(CombinationJson(result.method.combination));
  json["declared"] = declared;
  for (size_t i = 0; i < kRecallCutoffs.size(); ++i) {
    json["recall"][absl::StrCat(kRecallCutoffs[i])] = result.metrics.recall[i];
  }
  json["mrr"] = result.metrics.mrr;
  if (result.gain.has_value()) json["minus_retrieval"] = GainJson(*result.gain);
  for (const EarlierGain& earlier : result.over_earlier) {
    Json minus = {{"name", earlier.name}, {"depth", earlier.depth}};
    minus.update(GainJson(earlier.gain));
    json["minus_earlier"].push_back(std::move(minus));
  }
  json["ranks"] = absl::StrJoin(result.ranks, " ");  // a number a line would be five times as long
  return json;
}

Json MeasurementJson(const MeasureReport& report, const Measurement& measurement) {
  const EvaluatedIndex& target = report.target(measurement.direction);
  Json json = {{"direction", Text(DirectionName(measurement.direction))},
               {"split", SplitText(measurement.split)},
               {"query_count", measurement.results[0].metrics.query_count},
               {"queries_sha256", measurement.queries_sha256},
               {"pool_size", target.item_count},
               {"methods", Json::array()}};
  for (const MethodResult& result : measurement.results) {
    json["methods"].push_back(MethodJson(result, IsDeclared(result.method, target.declared)));
  }
  return json;
}

// A method over both directions of a split.
struct BothWays {
  const MethodResult* result = nullptr;  // of one of them, for its method
  double sum = 0;                        // of R@1, R@5 and R@10 in both
};

// Of each method that was measured both ways, by the split of `first`, the measurement of a
// direction whose other one follows later.
std::vector<BothWays> BothWaysOf(const MeasureReport& report, const Measurement& first) {
  std::vector<BothWays> both;
  for (const Measurement& other : report.measurements) {
    if (&other <= &first || other.split != first.split || other.direction == first.direction) {
      continue;
    }
    for (const MethodResult& result : first.results) {
      const MethodResult* const back = other.Find(result.method);
      if (back == nullptr) continue;
      BothWays& method = both.emplace_back();
      method.result = &result;
      for (const int cutoff : {1, 5, 10}) {
        method.sum += result.metrics.recall_at(cutoff) + back->metrics.recall_at(cutoff);
      }
    }
  }
  return both;
}

std::string BothWaysText(const MeasureReport& report, bool all) {
  std::string text;
  for (const Measurement& first : report.measurements) {
    Table table({{"method"}, {"depth", true}, {"AR", true}, {"rsum", true}});
    const std::vector<BothWays> both = BothWaysOf(report, first);
    for (const BothWays& method : both) {
      const Method& of = method.result->method;
      if (!all && of.depth > 0 && of.combination.kind != CombinationKind::kReplace) continue;
      table.AddRow({MethodText(of), of.depth == 0 ? "-" : absl::StrCat(of.depth),
                    Percent(method.sum / 6), absl::StrFormat("%.1f", 100 * method.sum)});
    }
    if (both.empty()) continue;
    absl::StrAppend(&text, "\nboth directions, ", SplitText(first.split), "\n",
                    table.ToString(/*indent=*/2));
  }
  return text;
}

Json BothWaysJson(const MeasureReport& report) {
  Json json = Json::array();
  for (const Measurement& first : report.measurements) {
    Json methods = Json::array();
    for (const BothWays& method : BothWaysOf(report, first)) {
      const Method& of = method.result->method;
      Json one = {{"name", MethodText(of)}, {"depth", of.depth}};
      if (of.depth > 0) one.update(CombinationJson(of.combination));
      one["ar"] = method.sum / 6;
      one["rsum"] = method.sum;
      methods.push_back(std::move(one));
    }
    if (!methods.empty()) {
      json.push_back({{"split", SplitText(first.split)}, {"methods", std::move(methods)}});
    }
  }
  return json;
}

// Whether its row is shown.
bool IsShown(const Method& method, bool declared, bool all) {
  return all || declared || method.depth == 0 ||
         method.combination.kind == CombinationKind::kReplace;
}

std::string OverText(const Method& method, const EarlierGain& earlier) {
  if (earlier.name == MethodText(method) && earlier.depth == method.depth) return "itself";
  return absl::StrCat(earlier.name, earlier.depth > 0 ? absl::StrCat(" ", earlier.depth) : "",
                      " (declared)");
}

std::string EarlierText(const MeasureReport& report, bool all) {
  std::string text;
  for (const Measurement& measurement : report.measurements) {
    Table table({{"method"},
                 {"depth", true},
                 {"over"},
                 {"R@1 gain", true},
                 {"R@5 gain", true},
                 {"R@10 gain", true},
                 {"R@20 gain", true},
                 {"MRR gain", true}});
    for (const MethodResult& result : measurement.results) {
      const bool declared =
          IsDeclared(result.method, report.target(measurement.direction).declared);
      if (!IsShown(result.method, declared, all)) continue;
      std::vector<std::string> row = NameAndDepth(result.method, declared);
      if (result.over_earlier.empty()) row.push_back("not measured then");
      for (const EarlierGain& earlier : result.over_earlier) {
        row.resize(2);
        row.push_back(OverText(result.method, earlier));
        for (const Interval& gain : earlier.gain.recall) row.push_back(Points(gain));
        row.push_back(Fractions(earlier.gain.mrr));
        table.AddRow(row);
      }
      if (result.over_earlier.empty()) {
        row.resize(8);
        table.AddRow(row);
      }
    }
    absl::StrAppend(
        &text, "\n", DirectionName(measurement.direction), ", ", SplitText(measurement.split),
        ", over ", report.earlier,
        absl::StrFormat(", with intervals of %g %%\n", 100 * report.bootstrap.confidence),
        table.ToString(/*indent=*/2));
  }
  return text;
}

}  // namespace

bool IsDeclared(const Method& method, const absl::optional<DeclaredCombination>& declared) {
  if (!declared.has_value()) return false;
  if (!declared->by_default) return method.depth == 0;
  return method.depth > 0 && SameCombination(method.combination, declared->combination);
}

std::string CaptionsText(bool every_caption) {
  return every_caption ? "all" : "first";
}

std::string SplitText(absl::optional<Split> split) {
  return split.has_value() ? Text(SplitName(*split)) : "all";
}

std::string ReportText(const MeasureReport& report, bool all) {
  std::string text;
  const std::string sure =
      absl::StrCat("[", absl::StrFormat("%g", 100 * report.bootstrap.confidence), " %]");
  for (const Measurement& measurement : report.measurements) {
    Table table({{"method"},
                 {"depth", true},
                 {"R@1", true},
                 {"R@5", true},
                 {"R@10", true},
                 {"R@20", true},
                 {absl::StrCat("MRR@", report.list_length), true},
                 {absl::StrCat("R@1 gain ", sure), true},
                 {absl::StrCat("MRR gain ", sure), true}});
    const auto& declared = report.target(measurement.direction).declared;
    for (const MethodResult& result : measurement.results) {
      const bool is_declared = IsDeclared(result.method, declared);
      if (IsShown(result.method, is_declared, all)) table.AddRow(Row(result, is_declared));
    }
    absl::StrAppend(&text, text.empty() ? "" : "\n", Title(report, measurement),
                    table.ToString(/*indent=*/2));
  }
  if (report.every_caption) text += BothWaysText(report, all);
  if (!report.earlier.empty()) text += EarlierText(report, all);
  if (!report.choices.empty()) text += "\n";
  for (const Choice& choice : report.choices) text += ChoiceText(choice, report.list_length);
  return text;
}

std::string ReportJson(const MeasureReport& report) {
  Json json = {{"format_version", kReportVersion},
               {"mode", report.live ? "live" : "in_process"},
               {"images", IndexJson(report.images)},
               {"captions", IndexJson(report.captions)},
               {"settings",
                {{"language", report.language},
                 {"captions", CaptionsText(report.every_caption)},
                 {"depths", report.depths},
                 {"limit", report.limit},
                 {"list_length", report.list_length},
                 {"bootstrap",
                  {{"resamples", report.bootstrap.resamples},
                   {"seed", report.bootstrap.seed},
                   {"confidence", report.bootstrap.confidence}}}}},
               {"results", Json::array()}};
  for (const Measurement& measurement : report.measurements) {
    json["results"].push_back(MeasurementJson(report, measurement));
  }
  if (!report.earlier.empty()) json["earlier"] = report.earlier;
  if (report.every_caption) json["both_directions"] = BothWaysJson(report);
  for (const Choice& choice : report.choices) {
    Json& of_direction = json["choice"][Text(DirectionName(choice.direction))];
    of_direction = CombinationJson(choice.combination);
    of_direction["mean_recall_at_1"] = choice.recall_at_1;
    of_direction["mean_mrr"] = choice.mrr;
  }
  // A file's name may be no UTF-8.
  return absl::StrCat(json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace),
                      "\n");
}

}  // namespace sightline
