#include "services/evaluator/tables_report.h"

#include <array>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/config/table.h"
#include "common/evaluation/metrics.h"

namespace sightline {
namespace {

// Keys in the order in which they are written here.
using Json = nlohmann::ordered_json;
using Ranking = TablesReport::Ranking;

constexpr int kFormatVersion = 1;

// The papers' names: TR finds texts, IR images.
absl::string_view ShortName(Direction direction) {
  return direction == Direction::kImageToText ? "TR" : "IR";
}

std::array<Direction, 2> ColumnOrder(const TablesReport& report) {
  if (report.image_to_text_first) return {Direction::kImageToText, Direction::kTextToImage};
  return {Direction::kTextToImage, Direction::kImageToText};
}

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

// "be:ce replace".
std::string RankingText(const Ranking& ranking) {
  if (ranking.method.depth == 0) return ranking.policy;
  return absl::StrCat(ranking.policy, " ", MethodText(ranking.method));
}

std::vector<std::string> FirstCells(const Ranking& ranking) {
  return {RankingText(ranking),
          ranking.method.depth == 0 ? "-" : absl::StrCat(ranking.method.depth)};
}

std::string NdcgTitle(const TablesReport& report) {
  return absl::StrCat("NDCG@", report.measure.ndcg_cutoff);
}

std::string PartTitle(const TablesReport& report, size_t part) {
  const TablePart& own = report.parts[part];
  std::string title = Printable(report.protocol, 0);
  if (!own.language.empty()) absl::StrAppend(&title, ", ", Printable(own.language, 0));
  if (own.pools.size() > 1) absl::StrAppend(&title, ", mean of ", own.pools.size(), " folds");
  const EvaluationPool& pool = own.pools.front();
  const auto& queries = report.rows.front().parts[part].queries;
  absl::StrAppend(&title, ": ", WithThousands(queries[0]), " captions look for ",
                  WithThousands(static_cast<int64_t>(pool.images.size())), " images, ",
                  WithThousands(queries[1]), " images for ",
                  WithThousands(static_cast<int64_t>(pool.captions.size())), " captions\n");
  return title;
}

std::string RecallTable(const TablesReport& report, size_t part) {
  const int first = FirstCutoff(report.recall);
  std::vector<Table::Column> columns = {{"method"}, {"depth", true}};
  for (const Direction direction : ColumnOrder(report)) {
    for (int i = first; i < first + 3; ++i) {
      columns.push_back({absl::StrCat(ShortName(direction), " R@", kRecallCutoffs[i]), true});
    }
  }
  columns.push_back({absl::StrCat("AR ", Sure(report)), true});
  columns.push_back({"rsum", true});
  const bool compared = report.rankings.size() > 1;
  if (compared) columns.push_back({absl::StrCat("AR - first ", Sure(report)), true});
  Table table(columns);
  for (size_t m = 0; m < report.rankings.size(); ++m) {
    const PartRow& row = report.rows[m].parts[part];
    std::vector<std::string> cells = FirstCells(report.rankings[m]);
    for (const Direction direction : ColumnOrder(report)) {
      for (int i = first; i < first + 3; ++i) {
        cells.push_back(Percent(row.values[TableIndex(direction, kRecallAt1 + i)]));
      }
    }
    cells.push_back(PercentWithin(row.intervals[kAverageRecall]));
    cells.push_back(Percent(row.values[kRecallSum]));
    if (compared) cells.push_back(m == 0 ? "" : Points(row.minus_first[kAverageRecall]));
    table.AddRow(cells);
  }
  return table.ToString(/*indent=*/2);
}

std::string OtherTable(const TablesReport& report, size_t part) {
  std::vector<Table::Column> columns = {{"method"}, {"depth", true}};
  for (const Direction direction : ColumnOrder(report)) {
    for (const std::string& title : {std::string("MRR"), std::string("MAP"), NdcgTitle(report),
                                     std::string("median"), std::string("mean rank")}) {
      columns.push_back({absl::StrCat(ShortName(direction), " ", title), true});
    }
  }
  Table table(columns);
  for (size_t m = 0; m < report.rankings.size(); ++m) {
    const PartRow& row = report.rows[m].parts[part];
    std::vector<std::string> cells = FirstCells(report.rankings[m]);
    for (const Direction direction : ColumnOrder(report)) {
      for (const int measure : {kReciprocalOfRank, kAveragePrecision, kNdcg}) {
        cells.push_back(absl::StrFormat("%.3f", row.values[TableIndex(direction, measure)]));
      }
      cells.push_back(absl::StrFormat("%.1f", row.median_rank[static_cast<int>(direction)]));
      cells.push_back(absl::StrFormat("%.1f", row.values[TableIndex(direction, kRank)]));
    }
    table.AddRow(cells);
  }
  return table.ToString(/*indent=*/2);
}

std::string LanguageTable(const TablesReport& report) {
  std::vector<Table::Column> columns = {{"method"}, {"depth", true}};
  for (const TablePart& part : report.parts) {
    columns.push_back({absl::StrCat(part.language, " AR"), true});
  }
  columns.push_back({absl::StrCat("Meta-Ave ", Sure(report)), true});
  const bool compared = report.rankings.size() > 1;
  if (compared) columns.push_back({absl::StrCat("- first ", Sure(report)), true});
  Table table(columns);
  for (size_t m = 0; m < report.rankings.size(); ++m) {
    const MethodRow& row = report.rows[m];
    std::vector<std::string> cells = FirstCells(report.rankings[m]);
    for (const PartRow& part : row.parts) cells.push_back(Percent(part.values[kAverageRecall]));
    cells.push_back(PercentWithin(row.meta_average));
    if (compared) cells.push_back(m == 0 ? "" : Points(*row.meta_minus_first));
    table.AddRow(cells);
  }
  return table.ToString(/*indent=*/2);
}

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

Json RankingJson(const Ranking& ranking) {
  Json json = {{"policy", ranking.policy}, {"depth", ranking.method.depth}};
  if (ranking.method.depth == 0) return json;
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
    own["median_rank"] = row.median_rank[static_cast<int>(direction)];
  }
  json["ar"] = ValueJson(row, kAverageRecall);
  json["rsum"] = ValueJson(row, kRecallSum);
  return json;
}

Json SettingsJson(const TablesReport& report) {
  const int first = FirstCutoff(report.recall);
  const bool expected = report.measure.ties == TieRule::kExpectedRank;
  return {{"protocol", report.protocol},
          {"ties", expected ? "expected" : "order"},
          {"recall_cutoffs",
           {kRecallCutoffs[first], kRecallCutoffs[first + 1], kRecallCutoffs[first + 2]}},
          {"ndcg_cutoff", report.measure.ndcg_cutoff},
          {"bootstrap",
           {{"resamples", report.bootstrap.resamples},
            {"seed", report.bootstrap.seed},
            {"confidence", report.bootstrap.confidence}}}};
}

std::string Number(double value) {
  return absl::StrFormat("%.6f", value);
}

std::vector<std::string> CsvTitles() {
  std::vector<std::string> titles = {"protocol", "language",    "policy",
                                     "depth",    "combination", "lambda"};
  for (const absl::string_view direction : {"ir", "tr"}) {
    titles.push_back(absl::StrCat(direction, "_query_count"));
    for (int m = 0; m < kQueryMeasureCount; ++m) {
      titles.push_back(absl::StrCat(direction, "_", MeasureName(m)));
    }
    titles.push_back(absl::StrCat(direction, "_median_rank"));
  }
  for (const absl::string_view last : {"ar", "ar_low", "ar_high", "rsum"}) {
    titles.emplace_back(last);
  }
  return titles;
}

// A field with a comma, a quote or the end of a line, as RFC 4180 writes it.
std::string Quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  return absl::StrCat("\"", absl::StrReplaceAll(field, {{"\"", "\"\""}}), "\"");
}

