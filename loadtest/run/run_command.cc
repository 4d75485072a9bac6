#include "loadtest/run/run_command.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/call_context.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/rpc/shutdown_signals.h"
#include "loadtest/report/html_report.h"
#include "loadtest/report/json_report.h"
#include "loadtest/report/junit_report.h"
#include "loadtest/report/report_data.h"
#include "loadtest/report/text_report.h"
#include "loadtest/run/load_session.h"
#include "loadtest/verdict/capacity.h"
#include "loadtest/verdict/verdict.h"

namespace sightline {
namespace {

struct RunFlags {
  SessionOptions session;
  std::string out;

  void Define(Flags* flags) {
    session.binaries = "bazel-bin/services";
    flags->Strings("target", "ADDR",
                   "router that runs already; repeatable.  Default: the scenario's own fleet",
                   &session.targets);
    flags->String("store", "DIR",
                  "what an own fleet serves; default: the scenario's, else the demo's",
                  &session.store);
    flags->String("binaries", "DIR", "folder of the servers; default bazel-bin/services",
                  &session.binaries);
    flags->String("out", "DIR",
                  "for report.html, report.json, junit.xml, and the logs of an own fleet", &out);
  }
};

std::string DemoStore() {
  const char* home = std::getenv("HOME");
  return absl::StrCat(home == nullptr ? "/root" : home, "/.cache/sightline/demo/store");
}

SessionOptions OptionsOf(const RunFlags& flags, const Scenario& scenario) {
  SessionOptions options = flags.session;
  if (options.store.empty() && scenario.fleet.has_value()) options.store = scenario.fleet->store;
  if (options.store.empty() && options.targets.empty()) options.store = DemoStore();
  options.directory = JoinPath(flags.out, "fleet");
  return options;
}

absl::StatusOr<ReportData> RunOnce(const Scenario& scenario, LoadSession* session,
                                   const CallContext& call) {
  ReportData data;
  ASSIGN_OR_RETURN(data.result, session->Run(PlanOf(scenario), /*with_faults=*/true, call));
  data.verdict = Judge(data.result, scenario);
  return data;
}

// What the search ended with, as a criterion beside those of the rate that it found.
Criterion CapacityCriterion(const CapacityResult& capacity, const CapacitySpec& spec) {
  Criterion criterion;
  criterion.name = "capacity";
  criterion.wanted = absl::StrFormat("at least %.4g/s", spec.lowest);
  criterion.measured = absl::StrFormat("%.4g/s", capacity.rate);
  criterion.reason = capacity.why;
  if (capacity.ending == CapacityEnding::kBelowLowest) criterion.state = CriterionState::kBroken;
  if (capacity.ending == CapacityEnding::kInconclusive) {
    criterion.state = CriterionState::kNotMeasurable;
  }
  return criterion;
}

// Wrong answers fail the search at whatever rate they came.
std::vector<Criterion> WrongAnswers(const CapacityResult& capacity) {
  std::vector<Criterion> wrong;
  for (const CapacityStep& step : capacity.steps) {
    for (const Criterion& criterion : step.verdict.criteria) {
      if (criterion.name != kAnswersCriterion || criterion.state != CriterionState::kBroken) {
        continue;
      }
      wrong.push_back(criterion);
      wrong.back().name = absl::StrFormat("%s at %.4g/s", kAnswersCriterion, step.point.rate);
    }
  }
  return wrong;
}

// The report shows the last window at the rate that was found, and the curve of all.
absl::StatusOr<ReportData> SearchCapacity(const Scenario& scenario, LoadSession* session,
                                          const CallContext& call, const Console& console) {
  std::vector<std::pair<double, LoadResult>> windows;
  const MeasureRate measure = [&](double rate) -> absl::StatusOr<LoadResult> {
    const int round = static_cast<int>(windows.size());
    ASSIGN_OR_RETURN(LoadResult result,
                     session->Run(PlanAtRate(scenario, rate, round), /*with_faults=*/false, call));
    const CurvePoint point = PointOf(rate, result);
    console.err << absl::StreamFormat("%8.4g/s offered, %8.4g/s answered, p50 %s, p99 %s: %s\n",
                                      rate, point.achieved,
                                      point.p50.has_value() ? FormatLatency(*point.p50) : "-",
                                      point.p99.has_value() ? FormatLatency(*point.p99) : "-",
                                      RulingName(Judge(result, scenario).outcome));
    windows.emplace_back(rate, result);
    return result;
  };
  ASSIGN_OR_RETURN(const CapacityResult capacity, FindCapacity(scenario, measure));
  ReportData data;
  for (auto& [rate, result] : windows) {
    if (rate == capacity.rate || capacity.rate == 0) data.result = result;
  }
  data.verdict = Judge(data.result, scenario);
  data.verdict.outcome = capacity.outcome();
  std::vector<Criterion> of_search = WrongAnswers(capacity);
  of_search.insert(of_search.begin(), CapacityCriterion(capacity, *scenario.capacity));
  data.verdict.criteria.insert(data.verdict.criteria.begin(), of_search.begin(), of_search.end());
  data.capacity = ReportCapacity(capacity);
  return data;
}

constexpr char kJson[] = "report.json", kJunit[] = "junit.xml", kHtml[] = "report.html";

// Those of an earlier run: should this one fail before it has any, nobody takes them for its.
absl::Status RemoveReports(const std::string& directory) {
  for (const char* const name : {kJson, kJunit, kHtml}) {
    const std::string path = JoinPath(directory, name);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return FileError("remove", path, errno);
  }
  return absl::OkStatus();
}

absl::Status WriteReports(const ReportData& data, const std::string& directory) {
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, kJson), JsonReport(data)));
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(directory, kJunit), JunitReport(data)));
  return WriteFileAtomically(JoinPath(directory, kHtml), HtmlReport(data));
}

