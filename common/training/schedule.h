// The learning rate of a step.
#ifndef SIGHTLINE_COMMON_TRAINING_SCHEDULE_H_
#define SIGHTLINE_COMMON_TRAINING_SCHEDULE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "common/training/training_options.h"

namespace sightline {

// Of step `step` (from 0) of `steps`: (step + 1) / warmup_steps of the peak while warming
// up, then down along a half cosine or a line to peak * final_share, which the step after
// the last would have.
inline double RateAt(const RateOptions& options, int64_t step, int64_t steps) {
  if (step < options.warmup_steps) {
    return options.peak * static_cast<double>(step + 1) / options.warmup_steps;
  }
  const int64_t falling = std::max<int64_t>(steps - options.warmup_steps, 1);
  const double done = static_cast<double>(step - options.warmup_steps) / falling;
  const double left = options.decay == DecayShape::kCosine
                          ? 0.5 * (1 + std::cos(std::min(done, 1.0) * 3.14159265358979323846))
                          : 1 - std::min(done, 1.0);
  return options.peak * (options.final_share + (1 - options.final_share) * left);
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_SCHEDULE_H_
