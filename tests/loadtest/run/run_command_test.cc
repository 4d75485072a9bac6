// The whole load test over a tiny store: fleet, load, verdict, reports.
#include "loadtest/run/run_command.h"

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/base/files.h"
#include "common/bundle/publication.h"
#include "loadtest/report/json_report.h"
#include "loadtest/run/compare_command.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_store.h"

namespace sightline {
namespace {

using Catch::Contains;

// Generous: what fails here is broken, not slow.
constexpr char kScenario[] = R"(
name: tiny
warm_up: 1s
length: 3s
arrivals: {kind: poisson, rate: 20}
mix:
  - {kind: text, index: images, queries: texts.txt, deadline: 60s}
  - {kind: item, index: images, depth: [{value: 0}], deadline: 60s}
connections: 2
)";

struct Ran {
  int status;
  std::string out, err;
};

class Bench {
 public:
  Bench() : store_(MakeTinyStore(directory_.path(), 20)) {
    REQUIRE(WriteFileAtomically(directory_.File("texts.txt"), "a red fish\na house\n").ok());
  }

  std::string File(const std::string& name) const { return directory_.File(name); }

  // `more`: further lines of the scenario.
  Ran Run(const std::string& more, std::vector<std::string> flags) const {
    const std::string scenario = directory_.File("tiny.yaml");
    REQUIRE(WriteFileAtomically(scenario, kScenario + more).ok());
    return RunFile(scenario, std::move(flags));
  }

  Ran RunFile(const std::string& scenario, std::vector<std::string> flags) const {
    flags.insert(flags.begin(), {scenario, "--out", directory_.File("out"), "--store", store_.path,
                                 "--binaries", "services"});
    std::ostringstream out, err;
    const int status = RunScenarioCommand(flags, {out, err});
    return {status, out.str(), err.str()};
  }

  // Publishes the same images behind an inverted file of a few lists.
  void PublishApproximate() const {
    bundle::v1::IndexSpec spec;
    spec.set_kind("ivf");
    spec.set_seed(1);
    spec.mutable_ivf()->set_list_count(3);
    spec.mutable_ivf()->set_code("rabitq");
    WriteTinyGeneration(store_, "lists", 1, 0, spec);
    REQUIRE(PublishGeneration(store_.path, kTinyImages, "lists").ok());
  }

  std::string FleetLine() const {
    return "fleet: {shards: " + std::to_string(store_.shard_count) + "}\n";
  }