absl::StatusOr<Ruling> RunScenario(const std::string& path, const RunFlags& flags,
                                   const Console& console) {
  RETURN_IF_ERROR(MakeDirectories(flags.out));
  RETURN_IF_ERROR(RemoveReports(flags.out));
  ASSIGN_OR_RETURN(const Scenario scenario, ReadScenario(path));
  ShutdownSignals signals;
  const CallContext call(Clock::Real(), absl::InfiniteFuture(), signals.cancellation());
  ASSIGN_OR_RETURN(const std::unique_ptr<LoadSession> session,
                   LoadSession::Open(scenario, OptionsOf(flags, scenario)));
  absl::StatusOr<ReportData> data = scenario.capacity.has_value()
                                        ? SearchCapacity(scenario, session.get(), call, console)
                                        : RunOnce(scenario, session.get(), call);
  RETURN_IF_ERROR(data.status());
  if (const absl::Status fleet = session->CheckFleet(); !fleet.ok()) {
    data->verdict.outcome = Ruling::kFail;
    data->verdict.criteria.push_back({"servers", "none ends by itself",
                                      std::string(fleet.message()), CriterionState::kBroken, ""});
  }
  data->latency_limits = scenario.slo.latency;
  RETURN_IF_ERROR(WriteReports(*data, flags.out));
  console.out << TextReport(*data) << "\nreport: " << JoinPath(flags.out, kHtml) << "\n";
  return data->verdict.outcome;
}

}  // namespace

int RunScenarioCommand(const std::vector<std::string>& args, const Console& console) {
  RunFlags values;
  Flags flags;
  values.Define(&flags);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kRunCommand, &flags, args, console, &words, &status)) return status;
  if (words.size() != 1) return UsageError(kRunCommand, "name one scenario file", console);
  if (values.out.empty()) return UsageError(kRunCommand, "give --out DIR", console);
  const absl::StatusOr<Ruling> outcome = RunScenario(words[0], values, console);
  if (!outcome.ok()) return Fail(outcome.status(), console);
  return ExitStatus(*outcome);
}

}  // namespace sightline
