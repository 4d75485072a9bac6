// The learning rate of a step.
#ifndef SIGHTLINE_COMMON_TRAINING_SCHEDULE_H_
#define SIGHTLINE_COMMON_TRAINING_SCHEDULE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "common/training/training_options.h"

namespace sightline {

// The share of the peak that is left at `step` of `steps`, warm-up over.
inline double RateShare(const RateOptions& options, int64_t step, int64_t steps) {
  if (options.decay == DecayShape::kConstant) return 1;
  if (options.decay == DecayShape::kStep) {
    const int64_t drops = step / options.drop_every;
    return std::pow(options.drop_factor, static_cast<double>(drops));
  }
  if (options.decay == DecayShape::kInverseRoot) {
    return std::sqrt(static_cast<double>(options.warmup_steps) / static_cast<double>(step + 1));
  }
  const int64_t falling = std::max<int64_t>(steps - options.warmup_steps, 1);
  const double done = std::min(static_cast<double>(step - options.warmup_steps) / falling, 1.0);
  const double left = options.decay == DecayShape::kCosine
                          ? 0.5 * (1 + std::cos(done * 3.14159265358979323846))
                          : 1 - done;
  return options.final_share + (1 - options.final_share) * left;
}

// Of step `step` (from 0) of `steps`: (step + 1) / warmup_steps of the peak while warming up.
// Then down along a half cosine or a line to peak * final_share, which the step after the last
// would have; or it stays; or it drops at every drop_every-th step; or it is peak *
// sqrt(warmup_steps / (step + 1)).
inline double RateAt(const RateOptions& options, int64_t step, int64_t steps) {
  if (step < options.warmup_steps) {
    return options.peak * static_cast<double>(step + 1) / options.warmup_steps;
  }
  return options.peak * RateShare(options, step, steps);
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_SCHEDULE_H_
