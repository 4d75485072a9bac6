#include "loadtest/report/figures.h"

#include "tests/loadtest/report/sample_data.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("criteria are summed up in words") {
  const auto row = [](CriterionState state) { return Criterion{"a", "b", "c", state, ""}; };
  Verdict verdict;
  REQUIRE(CriteriaSummary(verdict) == "no criteria");
  verdict.criteria = {row(CriterionState::kHeld)};
  REQUIRE(CriteriaSummary(verdict) == "1 criterion held");
  verdict.criteria.push_back(row(CriterionState::kNotMeasurable));
  REQUIRE(CriteriaSummary(verdict) == "1 of 2 criteria not measurable");
  verdict.criteria.push_back(row(CriterionState::kBroken));
  REQUIRE(CriteriaSummary(verdict) == "1 of 3 criteria broken, 1 not measurable");
}

TEST_CASE("figures are written with few digits") {
  REQUIRE(RateText(198.44) == "198/s");
  REQUIRE(RateText(12.5) == "12.5/s");
  REQUIRE(RateText(0.25) == "0.25/s");
  REQUIRE(LatencyText(absl::InfiniteDuration()) == "never");
  REQUIRE(LatencyText(absl::optional<absl::Duration>()) == "–");
  REQUIRE(LengthText(absl::Microseconds(65000123)) == "1m5s");
  REQUIRE(QuantileName(0.5) == "p50");
  REQUIRE(QuantileName(0.999) == "p99.9");
}

TEST_CASE("goodput says which condition is broken") {
  RerankedCounts counts{900, 900, 18000, 9000, 900, 600, 500};
  const auto text = [&] { return GoodputText(GoodputOf(counts, absl::Seconds(45))); };
  REQUIRE(text() ==
          "20/s in time; mean depth 10.0 of 20, at least 8; Recall@1 66.7%, by retrieval alone "
          "55.6%");
  counts.scored = 3600;
  REQUIRE_THAT(text(), Catch::StartsWith("none: 20/s in time; mean depth 4.0 of 20, less than 8"));
  counts.scored = 9000;
  counts.right = 500;
  REQUIRE_THAT(text(), Catch::StartsWith("none: "));
  REQUIRE_THAT(text(), Catch::Contains("55.6%, not above retrieval alone 55.6%"));
  counts.judged = 0;
  REQUIRE_THAT(text(), Catch::StartsWith("not told: "));
}

TEST_CASE("counts come by size and then by name") {
  REQUIRE(CountsText(Counts({{"b", 2}, {"a", 2}, {"c", 30}})) == "c 30, a 2, b 2");
  Tally tally;
  tally.codes = {{"OK", 9}, {"UNAVAILABLE", 1}};
  REQUIRE(CountsText(ErrorCounts(tally)) == "UNAVAILABLE 1");
}

TEST_CASE("stages come in the order of a request, empty ones not at all") {
  Tally tally;
  for (const char* name : {"total", "rerank", "zoom", "encode"}) {
    tally.stages[name].Record(absl::Milliseconds(1));
  }
  tally.stages["fetch"];
  std::string order;
  for (const NamedHistogram& stage : StagesInOrder(tally)) order += stage.name + " ";
  REQUIRE(order == "encode rerank zoom total ");
}

TEST_CASE("a stage's share is of the time of all answers, also of those that do without it") {
  Tally tally;
  CHECK(StageShare(tally, "encode") == "–");
  for (int i = 0; i < 4; ++i) tally.stages["total"].Record(absl::Milliseconds(100));
  for (int i = 0; i < 2; ++i) tally.stages["encode"].Record(absl::Milliseconds(50));
  CHECK(StageShare(tally, "encode") == FormatShare(0.25));
  CHECK(StageShare(tally, "total") == FormatShare(1));
  CHECK(StageShare(tally, "rerank") == FormatShare(0));
}

