#include "services/evaluator/tables_report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/evaluation/metrics.h"
#include "services/evaluator/layout_grids.h"
#include "services/evaluator/tables_cells.h"
#include "services/evaluator/tables_grids.h"

namespace sightline {
namespace {

// Keys in the order in which they are written here.
using Json = nlohmann::ordered_json;
using Ranking = TablesReport::Ranking;

constexpr int kFormatVersion = 2;

// --- for programs ---

Json IntervalJson(const Interval& interval) {
  return {{"value", interval.estimate}, {"low", interval.low}, {"high", interval.high}};
}

Json ValueJson(const PartRow& row, int index) {
  Json json = {{"value", row.values[index]},
               {"low", row.intervals[index].low},
               {"high", row.intervals[index].high}};
  if (!row.minus_first.empty()) json["minus_first"] = IntervalJson(row.minus_first[index]);
  return json;
}

Json TimeJson(const QueryTime& time) {
  Json json = {{"seconds_per_query", time.seconds}, {"computed", time.computed}};
  if (time.encoding_seconds.has_value()) json["encoding_seconds"] = *time.encoding_seconds;
  if (time.spread.has_value()) json["query_seconds"] = TimeSpreadJson(*time.spread);
  return json;
}

Json RankingJson(const Ranking& ranking) {
  Json json = {{"policy", ranking.policy}, {"depth", ranking.method.depth}};
  if (ranking.runs > 1) json["runs"] = ranking.runs;
  if (ranking.time.has_value()) json["time"] = TimeJson(*ranking.time);
  if (ranking.method.depth == 0) return json;
  if (ranking.kind.has_value()) json["rerank_scores"] = std::string(ScoreKindName(*ranking.kind));
  const Combination& combination = ranking.method.combination;
  json["combination"] = std::string(CombinationKindName(combination.kind));
  // As it was written: 0.1, not what a float makes of it.
  if (combination.kind != CombinationKind::kReplace) {
    json["lambda"] = Json::parse(absl::StrCat(combination.lambda));
  }
  return json;
}

Json PartJson(const PartRow& row) {
  Json json;
  for (const Direction direction : {Direction::kTextToImage, Direction::kImageToText}) {
    Json& own = json[std::string(DirectionName(direction))];
    own["query_count"] = row.queries[static_cast<int>(direction)];
    for (int m = 0; m < kQueryMeasureCount; ++m) {
      own[std::string(MeasureName(m))] = ValueJson(row, TableIndex(direction, m));
    }
    own["median_rank"] = IntervalJson(row.median_rank[static_cast<int>(direction)]);
    if (!row.minus_first.empty()) {
      own["median_rank"]["minus_first"] =
          IntervalJson(row.median_minus_first[static_cast<int>(direction)]);
    }
  }
  json["ar"] = ValueJson(row, kAverageRecall);
  json["rsum"] = ValueJson(row, kRecallSum);
  return json;
}

Json SettingsJson(const TablesReport& report) {
  const int first = FirstCutoff(report.recall);
  const bool expected = report.measure.ties == TieRule::kExpectedRank;
  Json matrices = Json::object(), ensembles = Json::object();
  for (const auto& [name, file] : report.matrices) matrices[name] = file;
  for (const auto& [name, members] : report.ensembles) ensembles[name] = members;
  Json json = {{"matrices", matrices},
               {"ensembles", ensembles},
               {"protocol", report.protocol},
               {"ties", expected ? "expected" : "order"},
               {"recall_cutoffs",
                {kRecallCutoffs[first], kRecallCutoffs[first + 1], kRecallCutoffs[first + 2]}},
               {"ndcg_cutoff", report.measure.ndcg_cutoff},
               {"bootstrap",
                {{"resamples", report.bootstrap.resamples},
                 {"seed", report.bootstrap.seed},
                 {"confidence", report.bootstrap.confidence}}}};
  if (report.lists.empty()) return json;
  json.erase("ties");  // whoever made the lists has decided
  json["lists"] = report.lists;
  json["list_length"] = report.list_length;
  json["queries_beyond_lists"] = report.queries_beyond_lists;
  return json;
}

std::string Number(double value) {
  return absl::StrFormat("%.6f", value);
}

// A measure's three columns.
void AddTitles(const std::string& measure, std::vector<std::string>* titles) {
  for (const char* const end : {"", "_low", "_high"}) titles->push_back(absl::StrCat(measure, end));
}

void AddNumbers(double value, const Interval& interval, std::vector<std::string>* fields) {
  for (const double number : {value, interval.low, interval.high}) {
    fields->push_back(Number(number));
  }
}

void AddValue(const PartRow& row, int index, std::vector<std::string>* fields) {
  AddNumbers(row.values[index], row.intervals[index], fields);
}

std::vector<std::string> CsvTitles() {
  std::vector<std::string> titles = {"protocol", "language",    "runs",  "policy",
                                     "depth",    "combination", "lambda"};
  for (const absl::string_view direction : {"ir", "tr"}) {
    titles.push_back(absl::StrCat(direction, "_query_count"));
    for (int m = 0; m < kQueryMeasureCount; ++m) {
      AddTitles(absl::StrCat(direction, "_", MeasureName(m)), &titles);
    }
    AddTitles(absl::StrCat(direction, "_median_rank"), &titles);
  }
  for (const char* const measure : {"ar", "rsum"}) AddTitles(measure, &titles);
  for (const char* const time :
       {"seconds_per_query", "encoding_seconds", "seconds_with_encoding", "computed"}) {
    titles.emplace_back(time);
  }
  AddTitles("meta_ave", &titles);
  return titles;
}

// A field with a comma, a quote or the end of a line, as RFC 4180 writes it.
std::string Quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  return absl::StrCat("\"", absl::StrReplaceAll(field, {{"\"", "\"\""}}), "\"");
}

void AddTimes(const TablesReport& report, size_t part, size_t ranking,
              std::vector<std::string>* fields) {
  const absl::optional<QueryTime>& time = report.rankings[ranking].time;
  const bool encoding = time.has_value() && time->encoding_seconds.has_value();
  fields->push_back(time.has_value() ? absl::StrCat(time->seconds) : "");
  fields->push_back(encoding ? absl::StrCat(*time->encoding_seconds) : "");
  const absl::optional<double> all = SecondsOfAll(report, part, ranking);
  fields->push_back(all.has_value() ? absl::StrCat(*all) : "");
  fields->push_back(!time.has_value() ? "" : time->computed ? "1" : "0");
}

void AddMetaAverage(const TablesReport& report, size_t ranking, std::vector<std::string>* fields) {
  // Of one language it is its AR.
  const Interval& meta = report.rows[ranking].meta_average;
  for (const double value : {meta.estimate, meta.low, meta.high}) {
    fields->push_back(report.parts.size() > 1 ? Number(value) : "");
  }
}

std::vector<std::string> CsvRow(const TablesReport& report, size_t part, size_t ranking) {
  const Method& method = report.rankings[ranking].method;
  const bool reranked = method.depth > 0;
  const bool sum = reranked && method.combination.kind != CombinationKind::kReplace;
  std::vector<std::string> fields = {
      Quoted(report.protocol),
      Quoted(report.parts[part].language),
      absl::StrCat(report.rankings[ranking].runs),
      report.rankings[ranking].policy,
      absl::StrCat(method.depth),
      reranked ? std::string(CombinationKindName(method.combination.kind)) : "",
      sum ? absl::StrCat(method.combination.lambda) : ""};
  const PartRow& row = report.rows[ranking].parts[part];
  for (const Direction direction : {Direction::kTextToImage, Direction::kImageToText}) {
    fields.push_back(absl::StrCat(row.queries[static_cast<int>(direction)]));
    for (int m = 0; m < kQueryMeasureCount; ++m) {
      AddValue(row, TableIndex(direction, m), &fields);
    }
    const Interval& median = row.median_rank[static_cast<int>(direction)];
    AddNumbers(median.estimate, median, &fields);
  }
  AddValue(row, kAverageRecall, &fields);
  AddValue(row, kRecallSum, &fields);
  AddTimes(report, part, ranking, &fields);
  AddMetaAverage(report, ranking, &fields);
  return fields;
}

// --- for people ---

std::string InOurs(const TablesReport& report) {
  std::string text;
  for (size_t part = 0; part < report.parts.size(); ++part) {
    absl::StrAppend(&text, part == 0 ? "" : "\n", PartTitle(report, part), "\n",
                    GridText(RecallGrid(report, part)), "\n", GridText(OtherGrid(report, part)));
  }
  if (report.parts.size() > 1) absl::StrAppend(&text, "\n", GridText(LanguageGrid(report)));
  return text;
}

std::string InLayout(const PaperLayout& layout, const TablesReport& report) {
  const std::vector<TableGrid> grids = LayoutGrids(layout, report);
  std::string text = absl::StrCat("As in ", layout.paper, "\n");
  for (size_t part = 0; part < grids.size(); ++part) {
    if (layout.of_parts()) absl::StrAppend(&text, PartTitle(report, part), "\n");
    text += GridText(grids[part]);
  }
  return text;
}

}  // namespace

