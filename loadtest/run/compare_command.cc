#include "loadtest/run/compare_command.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/config/table.h"
#include "loadtest/report/json_report.h"
#include "loadtest/verdict/compare.h"

namespace sightline {
namespace {

absl::StatusOr<std::vector<ReportData>> ReadReports(const std::vector<std::string>& paths) {
  std::vector<ReportData> reports;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxJsonReportBytes));
    ASSIGN_OR_RETURN(ReportData data, Within(path, ParseJsonReport(text)));
    reports.push_back(std::move(data));
  }
  return reports;
}

CapacityRun CapacityOf(const ReportData& report) {
  CapacityRun run;
  run.held = report.capacity->rate;
  for (const CurvePoint& point : report.capacity->curve) {
    if (point.rate > run.held) run.broken = std::min(run.broken, point.rate);
  }
  run.judged = report.capacity->ending != CapacityEnding::kInconclusive;
  for (const Criterion& criterion : report.verdict.criteria) {
    run.wrong_answers |= absl::StartsWith(criterion.name, kAnswersCriterion) &&
                         criterion.state == CriterionState::kBroken;
  }
  run.environment = report.result.environment;
  return run;
}

bool IsSearch(const ReportData& report) {
  return report.capacity.has_value();
}

std::string Change(const FigureChange& figure, double change) {
  const bool relative = absl::StartsWith(figure.name, "latency") || figure.name == "capacity";
  return relative ? absl::StrFormat("%+.1f%%", 100 * change)
                  : absl::StrFormat("%+.3f points", 100 * change);
}

std::string Interval(const FigureChange& figure) {
  if (figure.kind == ChangeKind::kNotMeasurable) return figure.reason;
  return absl::StrCat("[", Change(figure, figure.low), ", ", Change(figure, figure.high), "]");
}

void Print(const Comparison& comparison, std::ostream& out) {
  Table table({{"figure"}, {"A"}, {"B"}, {"change"}, {"interval"}, {"verdict"}});
  for (const FigureChange& figure : comparison.changes) {
    const bool measured = figure.kind != ChangeKind::kNotMeasurable;
    table.AddRow({figure.name, figure.a, figure.b,
                  measured ? Change(figure, figure.change) : std::string("-"), Interval(figure),
                  ChangeKindName(figure.kind)});
  }
  out << table.ToString();
  if (comparison.wrong_answers) out << "B gave wrong answers\n";
  for (const std::string& doubt : comparison.doubts) out << "doubt: " << doubt << "\n";
  for (const std::string& note : comparison.notes) out << "note: " << note << "\n";
  out << RulingName(comparison.outcome()) << "\n";
}

// One scenario, and all of them searches or none.
absl::Status CheckAlike(const std::vector<ReportData>& a, const std::vector<ReportData>& b) {
  for (const std::vector<ReportData>* const reports : {&a, &b}) {
    for (const ReportData& report : *reports) {
      if (report.result.scenario != a[0].result.scenario) {
        return absl::InvalidArgumentError(
            absl::StrCat("reports of two scenarios, '", a[0].result.scenario, "' and '",
                         report.result.scenario, "', cannot be compared"));
      }
      if (IsSearch(report) != IsSearch(a[0])) {
        return absl::InvalidArgumentError(
            "some of the reports are of capacity searches and some are not; compare like with "
            "like");
      }
    }
  }
  return absl::OkStatus();
}

std::vector<CapacityRun> CapacitiesOf(const std::vector<ReportData>& reports) {
  std::vector<CapacityRun> runs;
  for (const ReportData& report : reports) runs.push_back(CapacityOf(report));
  return runs;
}

std::vector<LoadResult> ResultsOf(std::vector<ReportData> reports) {
  std::vector<LoadResult> results;
  for (ReportData& report : reports) results.push_back(std::move(report.result));
  return results;
}

absl::StatusOr<Comparison> CompareFiles(const std::vector<std::string>& a,
                                        const std::vector<std::string>& b) {
  ASSIGN_OR_RETURN(std::vector<ReportData> reports_a, ReadReports(a));
  ASSIGN_OR_RETURN(std::vector<ReportData> reports_b, ReadReports(b));
  RETURN_IF_ERROR(CheckAlike(reports_a, reports_b));
  if (IsSearch(reports_a[0])) {
    return CompareCapacities(CapacitiesOf(reports_a), CapacitiesOf(reports_b));
  }
  return Compare(ResultsOf(std::move(reports_a)), ResultsOf(std::move(reports_b)),
                 CompareOptions());
}

}  // namespace

int RunCompareCommand(const std::vector<std::string>& args, const Console& console) {
  std::vector<std::string> a, b, words;
  Flags flags;
  flags.Strings("a", "FILE", "report.json of a run before; repeatable", &a);
  flags.Strings("b", "FILE", "report.json of a run after; repeatable", &b);
  int status = kSuccess;
  if (!ParseArguments(kCompareCommand, &flags, args, console, &words, &status)) return status;
  if (a.empty() || b.empty() || !words.empty()) {
    return UsageError(kCompareCommand, "give at least one --a and one --b", console);
  }
  const absl::StatusOr<Comparison> comparison = CompareFiles(a, b);
  if (!comparison.ok()) return Fail(comparison.status(), console);
  Print(*comparison, console.out);
  return ExitStatus(comparison->outcome());
}

}  // namespace sightline