 private:
  TempDir directory_;
  const TinyStore store_;
};

TEST_CASE("a scenario is run over a fleet of its own, judged and reported") {
  const Bench bench;
  const Ran ran = bench.Run(
      bench.FleetLine() + "slo: {latency: [{percentile: 50, within: 30s}], max_error_share: 0}\n",
      {});
  INFO(ran.out << ran.err);
  REQUIRE(ran.status == kSuccess);
  REQUIRE_THAT(ran.out, Contains("latency p50"));

  const auto text = ReadFile(bench.File("out/report.json"), kMaxJsonReportBytes);
  REQUIRE(text.ok());
  const auto report = ParseJsonReport(*text);
  INFO(report.status());
  REQUIRE(report.ok());
  REQUIRE(report->verdict.outcome == Ruling::kPass);
  REQUIRE(report->result.total.ok > 20);
  REQUIRE(report->result.total.check_failures.empty());
  REQUIRE(report->result.by_kind.size() == 2);
  REQUIRE(report->result.total.generations.size() == 1);
  REQUIRE(report->result.generator.cpu > absl::ZeroDuration());
  REQUIRE(FileExists(bench.File("out/report.html")));
  REQUIRE(FileExists(bench.File("out/junit.xml")));

  SECTION("and is no regression against itself") {
    std::ostringstream out, err;
    const std::string path = bench.File("out/report.json");
    // Three seconds are too few for a verdict: that, and no alarm, is what it says.
    REQUIRE(RunCompareCommand({"--a", path, "--b", path}, {out, err}) == kInconclusiveStatus);
    REQUIRE_THAT(out.str(), !Contains("regression"));
  }
}

TEST_CASE("the shipped smoke scenario holds") {
  const Bench bench;
  const Ran ran = bench.RunFile("loadtest/scenarios/smoke.yaml", {});
  INFO(ran.out << ran.err);
  REQUIRE(ran.status == kSuccess);
}

TEST_CASE("what does not hold fails the run") {
  const Bench bench;
  // Nothing of time: a busy machine leaves that in doubt.
  const Ran ran =
      bench.Run(bench.FleetLine() + "faults: [{kind: kill, target: query_encoder, at: 500ms}]\n" +
                    "slo: {latency: [{percentile: 50, within: 30s}], max_error_share: 0}\n",
                {});
  INFO(ran.out << ran.err);
  REQUIRE(ran.status == kFailure);
  REQUIRE_THAT(ran.out, Contains("broken"));
}

TEST_CASE("a reranker that is killed under load costs no answer, and the report says when") {
  const Bench bench;
  const Ran ran =
      bench.Run(bench.FleetLine() +
                    "faults: [{kind: kill, target: reranker, at: 500ms, lasting: 1s, "
                    "expect: {max_failures: 0}}]\n"
                    "slo: {latency: [{percentile: 50, within: 30s}], max_error_share: 0}\n",
                {});
  INFO(ran.out << ran.err);
  REQUIRE(ran.status == kSuccess);
  const auto text = ReadFile(bench.File("out/report.json"), kMaxJsonReportBytes);
  REQUIRE(text.ok());
  const auto report = ParseJsonReport(*text);
  REQUIRE(report.ok());
  REQUIRE(report->result.faults.size() == 1);
  REQUIRE(report->result.faults[0].failed_expectations.empty());
  REQUIRE(report->result.total.degraded > 0);
}

TEST_CASE("a search finds a capacity, and reports of searches can be compared") {
  const Bench bench;
  const std::string scenario = bench.File("search.yaml");
  REQUIRE(WriteFileAtomically(scenario,
                              "name: search\n"
                              "mix: [{queries: texts.txt, index: images, deadline: 60s}]\n"
                              "slo: {latency: [{percentile: 1, within: 30s}], "
                              "max_error_share: 0}\n" +
                                  bench.FleetLine() +
                                  "capacity: {lowest: 5, highest: 10, window: 1s, "
                                  "settle: 0s}\n")
              .ok());
  const Ran ran = bench.RunFile(scenario, {});
  INFO(ran.out << ran.err);
  REQUIRE(ran.status == kSuccess);
  REQUIRE_THAT(ran.out, Contains("capacity"));

  std::ostringstream out, err;
  const std::string path = bench.File("out/report.json");
  REQUIRE(RunCompareCommand({"--a", path, "--b", path}, {out, err}) == kSuccess);
  REQUIRE_THAT(out.str(), Contains("10/s or more"));

  // A run that never starts leaves nothing behind that looks like its result.
  REQUIRE(bench.Run("slo: {max_error_share: 0}\n", {}).status == kFailure);
  REQUIRE_FALSE(FileExists(path));
  REQUIRE_FALSE(FileExists(bench.File("out/report.html")));
}

TEST_CASE("recall is measured against exact answers of the same fleet") {
  const Bench bench;
  bench.PublishApproximate();
  const std::string scenario = bench.File("recall.yaml");
  REQUIRE(WriteFileAtomically(scenario,
                              "name: recall\nwarm_up: 0s\nlength: 3s\n"
                              "arrivals: {kind: constant, rate: 20}\n"
                              "mix:\n"
                              "  - {name: one_list, kind: item, index: images, effort: 1, "
                              "measure_recall: 5, depth: [{value: 0}], deadline: 60s}\n"
                              "  - {name: all_lists, kind: item, index: images, effort: 3, "
                              "measure_recall: 5, depth: [{value: 0}], deadline: 60s}\n"
                              "slo: {min_measured_recall: 1}\n" +
                                  bench.FleetLine())
              .ok());
  const Ran ran = bench.RunFile(scenario, {});
  INFO(ran.out << ran.err);
  REQUIRE(ran.status == kFailure);
  REQUIRE_THAT(ran.out, Contains("measured recall of one_list") && Contains("promised"));
  const auto text = ReadFile(bench.File("out/report.json"), kMaxJsonReportBytes);
  REQUIRE(text.ok());
  const auto report = ParseJsonReport(*text);
  REQUIRE(report.ok());
  const Tally& one = report->result.by_kind.at("one_list");
  const Tally& all = report->result.by_kind.at("all_lists");
  REQUIRE(one.measured_recall->answers == one.ok);
  REQUIRE(one.measured_recall->found > 0);
  REQUIRE(one.measured_recall->recall() < 1);
  REQUIRE(all.measured_recall->answers == all.ok);
  REQUIRE(all.measured_recall->nearest == 5 * all.ok);
  REQUIRE(all.measured_recall->recall() == 1);
}

TEST_CASE("a fleet that is not there fails every request and the run") {
  const Bench bench;
  const Ran ran = bench.Run("slo: {max_error_share: 0.5}\n", {"--target", "127.0.0.1:1"});
  INFO(ran.out << ran.err);
  REQUIRE(ran.status == kFailure);
  REQUIRE_THAT(ran.out, Contains("UNAVAILABLE"));
}

TEST_CASE("without a fleet and without a target there is nothing to load") {
  const Bench bench;
  const Ran ran = bench.Run("slo: {max_error_share: 0}\n", {});
  REQUIRE(ran.status == kFailure);
  REQUIRE_THAT(ran.err, Contains("--target"));
}

TEST_CASE("faults cannot be done to somebody else's fleet") {
  const Bench bench;
  const Ran ran =
      bench.Run(bench.FleetLine() + "faults: [{kind: kill, target: reranker, at: 1s}]\n" +
                    "slo: {max_error_share: 0}\n",
                {"--target", "127.0.0.1:1"});
  REQUIRE(ran.status == kFailure);
  REQUIRE_THAT(ran.err, Contains("faults"));
}

}  // namespace
}  // namespace sightline
