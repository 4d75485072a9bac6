#include "tests/loadtest/report/sample_data.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

constexpr int kWarmUp = 5;
constexpr int kLength = 60;
constexpr int kRate = 200;
constexpr int kKilled = 22, kBack = 30;     // the reranker
constexpr int kPaused = 45, kResumed = 48;  // a shard
constexpr double kTau = 6.283185307179586;

class Dice {
 public:
  double Uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) / 9007199254740992.0; }
  double Normal() { return std::sqrt(-2 * std::log(Uniform())) * std::cos(kTau * Uniform()); }
  absl::Duration Around(double milliseconds, double spread) {
    return absl::Nanoseconds(std::llround(1e6 * milliseconds * std::exp(spread * Normal())));
  }

 private:
  std::mt19937_64 engine_{7};
};

struct Kind {
  const char* name;
  double share, encode, search, rerank;
};
constexpr Kind kKinds[] = {
    {"image", 0.2, 14, 5, 26}, {"item", 0.1, 0.4, 5, 22}, {"text", 0.7, 6, 5, 19}};

struct Sample {
  absl::Duration latency;
  const char* code = "OK";
  const char* degraded = nullptr;
  std::vector<std::pair<const char*, absl::Duration>> stages;
};

Sample Draw(const Kind& kind, double at, Dice* dice) {
  Sample sample;
  const bool no_reranker = at >= kKilled && at < kBack + 2;
  if (at >= kPaused && at < kResumed) {
    sample.latency = absl::Milliseconds(900) + dice->Around(20, 0.4);
    sample.code = "DEADLINE_EXCEEDED";
    if (dice->Uniform() < 0.3) return sample;
    sample.code = "OK";
    sample.degraded = "SHARDS_MISSING";
  }
  absl::Duration total;
  const auto stage = [&](const char* name, double milliseconds) {
    sample.stages.emplace_back(name, dice->Around(milliseconds, 0.35));
    total += sample.stages.back().second;
  };
  stage("encode", kind.encode);
  stage("search", kind.search);
  if (!no_reranker) stage("rerank", kind.rerank);
  stage("fetch", 1.2);
  if (no_reranker) sample.degraded = "RERANKER_UNAVAILABLE";
  total += dice->Around(0.8, 0.3);
  if (dice->Uniform() < 0.01) total += dice->Around(70, 0.5);
  sample.stages.emplace_back("total", total);
  // Caches are cold at first, and a backlog is worked off after the pause.
  double waiting = at < 3 ? 60 * (3 - at) : 0;
  if (at >= kResumed && at < kResumed + 2) waiting = 450 * (kResumed + 2 - at);
  sample.latency =
      std::max(sample.latency, total + dice->Around(0.7, 0.5) + absl::Milliseconds(waiting));
  return sample;
}

void Add(const Sample& sample, Dice* dice, Tally* tally) {
  ++tally->count;
  ++tally->codes[sample.code];
  tally->latency.Record(sample.latency);
  if (std::string(sample.code) != "OK") return;
  ++tally->ok;
  ++tally->generations["20261121-093012-7f3a"];
  ++tally->precisions["reranker int8"];
  ++tally->efforts["recall 0.95"];
  if (!tally->filtered.has_value()) tally->filtered.emplace();
  tally->filtered->Merge({1, 1234});
  if (!tally->measured_recall.has_value()) tally->measured_recall.emplace();
  tally->measured_recall->Merge({1, 1, 20, 19});
  tally->shards_asked += 2;
  tally->shards_answered += 2;
  ++tally->known_items_asked;
  if (!tally->reranked.has_value()) tally->reranked.emplace();
  tally->reranked->Merge({1, 1, 20, 12, 1, 1, 0});
  tally->known_items_found += dice->Uniform() < 0.93 ? 1 : 0;
  if (sample.degraded != nullptr) {
    ++tally->degraded;
    ++tally->degraded_reasons[sample.degraded];
    if (std::string(sample.degraded) == "SHARDS_MISSING") --tally->shards_answered;
  }
  for (const auto& [name, time] : sample.stages) tally->stages[name].Record(time);
}

void AddSeconds(LoadResult* run) {
  Dice dice;
  run->seconds.resize(kWarmUp + kLength);
  for (int s = 0; s < kWarmUp + kLength; ++s) {
    Second& second = run->seconds[s];
    second.second = s;
    second.intended = kRate + std::lround(std::sqrt(kRate) * dice.Normal());
    second.sent = second.intended;
    for (int64_t i = 0; i < second.intended; ++i) {
      const double u = dice.Uniform();
      const Kind& kind = kKinds[u < 0.2 ? 0 : u < 0.3 ? 1 : 2];
      const double at = s + static_cast<double>(i) / static_cast<double>(second.intended);
      const Sample sample = Draw(kind, at, &dice);
      Add(sample, &dice, &second.tally);
      const int end = static_cast<int>(at + absl::ToDoubleSeconds(sample.latency));
      ++run->seconds[std::min(end, kWarmUp + kLength - 1)].ended;
      second.outstanding =
          std::max<int64_t>(second.outstanding, kRate * absl::ToDoubleSeconds(sample.latency));
      if (s < kWarmUp) continue;
      Add(sample, &dice, &run->total);
      Add(sample, &dice, &run->by_kind[kind.name]);
    }
  }
  for (int i = 0; i < kRate * kLength; ++i) run->generator.lag.Record(dice.Around(0.09, 0.8));
}

