#include "loadtest/measure/recorder.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

using Counts = std::map<std::string, int64_t>;

const std::vector<std::string> kKinds = {"text", "image", "item"};

RecorderOptions Options(absl::Duration warm_up, absl::Duration length) {
  RecorderOptions options;
  options.kinds = kKinds;
  options.warm_up = warm_up;
  options.length = length;
  return options;
}

Observation Answered(absl::Duration intended, absl::Duration latency) {
  Observation observation;
  observation.intended = observation.sent = intended;
  observation.ended = intended + latency;
  observation.generation = "g1";
  observation.shard_count = observation.answered_shard_count = 2;
  return observation;
}

// Anything that may happen within some seconds, late and failed requests included.
std::vector<Observation> Anything(int count, uint64_t seed) {
  std::mt19937_64 engine(seed);
  const auto below = [&engine](int64_t end) { return static_cast<int64_t>(engine() % end); };
  std::vector<Observation> observations;
  for (int i = 0; i < count; ++i) {
    Observation observation;
    observation.intended = absl::Microseconds(below(7'500'000));
    observation.sent = observation.intended + absl::Microseconds(below(20'000));
    observation.ended = observation.sent + absl::Microseconds(below(2'500'000));
    observation.kind = static_cast<int>(below(3));
    if (below(4) == 0) {
      observation.code = static_cast<absl::StatusCode>(1 + below(16));
      observations.push_back(observation);
      continue;
    }
    observation.generation = below(2) == 0 ? "g1" : "g2";
    observation.effort = below(2) == 0 ? "exact" : "recall 0.95";
    observation.filtered = below(3) == 0;
    observation.matched_items = below(1000);
    observation.exact_answer_known = below(2) == 0;
    if (observation.exact_answer_known) {
      observation.nearest_items = 10 * static_cast<int>(below(2));
      observation.nearest_found = static_cast<int>(below(1 + observation.nearest_items));
    }
    if (below(2) == 0) observation.precisions = {"encoder int8", "reranker float32"};
    observation.shard_count = 4;
    observation.answered_shard_count = static_cast<int>(1 + below(4));
    if (observation.answered_shard_count < 4) {
      observation.degraded.push_back(DegradedReason::kShardsMissing);
    }
    if (below(3) == 0) observation.degraded.push_back(DegradedReason::kDepthReduced);
    observation.known_item_asked = below(2) == 0;
    observation.known_item_found = observation.known_item_asked && below(3) > 0;
    observation.asked_depth = 20 * static_cast<int>(below(2));
    observation.scored_depth = static_cast<int>(below(1 + observation.asked_depth));
    observation.in_time = below(3) > 0;
    observation.first_judged = below(2) == 0;
    observation.first_right = observation.first_judged && below(2) == 0;
    observation.first_retrieved_right = observation.first_judged && below(3) == 0;
    if (below(5) == 0) observation.failures = {CheckFailure::kOrder, CheckFailure::kLate};
    observation.times.search = absl::Microseconds(below(5000));
    observation.times.total = observation.times.search + absl::Microseconds(below(5000));
    observations.push_back(observation);
  }
  return observations;
}

// The slow and obvious way: names are looked up each time.
Tally Added(const std::vector<const Observation*>& observations) {
  Tally tally;
  for (const Observation* o : observations) {
    ++tally.count;
    ++tally.codes[absl::StatusCodeToString(o->code)];
    tally.latency.Record(o->ended - o->intended);
    if (o->code != absl::StatusCode::kOk) continue;
    ++tally.ok;
    tally.degraded += o->degraded.empty() ? 0 : 1;
    for (const DegradedReason reason : o->degraded) {
      ++tally.degraded_reasons[DegradedReasonName(reason)];
    }
    for (const CheckFailure failure : o->failures) {
      ++tally.check_failures[CheckFailureName(failure)];
    }
    ++tally.generations[o->generation];
    for (const std::string& precision : o->precisions) ++tally.precisions[precision];
    ++tally.efforts[o->effort];
    if (o->filtered) {
      if (!tally.filtered) tally.filtered.emplace();
      ++tally.filtered->answers;
      tally.filtered->matched += o->matched_items;
    }
    if (o->exact_answer_known) {
      if (!tally.measured_recall) tally.measured_recall.emplace();
      ++(o->nearest_items > 0 ? tally.measured_recall->answers
                              : tally.measured_recall->other_generation);
      tally.measured_recall->nearest += o->nearest_items;
      tally.measured_recall->found += o->nearest_found;
    }
    tally.shards_asked += o->shard_count;
    tally.shards_answered += o->answered_shard_count;
    if (o->asked_depth > 0) {
      if (!tally.reranked) tally.reranked.emplace();
      ++tally.reranked->answers;
      tally.reranked->in_time += o->in_time ? 1 : 0;
      tally.reranked->asked += o->asked_depth;
      tally.reranked->scored += o->scored_depth;
      tally.reranked->judged += o->first_judged ? 1 : 0;
      tally.reranked->right += o->first_right ? 1 : 0;
      tally.reranked->retrieved_right += o->first_retrieved_right ? 1 : 0;
    }
    tally.known_items_asked += o->known_item_asked ? 1 : 0;
    tally.known_items_found += o->known_item_found ? 1 : 0;
    tally.stages["encode"].Record(o->times.encode);
    tally.stages["search"].Record(o->times.search);
    tally.stages["rerank"].Record(o->times.rerank);
    tally.stages["fetch"].Record(o->times.fetch);
    tally.stages["total"].Record(o->times.total);
  }
  return tally;
}

void RequireSame(const LatencyHistogram& a, const LatencyHistogram& b) {
  REQUIRE(a.count() == b.count());
  REQUIRE(a.min() == b.min());
  REQUIRE(a.max() == b.max());
  REQUIRE(a.mean() == b.mean());
  const auto left = a.Buckets(), right = b.Buckets();
  REQUIRE(left.size() == right.size());
  for (size_t i = 0; i < left.size(); ++i) {
    REQUIRE(left[i].low == right[i].low);
    REQUIRE(left[i].count == right[i].count);
  }
}

void RequireSame(const Tally& a, const Tally& b) {
  REQUIRE(a.count == b.count);
  REQUIRE(a.ok == b.ok);
  REQUIRE(a.degraded == b.degraded);
  REQUIRE(a.codes == b.codes);
  REQUIRE(a.degraded_reasons == b.degraded_reasons);
  REQUIRE(a.generations == b.generations);
  REQUIRE(a.precisions == b.precisions);
  REQUIRE(a.efforts == b.efforts);
  REQUIRE(a.filtered.has_value() == b.filtered.has_value());
  if (a.filtered.has_value()) {
    REQUIRE(a.filtered->answers == b.filtered->answers);
    REQUIRE(a.filtered->matched == b.filtered->matched);
  }
  REQUIRE(a.measured_recall.has_value() == b.measured_recall.has_value());
  if (a.measured_recall.has_value()) {
    REQUIRE(a.measured_recall->answers == b.measured_recall->answers);
    REQUIRE(a.measured_recall->other_generation == b.measured_recall->other_generation);
    REQUIRE(a.measured_recall->nearest == b.measured_recall->nearest);
    REQUIRE(a.measured_recall->found == b.measured_recall->found);
  }
  REQUIRE(a.check_failures == b.check_failures);
  REQUIRE(a.shards_asked == b.shards_asked);
  REQUIRE(a.shards_answered == b.shards_answered);
  REQUIRE(a.reranked.has_value() == b.reranked.has_value());
  if (a.reranked.has_value()) {
    REQUIRE(a.reranked->answers == b.reranked->answers);
    REQUIRE(a.reranked->in_time == b.reranked->in_time);
    REQUIRE(a.reranked->asked == b.reranked->asked);
    REQUIRE(a.reranked->scored == b.reranked->scored);
    REQUIRE(a.reranked->judged == b.reranked->judged);
    REQUIRE(a.reranked->right == b.reranked->right);
    REQUIRE(a.reranked->retrieved_right == b.reranked->retrieved_right);
  }
  REQUIRE(a.known_items_asked == b.known_items_asked);
  REQUIRE(a.known_items_found == b.known_items_found);
  RequireSame(a.latency, b.latency);
  REQUIRE(a.stages.size() == b.stages.size());
  for (const auto& [stage, times] : a.stages) RequireSame(times, b.stages.at(stage));
}

template <typename Keep>
std::vector<const Observation*> Where(const std::vector<Observation>& all, const Keep& keep) {
  std::vector<const Observation*> kept;
  for (const Observation& observation : all) {
    if (keep(observation)) kept.push_back(&observation);
  }
  return kept;
}

// Requests under way at a moment that begins a millisecond.
int64_t UnderWayAt(const std::vector<Observation>& all, absl::Duration moment) {
  return static_cast<int64_t>(
      Where(all, [&](const auto& o) { return o.sent < moment && o.ended >= moment; }).size());
}

void RequireAddsUp(const LoadResult& result, const std::vector<Observation>& all) {
  const auto measured = [&result](const Observation& o) { return o.intended >= result.warm_up; };
  RequireSame(result.total, Added(Where(all, measured)));
  REQUIRE(result.by_kind.size() == kKinds.size());
  for (int kind = 0; kind < static_cast<int>(kKinds.size()); ++kind) {
    RequireSame(result.by_kind.at(kKinds[kind]),
                Added(Where(all, [&](const auto& o) { return measured(o) && o.kind == kind; })));
  }
  LatencyHistogram lag;
  for (const Observation* o : Where(all, measured)) lag.Record(o->sent - o->intended);
  RequireSame(result.generator.lag, lag);
  REQUIRE(result.generator.late == static_cast<int64_t>(Where(all, [&](const auto& o) {
                                                          return measured(o) &&
                                                                 o.sent - o.intended >
                                                                     result.generator.late_after;
                                                        }).size()));
  for (size_t i = 0; i < result.seconds.size(); ++i) {
    INFO("second " << i);
    const Second& second = result.seconds[i];
    REQUIRE(second.second == static_cast<int64_t>(i));
    const auto within = [i](absl::Duration moment) {
      return moment >= absl::Seconds(i) && moment < absl::Seconds(i + 1);
    };
    const auto intended = Where(all, [&](const auto& o) { return within(o.intended); });
    RequireSame(second.tally, Added(intended));
    REQUIRE(second.intended == static_cast<int64_t>(intended.size()));
    REQUIRE(second.sent ==
            static_cast<int64_t>(Where(all, [&](const auto& o) { return within(o.sent); }).size()));
    REQUIRE(second.ended == static_cast<int64_t>(
                                Where(all, [&](const auto& o) { return within(o.ended); }).size()));
    int64_t most = 0;
    for (int ms = 0; ms <= 1000; ++ms) {
      most = std::max(most, UnderWayAt(all, absl::Seconds(i) + absl::Milliseconds(ms)));
    }
    REQUIRE(second.outstanding == most);
  }
}

TEST_CASE("counts and latencies are those of a plain sum, whatever the order") {
  std::vector<Observation> all = Anything(1500, 42);
  std::mt19937_64 engine(1);
  for (int turn = 0; turn < 2; ++turn) {
    Recorder recorder(Options(absl::Milliseconds(1500), absl::Seconds(6)));
    for (const Observation& observation : all) recorder.Record(observation);
    const LoadResult result = recorder.Result();
    REQUIRE(result.warm_up == absl::Milliseconds(1500));
    REQUIRE(result.length == absl::Seconds(6));
    REQUIRE(result.seconds.size() > 8);  // the last to end do so after the run
    RequireAddsUp(result, all);
    REQUIRE(result.intended_rate == Approx(static_cast<double>(result.total.count) / 6));
    std::shuffle(all.begin(), all.end(), engine);
  }
}

TEST_CASE("threads that record at once lose nothing") {
  const std::vector<Observation> all = Anything(2000, 43);
  Recorder recorder(Options(absl::Seconds(1), absl::Seconds(7)));
  std::vector<std::thread> threads;
  for (size_t first = 0; first < 8; ++first) {
    threads.emplace_back([&, first] {
      for (size_t i = first; i < all.size(); i += 8) recorder.Record(all[i]);
      recorder.Result();
    });
  }
  for (std::thread& thread : threads) thread.join();
  RequireAddsUp(recorder.Result(), all);
}

TEST_CASE("the warm-up shows in the seconds and nowhere else") {
  Recorder recorder(Options(absl::Seconds(2), absl::Seconds(2)));
  Observation late = Answered(absl::Milliseconds(500), absl::Seconds(1));
  late.sent = absl::Seconds(1);
  recorder.Record(late);
  recorder.Record(Answered(absl::Seconds(2) - absl::Nanoseconds(1), absl::Seconds(1)));
  const LoadResult before = recorder.Result();
  REQUIRE(before.total.count == 0);
  REQUIRE(before.total.latency.count() == 0);
  REQUIRE(before.generator.lag.count() == 0);
  REQUIRE(before.generator.late == 0);
  REQUIRE(before.generator.kept_schedule);
  REQUIRE(before.seconds.size() == 4);
  REQUIRE(before.seconds[0].tally.count == 1);
  REQUIRE(before.seconds[1].tally.count == 1);

  recorder.Record(Answered(absl::Seconds(2), absl::Seconds(1)));
  const LoadResult after = recorder.Result();
  REQUIRE(after.total.count == 1);
  REQUIRE(after.intended_rate == 0.5);
}

TEST_CASE("what is still under way when a second begins counts as outstanding in it") {
  Recorder recorder(Options(absl::ZeroDuration(), absl::Seconds(3)));
  for (int i = 0; i < 5; ++i) {
    recorder.Record(Answered(absl::Milliseconds(900), absl::Microseconds(100'500)));
  }
  recorder.Record(Answered(absl::Milliseconds(1500), absl::Milliseconds(100)));
  const LoadResult result = recorder.Result();
  REQUIRE(result.seconds[0].outstanding == 5);
  REQUIRE(result.seconds[1].outstanding == 5);
  REQUIRE(result.seconds[2].outstanding == 0);
}

TEST_CASE("a run without requests has its seconds and its kinds") {
  const LoadResult result = Recorder(Options(absl::Seconds(1), absl::Milliseconds(1500))).Result();
  REQUIRE(result.seconds.size() == 3);
  REQUIRE(result.by_kind.size() == 3);
  REQUIRE(result.total.count == 0);
  REQUIRE(result.intended_rate == 0);
  REQUIRE(result.generator.kept_schedule);
}

TEST_CASE("kinds of one name are one") {
  RecorderOptions options = Options(absl::ZeroDuration(), absl::Seconds(1));
  options.kinds = {"text", "text"};
  Recorder recorder(options);
  Observation observation = Answered(absl::ZeroDuration(), absl::Milliseconds(1));
  recorder.Record(observation);
  observation.kind = 1;
  recorder.Record(observation);
  const LoadResult result = recorder.Result();
  REQUIRE(result.by_kind.size() == 1);
  REQUIRE(result.by_kind.at("text").count == 2);
}

TEST_CASE("a failed request counts with its latency and nothing of an answer") {
  Recorder recorder(Options(absl::ZeroDuration(), absl::Seconds(1)));
  Observation refused = Answered(absl::ZeroDuration(), absl::Seconds(2));
  refused.code = absl::StatusCode::kUnavailable;
  recorder.Record(refused);
  const Tally total = recorder.Result().total;
  REQUIRE(total.count == 1);
  REQUIRE(total.ok == 0);
  REQUIRE(total.codes == Counts{{"UNAVAILABLE", 1}});
  REQUIRE(total.latency.max() == absl::Seconds(2));
  REQUIRE(total.generations.empty());
  REQUIRE(total.shards_asked == 0);
  REQUIRE(total.stages.empty());
}

TEST_CASE("the schedule is kept as long as one request in a hundred at most is late") {
  Recorder recorder(Options(absl::ZeroDuration(), absl::Seconds(10)));
  const absl::Duration late_after = recorder.Result().generator.late_after;
  REQUIRE(late_after == absl::Milliseconds(10));
  const auto record = [&recorder](absl::Duration lag, int times) {
    for (int i = 0; i < times; ++i) {
      Observation observation = Answered(absl::Milliseconds(i), absl::Milliseconds(50));
      observation.sent = observation.intended + lag;
      recorder.Record(observation);
    }
    return recorder.Result().generator;
  };
  REQUIRE(record(late_after, 990).late == 0);
  const GeneratorHealth kept = record(late_after + absl::Nanoseconds(1), 10);
  REQUIRE(kept.late == 10);
  REQUIRE(kept.kept_schedule);
  REQUIRE_FALSE(record(absl::Seconds(3), 1).kept_schedule);
}

TEST_CASE("late answers are told from wrong ones by their name") {
  REQUIRE(CheckFailureName(CheckFailure::kLate) == kLateAnswer);
  Tally tally;
  tally.check_failures = {{"late", 2}, {"order", 3}, {"coverage", 4}};
  REQUIRE(tally.late() == 2);
  REQUIRE(tally.wrong() == 7);
  REQUIRE(Tally().late() + Tally().wrong() == 0);
}

TEST_CASE("of few requests some may be late") {
  REQUIRE_FALSE(IsTooManyLate(0, 0));
  REQUIRE_FALSE(IsTooManyLate(3, 40));
  REQUIRE(IsTooManyLate(4, 40));
  REQUIRE_FALSE(IsTooManyLate(4, 400));
  REQUIRE(IsTooManyLate(5, 400));
}

TEST_CASE("moments outside of the run count as its ends") {
  Recorder recorder(Options(absl::ZeroDuration(), absl::Seconds(1)));
  Observation odd = Answered(absl::Seconds(-5), absl::Seconds(1));
  odd.ended = absl::InfiniteDuration();
  recorder.Record(odd);
  const LoadResult result = recorder.Result();
  REQUIRE(result.total.count == 1);
  REQUIRE(result.seconds.size() == 3602);
  REQUIRE(result.seconds.back().ended == 1);
  REQUIRE(result.seconds.front().outstanding == 1);
}

}  // namespace
}  // namespace sightline
