#include "common/training/passes.h"

#include <algorithm>
#include <numeric>

namespace sightline {

std::vector<std::vector<int64_t>> PassesOf(const std::vector<int64_t>& lengths, int64_t pass_rows) {
  std::vector<int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  if (pass_rows == 0) return {order};
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return lengths[a] < lengths[b]; });
  std::vector<std::vector<int64_t>> passes;
  for (const int64_t item : order) {
    // In rising order the newcomer decides how far all are padded.
    const bool fits = !passes.empty() &&
                      (static_cast<int64_t>(passes.back().size()) + 1) * lengths[item] <= pass_rows;
    if (!fits) passes.emplace_back();
    passes.back().push_back(item);
  }
  return passes;
}

}  // namespace sightline
