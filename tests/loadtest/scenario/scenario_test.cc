#include "loadtest/scenario/scenario.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

class Folder {
 public:
  std::string path() const { return dir_.File("scenario.yaml"); }

  absl::StatusOr<Scenario> Read(const std::string& yaml) {
    REQUIRE(WriteFileAtomically(path(), yaml).ok());
    return ReadScenario(path());
  }

  // The problems, without the file's name before each.
  std::vector<std::string> Problems(const std::string& yaml) {
    const absl::StatusOr<Scenario> scenario = Read(yaml);
    if (scenario.ok()) return {};
    REQUIRE(scenario.status().code() == absl::StatusCode::kInvalidArgument);
    const std::string text = absl::StrReplaceAll(scenario.status().message(), {{path() + ":", ""}});
    return absl::StrSplit(text, '\n');
  }

 private:
  TempDir dir_;
};

std::string Tags(int count) {
  std::vector<std::string> tags;
  for (int i = 0; i < count; ++i) tags.push_back(absl::StrCat("tag-", i));
  return absl::StrJoin(tags, ", ");
}

constexpr const char* kLeast =
    "name: least\n"
    "arrivals: {rate: 10}\n"
    "mix: [{queries: questions.jsonl}]\n";

TEST_CASE("what a scenario does not say has its default") {
  Folder folder;
  const auto scenario = folder.Read(kLeast);
  REQUIRE(scenario.ok());
  REQUIRE(scenario->name == "least");
  REQUIRE(scenario->seed == 1);
  REQUIRE(scenario->warm_up == absl::Seconds(5));
  REQUIRE(scenario->length == absl::Seconds(30));
  REQUIRE(scenario->arrivals.kind == ArrivalKind::kPoisson);
  REQUIRE(scenario->arrivals.rate == 10);
  REQUIRE(scenario->max_outstanding == 10000);
  REQUIRE(scenario->connections == 4);
  REQUIRE(scenario->check_answers);
  REQUIRE(scenario->mix.size() == 1);
  const MixEntry& entry = scenario->mix[0];
  REQUIRE(entry.name == "text");
  REQUIRE(entry.kind == QueryKind::kText);
  REQUIRE(entry.index.empty());
  REQUIRE(entry.weight == 1);
  REQUIRE(entry.top_k.size() == 1);
  REQUIRE(entry.top_k[0].value == 10);
  REQUIRE(entry.depth.size() == 1);
  REQUIRE(entry.depth[0].value == 20);
  REQUIRE(entry.deadline == absl::Seconds(1));
  REQUIRE(entry.distinct == 0);
  REQUIRE(entry.measure_recall == 0);
  REQUIRE(scenario->slo.latency.empty());
  REQUIRE_FALSE(scenario->slo.max_error_share);
  REQUIRE(scenario->faults.empty());
  REQUIRE_FALSE(scenario->fleet);
  REQUIRE_FALSE(scenario->capacity);
}

