#include "loadtest/bench/machine_peak.h"

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("a machine's peak is found with any number of threads") {
  PeakOptions options;
  options.rounds = 2;
  options.kilo_vectors = 100;
  options.buffer_bytes = 3 << 20;
  for (const int threads : {1, 3}) {
    ComputePool pool(threads);
    const MachinePeak peak = MeasureMachinePeak(&pool, options);
    // A CPU with AVX2 does more than that even in a debugger; no CPU does that much more.
    REQUIRE(peak.flops > 1e6);
    REQUIRE(peak.flops < 1e15);
    REQUIRE(peak.read_bytes > 1e6);
    REQUIRE(peak.copy_bytes > 1e6);
    const bool known = peak.instructions == "AVX2" || peak.instructions == "AVX-512";
    REQUIRE(known);
  }
}

}  // namespace
}  // namespace sightline
