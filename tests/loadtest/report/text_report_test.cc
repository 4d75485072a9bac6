#include "loadtest/report/text_report.h"

#include "tests/loadtest/report/sample_data.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;
using Catch::StartsWith;

TEST_CASE("the verdict comes first and the figures follow") {
  const std::string text = TextReport(SampleData());
  REQUIRE_THAT(text, StartsWith("FAIL  steady with faults: 2 of 5 criteria broken, 1 not "
                                "measurable\n"));
  for (const char* part : {"latency p99",
                           "at most 300ms",
                           "913.4ms",
                           "broken",
                           "fewer than 10 of 12000",
                           "DEADLINE_EXCEEDED",
                           "RERANKER_UNAVAILABLE",
                           "20261121-093012-7f3a",
                           "precisions",
                           "reranker int8",
                           "efforts",
                           "recall 0.95",
                           "answers, of 1 234 items each in the mean",
                           "other generation",
                           "promised",
                           "95%",
                           "87.3%",
                           "failed checks",
                           "order 3",
                           "rerank",
                           "kill reranker",
                           "broken: failed requests: wanted at most 0",
                           "kept its schedule",
                           "a request",
                           "capacity 260/s",
                           "of all",
                           "of image",
                           "image",
                           "p99.9"}) {
    REQUIRE_THAT(text, Contains(part));
  }
}

TEST_CASE("what did not happen takes no line") {
  ReportData data;
  data.result.scenario = "quiet";
  data.result.total.count = data.result.total.ok = 5;
  for (const char* part : {"errors", "degraded", "precisions", "efforts", "filtered", "fault",
                           "capacity", "recall", "goodput", "stage"}) {
    REQUIRE_THAT(TextReport(data), !Contains(part));
  }
}

TEST_CASE("of answers that were to be reranked the goodput is told") {
  ReportData data = SampleData();
  data.result.length = absl::Seconds(45);
  data.result.total.reranked = RerankedCounts{900, 900, 18000, 9000, 900, 600, 500};
  REQUIRE_THAT(TextReport(data), Contains("goodput") && Contains("20/s in time; mean depth 10.0"));
}

TEST_CASE("a generator that was late says so") {
  ReportData data;
  data.result.generator.kept_schedule = false;
  REQUIRE_THAT(TextReport(data), Contains("DID NOT KEEP ITS SCHEDULE"));
}

TEST_CASE("names cannot reach the terminal") {
  REQUIRE_THAT(TextReport(HostileData()), !Contains("\x1b"));
}

}  // namespace
}  // namespace sightline