TEST_CASE("every key is read") {
  Folder folder;
  const auto scenario = folder.Read(R"(
name: full
description: everything
seed: 7
warm_up: 1s
length: 1m
max_outstanding: 5
connections: 2
check_answers: false
arrivals: {kind: ramp, rate: 1, end_rate: 50}
mix:
  - {name: words, kind: text, weight: 2.5, index: images, queries: a.txt, distinct: 3,
     top_k: [{value: 5, weight: 3}, {value: 50}], depth: [{value: 0}], reranker: fine,
     any: [fish, sea], all: [red], none: [drawing], recall: 0.9,
     deadline: 250ms, measure_recall: 5}
  - {kind: image, queries: /pictures}
  - {kind: item, index: captions}
slo:
  latency: [{percentile: 50, within: 10ms}, {percentile: 99.9, within: 1s}]
  max_error_share: 0.01
  max_degraded_share: 0.02
  min_coverage: 0.9
  min_recall: 0.8
  min_measured_recall: 0.7
  min_depth_share: 0.4
fleet: {store: store, query_encoders: 2, rerankers: 3, shards: 4, replicas_per_shard: 2, caches: embeddings}
faults:
  - {kind: kill, target: reranker/2, at: 5s, lasting: 2s, expect: {max_failures: 0, whole_within: 9s}}
  - {kind: pause, target: index_search/3/1, at: 6s}
  - {kind: delay, target: query_encoder, at: 7s, lasting: 1s, delay: 20ms}
)");
  REQUIRE(scenario.status().message() == "");
  const std::string here = folder.path().substr(0, folder.path().rfind('/'));
  REQUIRE(scenario->description == "everything");
  REQUIRE(scenario->seed == 7);
  REQUIRE(scenario->warm_up == absl::Seconds(1));
  REQUIRE(scenario->length == absl::Minutes(1));
  REQUIRE(scenario->max_outstanding == 5);
  REQUIRE(scenario->connections == 2);
  REQUIRE_FALSE(scenario->check_answers);
  REQUIRE(scenario->arrivals.kind == ArrivalKind::kRamp);
  REQUIRE(scenario->arrivals.end_rate == 50);

  REQUIRE(scenario->fleet->caches == "embeddings");
  REQUIRE(scenario->mix.size() == 3);
  const MixEntry& words = scenario->mix[0];
  REQUIRE(words.name == "words");
  REQUIRE(words.weight == 2.5);
  REQUIRE(words.index == "images");
  REQUIRE(words.queries == here + "/a.txt");
  REQUIRE(words.distinct == 3);
  REQUIRE(words.top_k.size() == 2);
  REQUIRE(words.top_k[0].weight == 3);
  REQUIRE(words.top_k[1].value == 50);
  REQUIRE(words.depth.size() == 1);
  REQUIRE(words.depth[0].value == 0);
  REQUIRE(words.reranker == "fine");
  REQUIRE(words.filter.any == std::vector<std::string>{"fish", "sea"});
  REQUIRE(words.filter.all == std::vector<std::string>{"red"});
  REQUIRE(words.filter.none == std::vector<std::string>{"drawing"});
  REQUIRE(words.effort.recall == 0.9f);
  REQUIRE_FALSE(words.effort.effort.has_value());
  REQUIRE(words.deadline == absl::Milliseconds(250));
  REQUIRE(words.measure_recall == 5);
  REQUIRE(scenario->mix[1].kind == QueryKind::kImage);
  REQUIRE(scenario->mix[1].queries == "/pictures");
  REQUIRE(scenario->mix[2].name == "item");
  REQUIRE(scenario->mix[2].queries.empty());

  REQUIRE(scenario->slo.latency.size() == 2);
  REQUIRE(scenario->slo.latency[1].first == Approx(0.999));
  REQUIRE(scenario->slo.latency[1].second == absl::Seconds(1));
  REQUIRE(scenario->slo.max_error_share == 0.01);
  REQUIRE(scenario->slo.max_degraded_share == 0.02);
  REQUIRE(scenario->slo.min_coverage == 0.9);
  REQUIRE(scenario->slo.min_recall == 0.8);
  REQUIRE(scenario->slo.min_measured_recall == 0.7);
  REQUIRE(scenario->slo.min_depth_share == 0.4);

  REQUIRE(scenario->fleet->store == here + "/store");
  REQUIRE(scenario->fleet->query_encoders == 2);
  REQUIRE(scenario->fleet->rerankers == 3);
  REQUIRE(scenario->fleet->shards == 4);
  REQUIRE(scenario->fleet->replicas_per_shard == 2);

  REQUIRE(scenario->faults.size() == 3);
  REQUIRE(scenario->faults[0].target == "reranker/2");
  REQUIRE(scenario->faults[0].at == absl::Seconds(5));
  REQUIRE(scenario->faults[0].lasting == absl::Seconds(2));
  REQUIRE(scenario->faults[0].max_failures == 0);
  REQUIRE(scenario->faults[0].whole_within == absl::Seconds(9));
  REQUIRE(scenario->faults[1].kind == FaultKind::kPause);
  REQUIRE(scenario->faults[1].lasting == absl::ZeroDuration());
  REQUIRE_FALSE(scenario->faults[1].max_failures);
  REQUIRE(scenario->faults[2].kind == FaultKind::kDelay);
  REQUIRE(scenario->faults[2].target == "query_encoder/0");
  REQUIRE(scenario->faults[2].delay == absl::Milliseconds(20));
}