ReportedCapacity Curve() {
  CapacityResult search;
  search.ending = CapacityEnding::kFound;
  search.rate = 260;
  search.why = "260/s meets the SLO, 272/s does not: latency p99, at most 300ms, measured 341.2ms";
  for (const double rate : {50, 120, 180, 220, 250, 260, 272, 290, 330, 400}) {
    CapacityStep step;
    step.point.rate = rate;
    step.point.achieved = rate < 270 ? 0.998 * rate : 268 - 0.08 * (rate - 270);
    const double load = std::min(rate / 276, 0.985);
    step.point.p50 = absl::Milliseconds(24 + 6 / (1 - load));
    step.point.p99 = absl::Milliseconds(60 + 13 / (1 - load));
    if (rate > 280) step.point.p99 = absl::Milliseconds(900 + rate / 10);
    if (rate < 100) step.point.p99 = absl::nullopt;
    step.point.measured_recall = RecallCounts{100, 0, 1000, rate < 300 ? 951 : 873};
    step.point.error_share = rate < 270 ? 0 : 1 - step.point.achieved / rate;
    search.steps.push_back(step);
  }
  return ReportCapacity(search);
}

}  // namespace

ReportData SampleData() {
  ReportData data;
  LoadResult& run = data.result;
  run.scenario = "steady with faults";
  run.target = "127.0.0.1:7400";
  run.started = absl::FromUnixSeconds(1795262400);
  run.warm_up = absl::Seconds(kWarmUp);
  run.length = absl::Seconds(kLength);
  run.intended_rate = kRate;
  AddSeconds(&run);
  run.total.check_failures["order"] = 3;
  run.faults = {
      {"kill reranker", absl::Seconds(kKilled), absl::Seconds(kBack), absl::Seconds(2), {}},
      {"pause index_search/0",
       absl::Seconds(kPaused),
       absl::Seconds(kResumed),
       absl::Seconds(2),
       {"failed requests: wanted at most 0, measured 177"}}};
  run.generator.late = 4;
  run.generator.late_after = absl::Milliseconds(10);
  run.generator.cpu = absl::Milliseconds(1130);
  run.server_cpu_us = {{"index_search/0/0", 2'400'000}, {"router", 1'200'000}};
  run.devices = {{"reranker 127.0.0.1:7403",
                  {0,
                   "A GPU",
                   80'000'000'000,
                   1'500'000'000,
                   {14'000, 13'300, absl::Milliseconds(28'000), absl::Milliseconds(7'000),
                    4'200'000'000, 140'000'000}}}};
  run.environment = {{"cores", "2"}, {"cpu", "a CPU"}, {"model", "demo"}};
  data.latency_limits = {{0.5, absl::Milliseconds(60)}, {0.99, absl::Milliseconds(300)}};
  data.verdict.outcome = Ruling::kFail;
  data.verdict.criteria = {{"answers", "none wrong", "3 order", CriterionState::kBroken, ""},
                           {"latency p50", "at most 60ms", "31.49ms", CriterionState::kHeld, ""},
                           {"latency p99", "at most 300ms", "913.4ms", CriterionState::kBroken, ""},
                           {"latency p99.9", "at most 1s", "", CriterionState::kNotMeasurable,
                            "fewer than 10 of 12000 samples lie beyond it; run longer"},
                           {"error share", "at most 5%", "1.45%", CriterionState::kHeld, ""}};
  data.capacity = Curve();
  return data;
}

ReportData HostileData() {
  const std::string evil =
      "</script><script>document.title='broken'</script> \"><img src=x onerror=alert(1)> & ' ]]> "
      "\x1b[31m \xff\xfe \xef\xbf\xbf \t tab\nline";
  ReportData data = SampleData();
  LoadResult& run = data.result;
  run.scenario = evil;
  run.target = evil;
  run.environment[evil] = evil;
  run.faults[0].name = evil;
  run.faults[1].failed_expectations = {evil};
  run.by_kind[evil] = run.by_kind["text"];
  run.total.codes[evil] = 1;
  run.total.generations[evil] = 1;
  run.total.precisions[evil] = 1;
  run.total.degraded_reasons[evil] = 1;
  run.total.check_failures[evil] = 1;
  run.total.stages[evil] = run.total.stages["fetch"];
  data.verdict.criteria[0] = {evil, evil, evil, CriterionState::kBroken, evil};
  data.verdict.doubts = {evil};
  data.capacity->why = evil;
  return data;
}

}  // namespace sightline