std::vector<std::string> CsvRow(const TablesReport& report, size_t part, size_t ranking) {
  const Method& method = report.rankings[ranking].method;
  const bool reranked = method.depth > 0;
  const bool sum = reranked && method.combination.kind != CombinationKind::kReplace;
  std::vector<std::string> fields = {
      Quoted(report.protocol),
      Quoted(report.parts[part].language),
      report.rankings[ranking].policy,
      absl::StrCat(method.depth),
      reranked ? std::string(CombinationKindName(method.combination.kind)) : "",
      sum ? absl::StrCat(method.combination.lambda) : ""};
  const PartRow& row = report.rows[ranking].parts[part];
  for (const Direction direction : {Direction::kTextToImage, Direction::kImageToText}) {
    fields.push_back(absl::StrCat(row.queries[static_cast<int>(direction)]));
    for (int m = 0; m < kQueryMeasureCount; ++m) {
      fields.push_back(Number(row.values[TableIndex(direction, m)]));
    }
    fields.push_back(Number(row.median_rank[static_cast<int>(direction)]));
  }
  fields.push_back(Number(row.values[kAverageRecall]));
  fields.push_back(Number(row.intervals[kAverageRecall].low));
  fields.push_back(Number(row.intervals[kAverageRecall].high));
  fields.push_back(Number(row.values[kRecallSum]));
  return fields;
}

}  // namespace

std::string TablesText(const TablesReport& report) {
  std::string text;
  for (size_t part = 0; part < report.parts.size(); ++part) {
    absl::StrAppend(&text, part == 0 ? "" : "\n", PartTitle(report, part),
                    RecallTable(report, part), "\n", OtherTable(report, part));
  }
  if (report.parts.size() > 1) absl::StrAppend(&text, "\n", LanguageTable(report));
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
                  {"image_count", own.pools.front().images.size()},
                  {"caption_count", own.pools.front().captions.size()},
                  {"methods", Json::array()}};
    for (size_t m = 0; m < report.rankings.size(); ++m) {
      Json method = RankingJson(report.rankings[m]);
      method.update(PartJson(report.rows[m].parts[part]));
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