TEST_CASE("measured recall stands beside the promised one and beside latency") {
  LoadResult run;
  Tally& words = run.by_kind["words"];
  for (int i = 1; i <= 100; ++i) words.latency.Record(absl::Milliseconds(10));
  words.efforts = {{"recall 0.95", 90}, {"recall 0.90 reduced", 10}};
  words.measured_recall = RecallCounts{98, 2, 980, 931};
  run.by_kind["swapped"].measured_recall = RecallCounts{0, 7, 0, 0};
  run.by_kind["unmeasured"].ok = 5;
  const auto rows = RecallRows(run);
  REQUIRE(rows.size() == 2);
  for (const auto& row : rows) REQUIRE(row.size() == RecallTitles().size());
  REQUIRE(rows[0] == std::vector<std::string>{"swapped", "–", "0", "7", "–", "–", ""});
  REQUIRE(rows[1][0] == "words");
  REQUIRE(rows[1][1] == "95%");
  REQUIRE(rows[1][2] == "98");
  REQUIRE(rows[1][3] == "2");
  REQUIRE(rows[1][4] == LatencyText(words.latency.Quantile(0.5)));
  REQUIRE(rows[1][6] == "recall 0.95 90, recall 0.90 reduced 10");
}

TEST_CASE("faults have letters as long as there are faults") {
  REQUIRE(FaultLetter(0) == "A");
  REQUIRE(FaultLetter(25) == "Z");
  REQUIRE(FaultLetter(26) == "A1");
}

TEST_CASE("the generator's CPU time is that of a request, warm-up included") {
  LoadResult run;
  REQUIRE(CpuPerRequest(run) == absl::ZeroDuration());
  run.generator.cpu = absl::Milliseconds(30);
  run.seconds.resize(3);
  for (Second& second : run.seconds) second.sent = 100;
  REQUIRE(CpuPerRequest(run) == absl::Microseconds(100));
}

TEST_CASE("each server's CPU time is that of a request") {
  LoadResult run;
  run.server_cpu_us = {{"router", 30'000}, {"index_search/0/0", 60'000}};
  REQUIRE(ServerCpuPerRequest(run).empty());
  run.seconds.resize(3);
  for (Second& second : run.seconds) second.sent = 100;
  REQUIRE(ServerCpuPerRequest(run) ==
          std::map<std::string, absl::Duration>{{"index_search/0/0", absl::Microseconds(200)},
                                                {"router", absl::Microseconds(100)}});
}

TEST_CASE("a device's passes are those of the whole run, each with what it took") {
  LoadResult run;
  CHECK(DeviceRows(run).empty());
  run.warm_up = absl::Seconds(2);
  run.length = absl::Seconds(8);
  const DeviceWork work = {200,       150,      absl::Milliseconds(300), absl::Milliseconds(50),
                           7'000'000, 3'000'000};
  run.devices = {{"reranker a:1", {1, "Great GPU", 80'000'000'000, 1'250'000'000, work}},
                 {"index_search b:2", {0, "", 0, 0, {}}}};
  CHECK(DeviceTitles().size() == DeviceRows(run)[0].size());
  CHECK(DeviceRows(run)[0] == std::vector<std::string>{"reranker a:1, Great GPU 1", "20/s",
                                                       LatencyText(absl::Microseconds(1500)),
                                                       LatencyText(absl::Microseconds(250)),
                                                       FormatShare(0.75), "0.7", "0.3", "1.25"});
  CHECK(DeviceRows(run)[1] == std::vector<std::string>{"index_search b:2, device 0", "0/s", "–",
                                                       "–", "–", "0.0", "0.0", "0.00"});
}

TEST_CASE("a capacity says how sure it is") {
  ReportedCapacity capacity = *SampleData().capacity;
  REQUIRE(CapacityText(capacity).substr(0, 20) == "260/s, knee at 272/s");
  capacity.ending = CapacityEnding::kAboveHighest;
  capacity.knee.reset();
  REQUIRE(CapacityText(capacity) == "260/s or more");
  capacity.ending = CapacityEnding::kBelowLowest;
  REQUIRE(CapacityText(capacity) == "none: not even the lowest rate meets the SLO");
}

}  // namespace
}  // namespace sightline
