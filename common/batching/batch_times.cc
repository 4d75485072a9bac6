#include "common/batching/batch_times.h"

#include <algorithm>
#include <limits>

namespace sightline {
namespace {

// What a class remembers: an odd number, few enough for a change of pace to be felt soon.
constexpr size_t kRemembered = 5;
// By what factor a batch may take longer than the line, or than a smaller one in proportion,
// says.  Beyond, the process was stopped for a while.
constexpr double kMostAtOnce = 5;
// A clock that stood still must not make a batch infinitely fast.
constexpr double kLeastSeconds = 1e-7;
// Of the equations, as a share of its largest value.  Below it sizes differ too little to tell
// overhead from cost: two by a fifth.
constexpr double kLeastDeterminant = 0.01;

size_t ClassOf(int64_t cost) {
  size_t k = 0;
  while (cost > 1) {
    cost >>= 1;
    ++k;
  }
  return k;
}

}  // namespace

void BatchTimes::Learn(int64_t cost, absl::Duration elapsed) {
  const auto c = static_cast<double>(std::max<int64_t>(cost, 1));
  const double seconds = std::max(absl::ToDoubleSeconds(elapsed), kLeastSeconds);
  SizeClass& batches = classes_[ClassOf(cost)];
  if (batches.size() == kRemembered) batches.erase(batches.begin());
  batches.push_back({c, std::min(seconds, MostPlausible(c))});
  Fit();
}

absl::Duration BatchTimes::Estimate(double cost) const {
  return absl::Seconds(overhead_seconds_ + seconds_per_cost_ * std::min(cost, largest_cost_));
}

double BatchTimes::MostPlausible(double cost) const {
  if (largest_cost_ == 0) return std::numeric_limits<double>::infinity();
  const double growth = std::max(1.0, cost / largest_cost_);
  return kMostAtOnce * growth * absl::ToDoubleSeconds(Estimate(cost));
}

// The lower one of two in the middle: a batch is slowed down by others, never sped up.
BatchTimes::Batch BatchTimes::Typical(const SizeClass& batches) {
  SizeClass sorted = batches;
  const auto middle = sorted.begin() + (sorted.size() - 1) / 2;
  std::nth_element(sorted.begin(), middle, sorted.end(), [](const Batch& a, const Batch& b) {
    return a.seconds * b.cost < b.seconds * a.cost;
  });
  return *middle;
}

// Least squares of (a + b c) / t - 1 over the classes.  One that is far too slow, by a stall that
// is all it has, weighs little: its quotient is near 0, whatever the line.
void BatchTimes::Fit() {
  double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
  for (const SizeClass& batches : classes_) {
    if (batches.empty()) continue;
    const Batch typical = Typical(batches);
    const double a = 1 / typical.seconds, b = typical.cost / typical.seconds;
    aa += a * a;
    ab += a * b;
    bb += b * b;
    a1 += a;
    b1 += b;
    largest_cost_ = 0;  // the last class has the largest
    for (const Batch& batch : batches) largest_cost_ = std::max(largest_cost_, batch.cost);
  }
  const double determinant = aa * bb - ab * ab;
  overhead_seconds_ = a1 / aa;
  seconds_per_cost_ = 0;
  if (determinant < kLeastDeterminant * aa * bb) return;
  const double overhead = (a1 * bb - b1 * ab) / determinant;
  const double per_cost = (aa * b1 - ab * a1) / determinant;
  if (per_cost <= 0) return;
  overhead_seconds_ = std::max(overhead, 0.0);
  seconds_per_cost_ = overhead > 0 ? per_cost : b1 / bb;
}

}  // namespace sightline