TEST_CASE("lag of the generator matters from a tenth of the tightest latency on") {
  Slo slo;
  slo.latency = {{0.99, absl::Seconds(5)}, {0.5, absl::Seconds(2)}};
  REQUIRE(slo.late_after() == absl::Milliseconds(200));
  slo.latency.push_back({0.1, absl::Milliseconds(3)});
  REQUIRE(slo.late_after() == absl::Milliseconds(10));
}

TEST_CASE("lag of the generator matters by the second where latency is not judged") {
  Slo slo;
  slo.max_error_share = 0;
  REQUIRE(slo.late_after() == absl::Seconds(1));
  slo.max_p99_ratio_in_faults = 1.5;
  REQUIRE(slo.late_after() == absl::Milliseconds(10));
}

TEST_CASE("a replay has a trace in place of rate and mix") {
  Folder folder;
  const auto scenario = folder.Read(
      "name: again\nlength: 9s\n"
      "arrivals: {kind: replay, trace: /t.jsonl, speed: 2}\n");
  REQUIRE(scenario.ok());
  REQUIRE(scenario->length == absl::Seconds(9));
  REQUIRE(scenario->arrivals.trace == "/t.jsonl");
  REQUIRE(scenario->arrivals.speed == 2);
  REQUIRE(scenario->mix.empty());
}

TEST_CASE("a capacity search needs no rate") {
  Folder folder;
  const auto scenario = folder.Read(R"(
name: capacity
arrivals: {kind: constant}
mix: [{queries: q.txt}]
slo: {max_error_share: 0}
capacity: {lowest: 2, highest: 20, precision: 0.1, window: 3s, settle: 1s}
)");
  REQUIRE(scenario.status().message() == "");
  REQUIRE(scenario->capacity->lowest == 2);
  REQUIRE(scenario->capacity->highest == 20);
  REQUIRE(scenario->capacity->precision == 0.1);
  REQUIRE(scenario->capacity->window == absl::Seconds(3));
  REQUIRE(scenario->capacity->settle == absl::Seconds(1));
}

TEST_CASE("every problem is told at once, with line, key, value and what is allowed") {
  Folder folder;
  const std::vector<std::string> problems = folder.Problems(
      "nam: typo\n"
      "arrivals: {kind: ramp, rate: -1}\n"
      "mix:\n"
      "  - {kind: item, top_k: [{value: 0}]}\n"
      "slo: {max_error_share: 1.5}\n");
  REQUIRE(problems.size() == 7);
  REQUIRE(problems[0] == "1:1: name: is missing and has no default");
  REQUIRE(problems[1] == "1:1: nam: unknown key; did you mean name?");
  REQUIRE(problems[2] == "2:11: arrivals.end_rate: is missing and has no default");
  REQUIRE(problems[3] == "2:30: arrivals.rate: -1 is out of range; allowed is 0.001 to 1e+06");
  REQUIRE(absl::StrContains(problems[4], "mix[0].index: is missing"));
  REQUIRE(absl::StrContains(problems[5], "mix[0].top_k[0].value: 0 is out of range"));
  REQUIRE(absl::StrContains(problems[6], "slo.max_error_share: 1.5 is out of range"));
}

