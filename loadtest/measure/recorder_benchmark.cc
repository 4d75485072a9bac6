// What the load test itself spends on an answer: checking it and recording it.
//
//   bazel run //loadtest/measure:recorder_benchmark
#include <benchmark/benchmark.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "loadtest/measure/answer_checks.h"
#include "loadtest/measure/recorder.h"

namespace sightline {
namespace {

constexpr double kRate = 10'000;  // observations a second of the run

SearchResult Answer(int hits) {
  SearchResult result;
  result.target = {"images", "2026-01-01T00-00-00Z-1", "5d1e"};
  result.shard_count = result.answered_shard_count = 2;
  for (int i = 0; i < hits; ++i) {
    Hit hit;
    hit.item_id = absl::StrCat("emoji-1f", 100000 + i, "-medium-skin-tone");
    hit.score = 1 - 0.0001f * static_cast<float>(i);
    hit.shard = i % 2;
    hit.row = i;
    result.hits.push_back(hit);
  }
  return result;
}

Observation AnsweredAt(int64_t number) {
  Observation observation;
  observation.intended = absl::Seconds(static_cast<double>(number) / kRate);
  observation.sent = observation.intended + absl::Microseconds(30);
  // Latencies that fill many buckets, as those of a fleet do.
  const absl::Duration took = absl::Microseconds(2000 + number * 7919 % 300000);
  observation.ended = observation.sent + took;
  observation.kind = static_cast<int>(number % 3);
  observation.generation = "2026-01-01T00-00-00Z-1";
  observation.shard_count = observation.answered_shard_count = 2;
  observation.times = {took / 8, took / 4, took / 2, took / 16, took};
  return observation;
}

void BM_Record(benchmark::State& state) {
  // Made anew for each run of the benchmark, by the first of its threads.
  static Recorder* recorder = nullptr;
  if (state.thread_index() == 0) {
    recorder = new Recorder({{"text", "image", "item"}, absl::Seconds(5), absl::Seconds(600)});
  }
  int64_t number = state.thread_index();
  for (auto _ : state) {
    recorder->Record(AnsweredAt(number % 6'000'000));
    number += state.threads();
  }
  state.SetItemsProcessed(state.iterations());
  if (state.thread_index() == 0) {
    delete recorder;
    recorder = nullptr;
  }
}
BENCHMARK(BM_Record)->Threads(1)->Threads(2)->Threads(8)->UseRealTime();

void BM_CheckAnswer(benchmark::State& state) {
  SearchRequest request;
  request.query = ItemQuery{"", "emoji-1f600"};
  request.top_k = static_cast<int>(state.range(0));
  const SearchResult answer = Answer(request.top_k);
  for (auto _ : state) {
    auto failures = CheckAnswer(request, answer, absl::Seconds(1), absl::Seconds(2));
    if (!failures.empty()) state.SkipWithError("a right answer fails its checks");
    benchmark::DoNotOptimize(failures);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_CheckAnswer)->Arg(10)->Arg(100)->Arg(1000);

}  // namespace
}  // namespace sightline

BENCHMARK_MAIN();
