#include "loadtest/report/junit_report.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/plot/xml_text.h"
#include "loadtest/report/figures.h"
#include "loadtest/report/text_report.h"

namespace sightline {
namespace {

// The criteria, and the verdict if they do not account for it: a run without a judgement
// must not pass for one that was judged good.
std::vector<Criterion> TestCases(const Verdict& verdict) {
  std::vector<Criterion> cases = verdict.criteria;
  const bool blamed = CountOf(cases, CriterionState::kHeld) < cases.size();
  if (cases.empty() || (verdict.outcome != Ruling::kPass && !blamed)) {
    const CriterionState state = verdict.outcome == Ruling::kPass ? CriterionState::kHeld
                                 : verdict.outcome == Ruling::kFail
                                     ? CriterionState::kBroken
                                     : CriterionState::kNotMeasurable;
    cases.push_back({"verdict", RulingName(Ruling::kPass), RulingName(verdict.outcome), state,
                     absl::StrJoin(verdict.doubts, "; ")});
  }
  return cases;
}

std::string Attribute(const char* name, absl::string_view value) {
  return absl::StrCat(" ", name, "=\"", XmlText(value), "\"");
}

std::string TestCase(const std::string& scenario, const Criterion& row) {
  std::string xml = absl::StrCat("    <testcase", Attribute("classname", "loadtest." + scenario),
                                 Attribute("name", row.name), " time=\"0\"");
  if (row.state == CriterionState::kHeld) return absl::StrCat(xml, "/>\n");
  const bool broken = row.state == CriterionState::kBroken;
  const char* element = broken ? "failure" : "error";
  const std::string message = absl::StrCat(
      "wanted ", row.wanted, broken ? ", measured " : ", not measurable: ", MeasuredText(row));
  return absl::StrCat(xml, ">\n      <", element, Attribute("type", CriterionStateName(row.state)),
                      Attribute("message", message), ">", XmlText(message), "</", element,
                      ">\n    </testcase>\n");
}

std::string Properties(const LoadResult& run) {
  std::string xml = "    <properties>\n";
  const auto add = [&xml](absl::string_view name, absl::string_view value) {
    absl::StrAppend(&xml, "      <property", Attribute("name", name), Attribute("value", value),
                    "/>\n");
  };
  add("target", run.target);
  add("intended_rate", absl::StrCat(run.intended_rate));
  for (const auto& [name, value] : run.environment) add(name, value);
  return absl::StrCat(xml, "    </properties>\n");
}

}  // namespace

std::string JunitReport(const ReportData& data) {
  const LoadResult& run = data.result;
  const std::vector<Criterion> cases = TestCases(data.verdict);
  const std::string counts = absl::StrCat(
      " tests=\"", cases.size(), "\" failures=\"", CountOf(cases, CriterionState::kBroken),
      "\" errors=\"", CountOf(cases, CriterionState::kNotMeasurable), "\" skipped=\"0\" time=\"",
      absl::StrFormat("%.3f", absl::ToDoubleSeconds(run.warm_up + run.length)), "\"");
  std::string xml = absl::StrCat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", Attribute("name", "loadtest"),
      counts, ">\n  <testsuite", Attribute("name", run.scenario), counts,
      Attribute("timestamp",
                absl::FormatTime("%Y-%m-%dT%H:%M:%S", run.started, absl::UTCTimeZone())),
      ">\n", Properties(run));
  for (const Criterion& row : cases) absl::StrAppend(&xml, TestCase(run.scenario, row));
  return absl::StrCat(xml, "    <system-out>", XmlText(TextReport(data)),
                      "</system-out>\n  </testsuite>\n</testsuites>\n");
}

}  // namespace sightline