TEST_CASE("what does not fit together is refused") {
  const std::string mix = "mix: [{queries: q.txt}]\n";
  const std::string head = "name: x\narrivals: {rate: 10}\n" + mix;
  const std::string fleet = head + "fleet: {}\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"name: X y\narrivals: {rate: 1}\n" + mix, "name: must be made of"},
      {"name: x\n" + mix, "arrivals.rate: is missing"},
      {"name: x\narrivals: {rate: .nan}\n" + mix, "arrivals.rate: wants a number"},
      {"name: x\narrivals: {rate: 1e999}\n" + mix, "arrivals.rate: wants a number"},
      {"name: x\narrivals: {rate: 2000000}\n" + mix, "arrivals.rate: "},
      {"name: x\nlength: 1h\narrivals: {rate: 1000000}\n" + mix, "makes 3.605e+09 requests"},
      {"name: x\narrivals: {kind: bursts, rate: 1}\n" + mix, "wants one of poisson"},
      {"name: x\narrivals: {rate: 1, end_rate: 2}\n" + mix, "end_rate: does nothing for the kind"},
      {"name: x\narrivals: {rate: 1, speed: 2}\n" + mix, "speed: does nothing for the kind"},
      {"name: x\narrivals: {kind: replay, trace: t, rate: 2}\n", "rate: does nothing"},
      {"name: x\narrivals: {kind: replay}\n", "trace: is missing"},
      {"name: x\narrivals: {kind: replay, trace: t}\n" + mix, "mix: does nothing"},
      {"name: x\narrivals: {kind: replay, trace: t}\n", "length: is missing"},
      {"name: x\narrivals: {rate: 1}\n", "mix: has 0 entries"},
      {"name: x\narrivals: {rate: 1}\nmix: [{}]\n", "mix[0].queries: is missing"},
      {"name: x\narrivals: {rate: 1}\nmix: [{queries: a}, {queries: b}]\n", "names two entries"},
      {"name: x\narrivals: {rate: 1}\nmix: [{queries: a, weight: 0}]\n", "weight: 0 is out"},
      {"name: x\narrivals: {rate: 1}\nmix: [{queries: a, top_k: []}]\n", "top_k: has 0 entries"},
      {"name: x\narrivals: {rate: 1}\nmix: [{queries: a, top_k: 10}]\n", "top_k: wants a list"},
      {"name: x\narrivals: {rate: 1}\nmix: [{queries: a, recall: 0}]\n", "recall: 0 is out"},
      {"name: x\narrivals: {rate: 1}\nmix: [{queries: a, effort: 0}]\n", "effort: 0 is out"},
      {"name: x\narrivals: {rate: 1}\nmix: [{queries: a, recall: 1, effort: 9}]\n",
       "effort: does nothing beside recall"},
      {"name: x\narrivals: {rate: 1}\nmix: [{queries: a, all: [" + std::string(1025, 't') + "]}]\n",
       "all: has a tag of 1025 bytes; at most 1024"},
      {"name: x\narrivals: {rate: 1}\nmix: [{queries: a, any: [" + Tags(40) + "], none: [" +
           Tags(40) + "]}]\n",
       "any, all and none have 80 tags together, at most 64"},
      {"name: x\narrivals: {rate: 1}\nmix: [{queries: a, index: A/b}]\n", "index: must be made"},
      {"name: x\narrivals: {rate: 1}\nmix: [{queries: a, deadline: 0}]\n", "deadline: 0 is out"},
      {"name: x\narrivals: {rate: 1}\nmix: [{queries: a, measure_recall: 10}]\n",
       "measure_recall: has 10 beside a depth of 20; "},
      {"name: x\narrivals: {rate: 1}\n"
       "mix: [{queries: a, measure_recall: 9, depth: [{value: 0}, {value: 4}]}]\n",
       "measure_recall: has 9 beside a depth of 4; "},
      {"name: x\narrivals: {rate: 1}\nmix: [{queries: a, measure_recall: 9, "
       "depth: [{value: 0}], top_k: [{value: 9}, {value: 8}]}]\n",
       "measure_recall: has 9 beside a top_k of 8"},
      {"name: x\narrivals: {rate: 1}\n"
       "mix: [{queries: a, measure_recall: 0, depth: [{value: 0}]}]\n",
       "measure_recall: 0 is out"},
      {"name: x\narrivals: {rate: 1}\nmix: [{queries: a, measure_recall: 101, "
       "depth: [{value: 0}], top_k: [{value: 200}]}]\n",
       "measure_recall: 101 is out"},
      {head + "slo: {min_measured_recall: 0.9}\n",
       "min_measured_recall: has 0.9, and no entry of the mix measures recall"},
      {head + "length: 0\n", "length: 0 is out of range"},
      {head + "length: inf\n", "length: wants a number and a unit"},
      {head + "max_outstanding: 0\n", "max_outstanding: 0"},
      {head + "slo: {latency: [{percentile: 100, within: 1s}]}\n", "percentile: 100 is out"},
      {head + "slo: {latency: [{percentile: 99}]}\n", "within: is missing"},
      {head + "slo: {latency: [{percentile: 9, within: 1s}, {percentile: 9, within: 2s}]}\n",
       "9 is limited twice"},
      {head + "slo: {latency: [{percentile: 9, within: 1s}]}\n", "refuses every request at once"},
      {head + "faults: [{kind: kill, target: reranker}]\n", "faults: need a fleet"},
      {fleet + "faults: [{target: reranker}]\n", "kind: is missing"},
      {fleet + "faults: [{kind: publish, target: images}]\n", "lasting: is missing"},
      {fleet + "slo: {max_p99_ratio_in_faults: 1.5}\n", "is of faults"},
      {fleet + "faults: [{kind: kill, target: cat}]\n", "the fleet has no process 'cat'"},
      {fleet + "faults: [{kind: kill, target: index_search/2}]\n", "no process 'index_search/2'"},
      {fleet + "faults: [{kind: delay, target: router}]\n", "delay: is missing"},
      {fleet + "faults: [{kind: kill, target: router, delay: 1s}]\n", "delay: does nothing"},
      {fleet + "faults: [{kind: kill, target: router, at: 20s, lasting: 11s}]\n",
       "ends before 31s have passed"},
      {fleet + "faults: [{kind: kill, target: router, at: 20s, expect: {whole_within: 15s}}]\n",
       "ends before 35s have passed"},
      {fleet +
           "faults: [{kind: kill, target: reranker}, {kind: pause, target: reranker/0, at: 9s}]",
       "faults[1].at: faults[0] is still done to reranker/0"},
      {head + "capacity: {lowest: 1}\n", "rate: does nothing beside capacity"},
      {head + "capacity: {lowest: 9, highest: 9}\n", "lowest: 9 is not below highest, 9"},
      {head + "capacity: {}\n", "the slo, which asks for nothing"},
      {head + "length: 9s\ncapacity: {}\n", "length: does nothing beside capacity"},
      {fleet + "faults: [{kind: kill, target: router}]\ncapacity: {}\n", "faults: go with no"},
      {"name: x\narrivals: {kind: ramp, rate: 1, end_rate: 2}\ncapacity: {}\n" + mix,
       "arrivals.kind: has ramp"},
  };
  Folder folder;
  for (const auto& [yaml, problem] : cases) {
    INFO(yaml);
    const absl::StatusOr<Scenario> scenario = folder.Read(yaml);
    REQUIRE_FALSE(scenario.ok());
    INFO(scenario.status().message());
    REQUIRE(absl::StrContains(scenario.status().message(), problem));
    REQUIRE(absl::StartsWith(scenario.status().message(), folder.path() + ":"));
  }
}

TEST_CASE("two faults of one process may follow each other") {
  Folder folder;
  REQUIRE(folder
              .Problems(absl::StrCat(
                  kLeast, "fleet: {}\nfaults: [{kind: kill, target: router, lasting: 2s}, ",
                  "{kind: pause, target: router, at: 5s, lasting: 1s}]\n"))
              .empty());
}

TEST_CASE("a scenario that is not there is told") {
  const auto scenario = ReadScenario("/nowhere/at/all.yaml");
  REQUIRE(scenario.status().code() == absl::StatusCode::kNotFound);
  REQUIRE(absl::StrContains(scenario.status().message(), "/nowhere/at/all.yaml"));
}

}  // namespace
}  // namespace sightline
