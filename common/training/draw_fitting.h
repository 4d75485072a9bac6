// A random one of those that fit, where most do.
#ifndef SIGHTLINE_COMMON_TRAINING_DRAW_FITTING_H_
#define SIGHTLINE_COMMON_TRAINING_DRAW_FITTING_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/training/random.h"

namespace sightline {

// An element of `pool` for which fits(element) is true, each as likely as the others; nullopt
// if there is none.  A few draws find one unless hardly any fits; then all are asked.
template <typename T, typename Fits>
absl::optional<T> DrawFitting(absl::Span<const T> pool, const Fits& fits, Random* random) {
  constexpr int kQuickDraws = 32;
  if (pool.empty()) return absl::nullopt;
  for (int i = 0; i < kQuickDraws; ++i) {
    const T& drawn = pool[random->Below(pool.size())];
    if (fits(drawn)) return drawn;
  }
  std::vector<T> fitting;
  std::copy_if(pool.begin(), pool.end(), std::back_inserter(fitting), fits);
  if (fitting.empty()) return absl::nullopt;
  return fitting[random->Below(fitting.size())];
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_DRAW_FITTING_H_
