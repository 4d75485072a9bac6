#include "loadtest/report/text_report.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/table.h"
#include "loadtest/report/figures.h"

namespace sightline {
namespace {

constexpr int kIndent = 2;
constexpr int kMaxNameWidth = 40;
constexpr int kMaxLineWidth = 160;

std::string Head(const ReportData& data) {
  const LoadResult& run = data.result;
  std::string text =
      absl::StrCat(OutcomeWord(data.verdict.outcome), "  ", Printable(run.scenario, kMaxNameWidth),
                   ": ", CriteriaSummary(data.verdict), "\n");
  for (const std::string& doubt : data.verdict.doubts) {
    absl::StrAppend(&text, "  in doubt: ", Printable(doubt, kMaxLineWidth), "\n");
  }
  absl::StrAppend(&text, "  ", TimeText(run.started), ", ", LengthText(run.length), " after ",
                  LengthText(run.warm_up), " of warm-up, ", RateText(run.intended_rate),
                  " intended",
                  run.target.empty() ? "" : absl::StrCat(", ", Printable(run.target, 60)), "\n");
  return text;
}

std::string Criteria(const Verdict& verdict) {
  Table table({{"criterion", false, kMaxNameWidth},
               {"wanted", false, kMaxNameWidth},
               {"measured", false, 80},
               {""}});
  for (const Criterion& row : verdict.criteria) {
    table.AddRow({row.name, row.wanted, MeasuredText(row), CriterionStateName(row.state)});
  }
  return table.empty() ? "" : absl::StrCat("\n", table.ToString(kIndent));
}

std::vector<Table::Column> LatencyColumns(const char* first) {
  std::vector<Table::Column> columns;
  for (const std::string& title : LatencyTitles(first)) columns.push_back({title, true});
  columns[0] = {first, false, kMaxNameWidth};
  return columns;
}

std::string Latencies(const LoadResult& run) {
  Table table(LatencyColumns("latency"));
  for (const NamedTally& kind : TalliesByKind(run)) {
    table.AddRow(LatencyCells(kind.name, kind.tally->latency));
  }
  return absl::StrCat("\n", table.ToString(kIndent));
}

std::string Recalls(const LoadResult& run) {
  std::vector<Table::Column> columns;
  for (const std::string& title : RecallTitles()) columns.push_back({title, true});
  columns.front() = {columns.front().title, false, kMaxNameWidth};
  columns.back() = {columns.back().title, false, kMaxLineWidth};
  Table table(columns);
  for (const std::vector<std::string>& row : RecallRows(run)) table.AddRow(row);
  return table.empty() ? "" : absl::StrCat("\n", table.ToString(kIndent));
}

std::string Devices(const LoadResult& run) {
  std::vector<Table::Column> columns;
  for (const std::string& title : DeviceTitles()) columns.push_back({title, true});
  columns.front() = {columns.front().title, false, kMaxLineWidth};
  Table table(columns);
  for (const std::vector<std::string>& row : DeviceRows(run)) table.AddRow(row);
  return table.empty() ? "" : absl::StrCat("\n", table.ToString(kIndent));
}

// With the part of the time that each stage takes, of all and of each kind.
std::string Stages(const LoadResult& run) {
  const std::vector<NamedTally> kinds = TalliesByKind(run);
  std::vector<Table::Column> columns = LatencyColumns("stage");
  for (const NamedTally& kind : kinds) {
    columns.push_back({absl::StrCat("of ", Printable(kind.name, kMaxNameWidth)), true});
  }
  Table table(columns);
  for (const NamedHistogram& stage : StagesInOrder(run.total)) {
    std::vector<std::string> cells = LatencyCells(stage.name, *stage.histogram);
    for (const NamedTally& kind : kinds) cells.push_back(StageShare(*kind.tally, stage.name));
    table.AddRow(cells);
  }
  return table.empty() ? "" : absl::StrCat("\n", table.ToString(kIndent));
}

std::string WithShare(int64_t count, double share, const std::vector<Count>& parts) {
  return absl::StrCat(WithThousands(count), " (", FormatShare(share), ")",
                      parts.empty() ? "" : ": ", CountsText(parts));
}

std::string Answers(const Tally& tally, absl::Duration length) {
  Table table({{""}, {"", false, kMaxLineWidth}});
  table.AddRow(
      {"answered", absl::StrCat(WithThousands(tally.ok), " of ", WithThousands(tally.count))});
  if (tally.failed() > 0) {
    table.AddRow({"errors", WithShare(tally.failed(), tally.error_share(), ErrorCounts(tally))});
  }
  if (tally.degraded > 0) {
    table.AddRow({"degraded", WithShare(tally.degraded, tally.degraded_share(),
                                        Counts(tally.degraded_reasons))});
  }
  if (tally.shards_asked > 0) table.AddRow({"coverage", FormatShare(tally.coverage())});
  if (tally.reranked.has_value()) {
    table.AddRow({"reranked", absl::StrCat(FormatShare(tally.depth_share()), " of ",
                                           WithThousands(tally.reranked->asked),
                                           " candidates that were to be")});
    table.AddRow({"goodput", GoodputText(GoodputOf(*tally.reranked, length))});
  }
  if (tally.known_items_asked > 0) {
    table.AddRow({"recall", absl::StrCat(FormatShare(tally.recall()), " of ",
                                         WithThousands(tally.known_items_asked), " known items")});
  }
  if (!tally.generations.empty()) {
    table.AddRow({"generations", CountsText(Counts(tally.generations))});
  }
  if (!tally.precisions.empty()) {
    table.AddRow({"precisions", CountsText(Counts(tally.precisions))});
  }
  if (!tally.efforts.empty()) {
    table.AddRow({"efforts", CountsText(Counts(tally.efforts))});
  }
  if (tally.filtered.has_value()) {
    table.AddRow(
        {"filtered", absl::StrCat(WithThousands(tally.filtered->answers), " answers, of ",
                                  WithThousands(std::llround(tally.filtered->mean_matched())),
                                  " items each in the mean")});
  }
  if (!tally.check_failures.empty()) {
    table.AddRow({"failed checks", CountsText(Counts(tally.check_failures))});
  }
  return absl::StrCat("\n", table.RowsToString(kIndent));
}

std::string Faults(const std::vector<FaultMark>& faults) {
  Table table({{"at", true},
               {"fault", false, kMaxNameWidth},
               {"lasted", true},
               {"whole again after", true},
               {"expectations", false, 80}});
  for (const FaultMark& fault : faults) {
    table.AddRow({LengthText(fault.at), fault.name, LastedText(fault),
                  LengthText(fault.whole_again), ExpectationsText(fault)});
  }
  return table.empty() ? "" : absl::StrCat("\n", table.ToString(kIndent));
}

std::string Capacity(const ReportedCapacity& capacity) {
  std::string text = absl::StrCat("\n  capacity ", CapacityText(capacity), "\n");
  if (!capacity.why.empty()) {
    absl::StrAppend(&text, "  ", Printable(capacity.why, kMaxLineWidth), "\n");
  }
  Table table({{"rate", true},
               {"answered", true},
               {"p50", true},
               {"p99", true},
               {"errors", true},
               {"degraded", true},
               {"recall", true},
               {"SLO"}});
  for (const CurvePoint& point : capacity.curve) table.AddRow(RateCells(capacity, point));
  return absl::StrCat(text, table.empty() ? "" : table.ToString(kIndent));
}

std::string Generator(const LoadResult& run) {
  const GeneratorHealth& health = run.generator;
  std::string text =
      absl::StrCat("\n  generator: ",
                   health.kept_schedule ? "kept its schedule"
                                        : "DID NOT KEEP ITS SCHEDULE, so figures tell of it too",
                   "; ", WithThousands(health.late), " requests more than ",
                   LatencyText(health.late_after), " late");
  if (health.lag.count() > 0) {
    absl::StrAppend(&text, ", lag p99 ", LatencyText(health.lag.Quantile(0.99)), ", max ",
                    LatencyText(health.lag.max()));
  }
  if (SentRequests(run) > 0) {
    absl::StrAppend(&text, "; CPU ", LatencyText(CpuPerRequest(run)), " a request");
  }
  absl::StrAppend(&text, "\n");
  const std::map<std::string, absl::Duration> servers = ServerCpuPerRequest(run);
  if (servers.empty()) return text;
  absl::StrAppend(&text, "  servers: CPU a request");
  absl::Duration all;
  for (const auto& [server, cpu] : servers) {
    absl::StrAppend(&text, " ", Printable(server, kMaxNameWidth), " ", LatencyText(cpu), ",");
    all += cpu;
  }
  return absl::StrCat(text, " together ", LatencyText(all), "\n");
}

std::string Environment(const LoadResult& run) {
  std::string text;
  for (const auto& [name, value] : run.environment) {
    absl::StrAppend(&text, text.empty() ? "  measured on: " : ", ", Printable(name, kMaxNameWidth),
                    " ", Printable(value, kMaxNameWidth));
  }
  return text.empty() ? "" : absl::StrCat(text, "\n");
}

}  // namespace

std::string TextReport(const ReportData& data) {
  const LoadResult& run = data.result;
  return absl::StrCat(Head(data), Criteria(data.verdict), Latencies(run), Recalls(run),
                      Answers(run.total, run.length), Stages(run), Devices(run), Faults(run.faults),
                      data.capacity.has_value() ? Capacity(*data.capacity) : "", Generator(run),
                      Environment(run));
}

}  // namespace sightline
