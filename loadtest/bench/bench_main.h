// What the benchmarks of this folder share.  bench_main.cc has main(): it measures the
// machine's peak, prints it with the results, and runs the benchmarks.
//
//   void Search(benchmark::State& state) {
//     Rounds rounds(&state, [&] { return index.Search(queries, call).status(); });
//     rounds.Bytes(bytes_of_one_round, Peak().read_bytes);
//   }
//   BENCHMARK(Search)->UseRealTime();
//
// Wall time is what counts (UseRealTime), as the work is spread over threads.
#ifndef SIGHTLINE_LOADTEST_BENCH_BENCH_MAIN_H_
#define SIGHTLINE_LOADTEST_BENCH_BENCH_MAIN_H_

#include <benchmark/benchmark.h>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/compute_pool.h"
#include "loadtest/bench/machine_peak.h"

namespace sightline {

// As many threads as there are cores.
ComputePool& BenchPool();

// Measured once a process, before the first benchmark.
const MachinePeak& Peak();

// Runs the rounds of one benchmark, times them and tells what they came to.
class Rounds {
 public:
  // `round` returns an absl::Status; an error ends the benchmark.
  template <typename Round>
  Rounds(benchmark::State* state, const Round& round) : state_(state) {
    const absl::Time start = Clock::Real()->Now();
    for (auto _ : *state) {
      const absl::Status status = round();
      if (!status.ok()) {
        state->SkipWithError(status.ToString().c_str());
        return;
      }
    }
    per_second_ = static_cast<double>(state->iterations()) /
                  absl::ToDoubleSeconds(Clock::Real()->Now() - start);
  }

  // Bytes a second, and the share of `peak_bytes` (a second) that it is.
  void Bytes(double a_round, double peak_bytes) {
    const double bytes = a_round * per_second_;
    state_->counters["bytes_per_second"] = bytes;
    state_->counters["memory_share"] = bytes / peak_bytes;
  }

  // Floating point operations a second, and their share of the machine's.
  void Flops(double a_round) {
    const double flops = a_round * per_second_;
    state_->counters["flops_per_second"] = flops;
    state_->counters["flops_share"] = flops / Peak().flops;
  }

  double per_second() const { return per_second_; }

  // How many things that a user counts a second: "queries_per_second".
  void Items(const char* name, double a_round) { state_->counters[name] = a_round * per_second_; }

 private:
  benchmark::State* const state_;
  double per_second_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_BENCH_BENCH_MAIN_H_
