// Results of fleets that obey a formula, with as much noise as is wished.
#ifndef SIGHTLINE_TESTS_LOADTEST_VERDICT_SYNTHETIC_FLEET_H_
#define SIGHTLINE_TESTS_LOADTEST_VERDICT_SYNTHETIC_FLEET_H_

#include <cstdint>
#include <random>

#include "loadtest/measure/load_result.h"

namespace sightline {

// One server with exponential service times and Poisson arrivals, M/M/1.  The time that a
// request spends there is exponential with rate `service_rate` - rate (e.g. Kleinrock,
// "Queueing Systems" I, 1975, section 3.2).  At or above its service rate, so many requests
// are answered, at `deadline`, and the others fail there.
struct SyntheticFleet {
  double service_rate = 100;  // requests a second
  absl::Duration deadline = absl::Seconds(1);
  int seconds = 20;
  int warm_up_seconds = 0;
  bool exact = false;      // no chance: the run is cut into equal slices of the distribution
  double slowness = 1;     // factor on every latency
  double wander = 0;       // log-deviation of the seconds' own factors ...
  double memory = 0;       // ... and their correlation from second to second
  double error_share = 0;  // of all requests, by chance
  double degraded_share = 0;

  LoadResult Run(double rate, std::mt19937_64* random) const;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_LOADTEST_VERDICT_SYNTHETIC_FLEET_H_
