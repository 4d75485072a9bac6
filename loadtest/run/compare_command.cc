#include "loadtest/run/compare_command.h"

#include <ostream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/config/table.h"
#include "loadtest/report/json_report.h"
#include "loadtest/verdict/compare.h"

namespace sightline {
namespace {

absl::StatusOr<std::vector<LoadResult>> ReadResults(const std::vector<std::string>& paths) {
  std::vector<LoadResult> results;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxJsonReportBytes));
    absl::StatusOr<ReportData> data = ParseJsonReport(text);
    if (!data.ok()) {
      return absl::Status(data.status().code(), absl::StrCat(path, ": ", data.status().message()));
    }
    results.push_back(std::move(data->result));
  }
  return results;
}

std::string Change(const FigureChange& figure, double change) {
  const bool relative = absl::StartsWith(figure.name, "latency");
  return absl::StrFormat(relative ? "%+.1f%%" : "%+.3f points", 100 * change);
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

absl::StatusOr<Comparison> CompareFiles(const std::vector<std::string>& a,
                                        const std::vector<std::string>& b) {
  ASSIGN_OR_RETURN(const std::vector<LoadResult> results_a, ReadResults(a));
  ASSIGN_OR_RETURN(const std::vector<LoadResult> results_b, ReadResults(b));
  return Compare(results_a, results_b, CompareOptions());
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
