#include "loadtest/report/html_report.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/table.h"
#include "common/plot/page.h"
#include "common/plot/xml_text.h"
#include "loadtest/report/figures.h"
#include "loadtest/report/plots.h"

namespace sightline {
namespace {

constexpr char kStyle[] =
#include "loadtest/report/report_css.inc"
    ;

// ---- the verdict ----

// Of what passes or holds, of what does not, and of what could not be told: the order of both
// Ruling and CriterionState.
constexpr const char* kMarks[] = {"✓", "✗", "?"};
constexpr const char* kStateClasses[] = {"held", "broken", "notmeasurable"};

std::string Banner(const Verdict& verdict) {
  std::string html = absl::StrCat("<div class=\"banner ", RulingName(verdict.outcome),
                                  "\" role=\"status\"><div class=\"mark\" "
                                  "aria-hidden=\"true\">",
                                  kMarks[static_cast<int>(verdict.outcome)],
                                  "</div><div><div class=\"word\">", OutcomeWord(verdict.outcome),
                                  "</div>", PageParagraph("", CriteriaSummary(verdict)));
  for (const std::string& doubt : verdict.doubts) {
    absl::StrAppend(&html, PageParagraph("", absl::StrCat("In doubt: ", doubt)));
  }
  return absl::StrCat(html, "</div></div>\n");
}

std::string Head(const ReportData& data) {
  const LoadResult& run = data.result;
  const std::string lead = absl::StrCat(
      "Load test of ", TimeText(run.started), ": ", LengthText(run.length), " after ",
      LengthText(run.warm_up), " of warm-up", run.target.empty() ? "" : ", against ", run.target);
  return absl::StrCat("<h1>", XmlText(run.scenario), "</h1>\n", PageParagraph("lead", lead));
}

std::string Tiles(const LoadResult& run) {
  std::string html = "<dl class=\"tiles\">";
  const auto add = [&html](absl::string_view name, absl::string_view value) {
    absl::StrAppend(&html, "<div><dt>", XmlText(name), "</dt><dd>", XmlText(value), "</dd></div>");
  };
  const Tally& total = run.total;
  add("intended rate", RateText(run.intended_rate));
  add("requests", WithThousands(total.count));
  add("p50", LatencyText(total.latency.Quantile(0.5)));
  add("p99", LatencyText(total.latency.Quantile(0.99)));
  add("errors", FormatShare(total.error_share()));
  add("degraded", FormatShare(total.degraded_share()));
  if (total.known_items_asked > 0) add("recall", FormatShare(total.recall()));
  if (total.measured_recall.has_value()) {
    add("measured recall", RecallText(total.measured_recall));
  }
  return absl::StrCat(html, "</dl>\n");
}

std::string Criteria(const Verdict& verdict) {
  HtmlTable table({"criterion", "wanted", "measured", "state"}, HtmlTable::kNoNumbers);
  for (const Criterion& row : verdict.criteria) {
    const int state = static_cast<int>(row.state);
    table.AddRow(
        {row.name, row.wanted, MeasuredText(row)},
        absl::StrCat("<td class=\"state ", kStateClasses[state], "\"><span aria-hidden=\"true\">",
                     kMarks[state], " </span>", CriterionStateName(row.state), "</td>"));
  }
  return table.empty() ? "" : PageSection("criteria", "Criteria", table.Html());
}

std::string Drawn(const absl::optional<Plot>& plot) {
  return plot.has_value() ? plot->Html() : "";
}

// ---- figures behind them ----

// Here the mean has a column too, behind the count.
std::vector<std::string> WithMean(std::vector<std::string> cells, std::string mean) {
  cells.insert(cells.begin() + 2, std::move(mean));
  return cells;
}

std::vector<std::string> LatencyRow(const std::string& name, const LatencyHistogram& latency) {
  return WithMean(LatencyCells(name, latency),
                  latency.count() == 0 ? "–" : LatencyText(latency.mean()));
}

std::string Latencies(const LoadResult& run) {
  HtmlTable kinds(WithMean(LatencyTitles("requests"), "mean"), 1);
  for (const NamedTally& kind : TalliesByKind(run)) {
    kinds.AddRow(LatencyRow(kind.name, kind.tally->latency));
  }
  HtmlTable stages(WithMean(LatencyTitles("stage"), "mean"), 1);
  for (const NamedHistogram& stage : StagesInOrder(run.total)) {
    stages.AddRow(LatencyRow(stage.name, *stage.histogram));
  }
  return PageSection("latency", "Latency",
                     absl::StrCat(kinds.Html(), stages.empty() ? "" : stages.Html(),
                                  PageParagraph("quiet",
                                                "Requests from when they were meant to be sent, "
                                                "failed ones too; stages as the router tells "
                                                "them.  –: fewer than ten samples beyond.")));
}

std::string Recalls(const LoadResult& run) {
  HtmlTable table(RecallTitles(), 1);
  for (const std::vector<std::string>& row : RecallRows(run)) table.AddRow(row);
  if (table.empty()) return "";
  return PageSection(
      "recall", "Recall",
      absl::StrCat(table.Html(),
                   PageParagraph("quiet",
                                 "Measured: of the nearest items, which exact answers to "
                                 "the same questions have, those that were found.  "
                                 "Promised: what the answers say of themselves.")));
}

std::string CountTable(const char* title, const std::map<std::string, int64_t>& counts,
                       int64_t of) {
  HtmlTable table({title, "count", "share"}, 1);
  for (const Count& count : Counts(counts)) {
    table.AddRow(
        {count.name, WithThousands(count.count),
         of > 0 ? FormatShare(static_cast<double>(count.count) / static_cast<double>(of)) : "–"});
  }
  return table.empty() ? "" : absl::StrCat("<div>", table.Html(), "</div>");
}

std::string Answers(const Tally& total, absl::Duration length) {
  std::string notes;
  if (total.shards_asked > 0) {
    notes = absl::StrCat("Coverage ", FormatShare(total.coverage()), " of shards.");
  }
  if (total.known_items_asked > 0) {
    absl::StrAppend(&notes, notes.empty() ? "" : "  ", "Recall ", FormatShare(total.recall()),
                    " of ", WithThousands(total.known_items_asked), " known items.");
  }
  if (total.reranked.has_value()) {
    absl::StrAppend(&notes, notes.empty() ? "" : "  ", "Goodput ",
                    GoodputText(GoodputOf(*total.reranked, length)), ".");
  }
  return PageSection(
      "answers", "Answers",
      absl::StrCat("<div class=\"pair\">", CountTable("code", total.codes, total.count),
                   CountTable("degraded by", total.degraded_reasons, total.ok),
                   CountTable("generation", total.generations, total.ok),
                   CountTable("precision", total.precisions, total.ok),
                   CountTable("effort", total.efforts, total.ok),
                   CountTable("failed check", total.check_failures, total.ok), "</div>\n",
                   notes.empty() ? "" : PageParagraph("quiet", notes)));
}

std::string Faults(const std::vector<FaultMark>& faults) {
  HtmlTable table({"", "fault", "at", "lasted", "whole again after", "expectations"},
                  HtmlTable::kNoNumbers);
  for (size_t i = 0; i < faults.size(); ++i) {
    const FaultMark& fault = faults[i];
    table.AddRow({FaultLetter(i), fault.name, LengthText(fault.at), LastedText(fault),
                  LengthText(fault.whole_again), ExpectationsText(fault)});
  }
  return table.empty() ? "" : PageSection("faults", "Faults", table.Html());
}

std::string Devices(const LoadResult& run) {
  HtmlTable table(DeviceTitles(), 1);
  for (const std::vector<std::string>& row : DeviceRows(run)) table.AddRow(row);
  if (table.empty()) return "";
  return PageSection(
      "devices", "Devices",
      absl::StrCat(table.Html(),
                   PageParagraph("quiet",
                                 "As the servers tell it, warm-up included: passes with "
                                 "their copies, from when each was asked for; of that, "
                                 "waiting for passes of others; recorded: launched as a "
                                 "whole.")));
}

std::string CapacitySection(const absl::optional<ReportedCapacity>& capacity) {
  if (!capacity.has_value()) return "";
  HtmlTable table(
      {"offered", "answered", "p50", "p99", "errors", "degraded", "recall", "windows", "SLO"}, 0);
  for (const CurvePoint& point : capacity->curve) {
    std::vector<std::string> cells = RateCells(*capacity, point);
    cells.insert(cells.end() - 1, absl::StrCat(point.windows));
    table.AddRow(cells);
  }
  return PageSection(
      "capacity", absl::StrCat("Capacity: ", CapacityText(*capacity)),
      absl::StrCat(capacity->why.empty() ? "" : PageParagraph("", capacity->why), table.Html()));
}

std::string Generator(const LoadResult& run) {
  const GeneratorHealth& health = run.generator;
  HtmlTable table({"generator", ""}, 1);
  table.AddRow({"kept its schedule",
                health.kept_schedule ? "yes" : "no: figures tell of the generator too"});
  table.AddRow({absl::StrCat("requests more than ", LatencyText(health.late_after), " late"),
                WithThousands(health.late)});
  if (health.lag.count() > 0) {
    table.AddRow({"lag p50", LatencyText(health.lag.Quantile(0.5))});
    table.AddRow({"lag p99", LatencyText(health.lag.Quantile(0.99))});
    table.AddRow({"lag max", LatencyText(health.lag.max())});
  }
  if (SentRequests(run) > 0) {
    table.AddRow({"CPU time a request", LatencyText(CpuPerRequest(run))});
  }
  for (const auto& [server, cpu] : ServerCpuPerRequest(run)) {
    table.AddRow({absl::StrCat("CPU time a request, ", server), LatencyText(cpu)});
  }
  HtmlTable environment({"environment", ""}, HtmlTable::kNoNumbers);
  for (const auto& [name, value] : run.environment) environment.AddRow({name, value});
  return PageSection("generator", "How it was measured",
                     absl::StrCat("<div class=\"pair\"><div>", table.Html(), "</div><div>",
                                  environment.empty() ? "" : environment.Html(), "</div></div>\n"));
}

}  // namespace

std::string HtmlReport(const ReportData& data) {
  const LoadResult& run = data.result;
  return HtmlPage(
      absl::StrCat(OutcomeWord(data.verdict.outcome), ": ", run.scenario),
      absl::StrCat(Head(data), Banner(data.verdict), Tiles(run), Criteria(data.verdict),
                   CapacitySection(data.capacity), Drawn(SaturationPlot(data)),
                   Drawn(LatencyOverRate(data)), Drawn(LatencyOverTime(data)),
                   Drawn(ThroughputOverTime(data)), Faults(run.faults),
                   Drawn(PercentileCurve(data)), Drawn(StageBreakdown(data)), Latencies(run),
                   Recalls(run), Answers(run.total, run.length), Devices(run), Generator(run)),
      kStyle);
}

}  // namespace sightline
