#include "loadtest/report/html_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "loadtest/report/plots.h"
#include "tests/loadtest/report/sample_data.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

LoadResult Run(int seconds, int requests) {
  LoadResult run;
  run.length = absl::Seconds(seconds);
  run.seconds.resize(seconds);
  for (int s = 0; s < seconds; ++s) {
    Second& second = run.seconds[s];
    second.second = s;
    second.intended = second.sent = second.ended = requests;
    second.tally.count = second.tally.ok = requests;
    for (int i = 0; i < requests; ++i) second.tally.latency.Record(absl::Milliseconds(1 + i));
  }
  return run;
}

std::string LegendOf(const Plot& plot) {
  std::string labels;
  for (const LegendEntry& entry : plot.legend()) absl::StrAppend(&labels, entry.label, "; ");
  return labels;
}

TEST_CASE("the page asks for nothing from outside") {
  for (const std::string& page : {HtmlReport(SampleData()), HtmlReport(ReportData())}) {
    for (const char* part : {"src=", "href=", "url(", "@import", "https://"}) {
      REQUIRE_THAT(page, !Contains(part));
    }
    // A namespace is a name, not an address.
    const size_t http = page.find("http://");
    REQUIRE(page.substr(http, 26) == "http://www.w3.org/2000/svg");
    REQUIRE(page.find("http://", http + 1) == std::string::npos);
    REQUIRE_THAT(page, Contains("default-src 'none'"));
  }
}

TEST_CASE("the page has the verdict, every criterion and every plot, twice") {
  const std::string page = HtmlReport(SampleData());
  for (const char* part :
       {"banner fail", "2 of 5 criteria broken", "at most 300ms", "913.4ms", "kill reranker",
        "RERANKER_UNAVAILABLE", "measured recall", "promised", "87.3%"}) {
    REQUIRE_THAT(page, Contains(part));
  }
  for (const std::string id : {"latency-over-time", "throughput-over-time", "percentile-curve",
                               "stage-breakdown", "saturation-curve", "latency-over-rate"}) {
    REQUIRE_THAT(page, Contains("id=\"" + id + "-wide\""));
    REQUIRE_THAT(page, Contains("id=\"" + id + "-narrow\""));
  }
  REQUIRE_THAT(page, !Contains("nan") && !Contains("\"inf"));
}

TEST_CASE("names from outside are inert") {
  const std::string page = HtmlReport(HostileData());
  REQUIRE_THAT(page, !Contains("<script>document.title") && !Contains("<img"));
  REQUIRE_THAT(page, !Contains("\x1b"));
}

TEST_CASE("a run in which nothing was measured has a page without plots") {
  const std::string page = HtmlReport(ReportData());
  REQUIRE_THAT(page, Contains("INCONCLUSIVE"));
  REQUIRE_THAT(page, !Contains("<figure"));
}

TEST_CASE("a percentile is drawn over windows that hold enough requests for it") {
  ReportData data;
  data.result = Run(/*seconds=*/30, /*requests=*/200);
  // 200 requests have 20 beyond p90 and 2 beyond p99: it takes five seconds, which have ten.
  REQUIRE(LegendOf(*LatencyOverTime(data)) ==
          "p50 of each 1s; p90 of each 1s; p99 of each 5s; maximum; ");
}

TEST_CASE("a percentile that cannot be told is left out") {
  ReportData data;
  data.result = Run(/*seconds=*/12, /*requests=*/25);
  REQUIRE(LegendOf(*LatencyOverTime(data)) == "p50 of each 1s; maximum; ");
}

TEST_CASE("a long run is drawn in as many columns as there is room for") {
  ReportData data;
  data.result = Run(/*seconds=*/7200, /*requests=*/1);
  const std::string hover = ThroughputOverTime(data)->hover();
  REQUIRE(std::count(hover.begin(), hover.end(), '\n') == 600);
  REQUIRE_THAT(hover, Contains("\n0 to 12s\t12\t12\t0\t0\t12\n"));
}

TEST_CASE("faults and the warm-up are marked in both plots over time") {
  const ReportData data = SampleData();
  for (const std::string& svg :
       {LatencyOverTime(data)->Svg(kWidePlot), ThroughputOverTime(data)->Svg(kWidePlot)}) {
    for (const char* part : {"class=\"warmup\"", "class=\"fault\"", "class=\"recovering\"",
                             "A kill reranker", "class=\"faultline\""}) {
      REQUIRE_THAT(svg, Contains(part));
    }
  }
}

}  // namespace
}  // namespace sightline
