#include "loadtest/report/junit_report.h"

#include <pugixml.hpp>

#include "tests/loadtest/report/sample_data.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// The suite of a report that must be well-formed.
pugi::xml_node SuiteOf(const ReportData& data, pugi::xml_document* document) {
  const std::string xml = JunitReport(data);
  const pugi::xml_parse_result parsed = document->load_buffer(xml.data(), xml.size());
  INFO(parsed.description() << " at " << parsed.offset);
  REQUIRE(parsed);
  return document->child("testsuites").child("testsuite");
}

int Count(const pugi::xml_node& suite, const char* child) {
  int count = 0;
  for (const pugi::xml_node& test : suite.children("testcase")) {
    count += test.child(child) ? 1 : 0;
  }
  return count;
}

TEST_CASE("each criterion is a test case, failed or in error as its state says") {
  pugi::xml_document document;
  const pugi::xml_node suite = SuiteOf(SampleData(), &document);
  REQUIRE(std::string(suite.attribute("name").value()) == "steady with faults");
  REQUIRE(suite.attribute("tests").as_int() == 5);
  REQUIRE(suite.attribute("failures").as_int() == 2);
  REQUIRE(suite.attribute("errors").as_int() == 1);
  REQUIRE(Count(suite, "failure") == 2);
  REQUIRE(Count(suite, "error") == 1);
  REQUIRE(std::string(suite.child("testcase").child("failure").attribute("message").value()) ==
          "wanted none wrong, measured 3 order");
  REQUIRE(std::string(suite.child("system-out").text().get()).substr(0, 4) == "FAIL");
}

TEST_CASE("names from outside come back as they were, less what XML forbids") {
  pugi::xml_document document;
  const pugi::xml_node suite = SuiteOf(HostileData(), &document);
  const std::string name = suite.child("testcase").attribute("name").value();
  REQUIRE_THAT(name, Catch::StartsWith("</script><script>document.title='broken'</script> \">"));
  REQUIRE_THAT(name, !Catch::Contains("\x1b"));
}

TEST_CASE("a run that was not judged does not look like success") {
  ReportData data;
  data.verdict.outcome = Ruling::kInconclusive;
  data.verdict.doubts = {"no request was sent"};
  data.verdict.criteria = {{"latency p99", "at most 1s", "1ms", CriterionState::kHeld, ""}};
  pugi::xml_document document;
  const pugi::xml_node suite = SuiteOf(data, &document);
  REQUIRE(suite.attribute("tests").as_int() == 2);
  REQUIRE(suite.attribute("errors").as_int() == 1);
}

}  // namespace
}  // namespace sightline