std::string TablesText(const TablesReport& report) {
  std::string text;
  for (const PaperLayout* const layout : report.layouts) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", InLayout(*layout, report));
  }
  if (report.layouts.empty()) text = InOurs(report);
  for (const std::string& note : {TimeNote(report), ListsNote(report)}) {
    if (!note.empty()) absl::StrAppend(&text, "\n", note, "\n");
  }
  return text;
}

std::string TablesJson(const TablesReport& report) {
  Json json = {{"format_version", kFormatVersion},
               {"settings", SettingsJson(report)},
               {"tables", Json::array()}};
  for (size_t part = 0; part < report.parts.size(); ++part) {
    const TablePart& own = report.parts[part];
    Json table = {{"language", own.language},
                  {"pool_count", own.pools.size()},
                  {"image_count", own.pools.front().candidate_count(Direction::kTextToImage)},
                  {"caption_count", own.pools.front().candidate_count(Direction::kImageToText)},
                  {"methods", Json::array()}};
    for (size_t m = 0; m < report.rankings.size(); ++m) {
      Json method = RankingJson(report.rankings[m]);
      method.update(PartJson(report.rows[m].parts[part]));
      const absl::optional<double> all = SecondsOfAll(report, part, m);
      if (all.has_value()) method["time"]["seconds_with_encoding"] = *all;
      table["methods"].push_back(std::move(method));
    }
    json["tables"].push_back(std::move(table));
  }
  if (report.parts.size() > 1) {
    for (size_t m = 0; m < report.rankings.size(); ++m) {
      Json method = RankingJson(report.rankings[m]);
      method["meta_ave"] = IntervalJson(report.rows[m].meta_average);
      if (m > 0) method["meta_ave"]["minus_first"] = IntervalJson(*report.rows[m].meta_minus_first);
      json["languages"].push_back(std::move(method));
    }
  }
  return absl::StrCat(json.dump(2, ' ', false, Json::error_handler_t::replace), "\n");
}

std::string TablesCsv(const TablesReport& report) {
  std::string text = absl::StrCat(absl::StrJoin(CsvTitles(), ","), "\n");
  for (size_t part = 0; part < report.parts.size(); ++part) {
    for (size_t m = 0; m < report.rankings.size(); ++m) {
      absl::StrAppend(&text, absl::StrJoin(CsvRow(report, part, m), ","), "\n");
    }
  }
  return text;
}

}  // namespace sightline
