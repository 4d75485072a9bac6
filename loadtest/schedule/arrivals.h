// When requests are meant to be sent, whatever the fleet does meanwhile (open loop).
//
//   Arrivals arrivals = MakePoissonArrivals(200, absl::Seconds(60), seed);
//   while (absl::optional<absl::Duration> at = arrivals()) ...
#ifndef SIGHTLINE_LOADTEST_SCHEDULE_ARRIVALS_H_
#define SIGHTLINE_LOADTEST_SCHEDULE_ARRIVALS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace sightline {

// When the next request is meant to be sent, since the run's start; never falls, and lies before
// the run's length.  None when there is no further, from then on always.  The same arguments give
// the same arrivals, on any machine.  Not thread-safe; a copy goes on by itself.
using Arrivals = std::function<absl::optional<absl::Duration>()>;

// Rates are requests a second; one that is not above zero counts as zero, and at rate zero
// nothing arrives.

// Independent callers: exponential gaps of mean 1 / rate, the first from the run's start.
Arrivals MakePoissonArrivals(double rate, absl::Duration length, uint64_t seed);

// One each 1 / rate seconds, the first at zero.
Arrivals MakeConstantArrivals(double rate, absl::Duration length);

struct Ramp {
  double rate = 0;      // as long as `hold`
  double end_rate = 0;  // reached linearly within `length` after it
  absl::Duration hold;  // the warm-up
  absl::Duration length;
};

// Poisson arrivals whose intensity follows the ramp.  Those of rate 1 are stretched by the
// inverse of the integrated intensity (Cinlar, "Introduction to Stochastic Processes", 1975,
// chapter 4.7), so none has to be drawn and thrown away.
Arrivals MakeRampArrivals(const Ramp& ramp, uint64_t seed);

// Those of `offsets` (ascending; one that lies before its predecessor comes with it), divided
// by `speed`, which is above zero, as far as they lie within `length`.
Arrivals MakeReplayArrivals(std::vector<absl::Duration> offsets, double speed,
                            absl::Duration length);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SCHEDULE_ARRIVALS_H_
