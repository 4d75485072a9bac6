#include "loadtest/bench/bench_main.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/usable_cores.h"
#include "common/rpc/cpu_check.h"

namespace sightline {

ComputePool& BenchPool() {
  static ComputePool* const pool = new ComputePool(UsableCores());
  return *pool;
}

const MachinePeak& Peak() {
  static const MachinePeak* const peak = new MachinePeak(MeasureMachinePeak(&BenchPool()));
  return *peak;
}

namespace {

void TellPeak() {
  const MachinePeak& peak = Peak();
  benchmark::AddCustomContext("threads", absl::StrCat(BenchPool().threads()));
  benchmark::AddCustomContext(
      "peak",
      absl::StrFormat("%.0f GFLOP/s (%s), read %.1f GB/s, copy %.1f GB/s", peak.flops * 1e-9,
                      peak.instructions, peak.read_bytes * 1e-9, peak.copy_bytes * 1e-9));
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  if (const char* problem = sightline::UnsupportedCpu()) {
    std::fputs(problem, stderr);
    return 1;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  sightline::ComputePool::SingleThreadedLibraries();
  sightline::TellPeak();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
