#include "loadtest/schedule/arrivals.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <utility>

namespace sightline {
namespace {

// Exponential variates of mean 1.  The library's distribution may differ from one standard
// library to the next; the engine may not.
double UnitExponential(std::mt19937_64& engine) {
  const double uniform = static_cast<double>(engine() >> 11) * 0x1p-53;  // [0, 1)
  return -std::log1p(-uniform);
}

class RampArrivals {
 public:
  RampArrivals(const Ramp& ramp, uint64_t seed)
      : rate_(std::max(0.0, ramp.rate)),
        hold_(absl::ToDoubleSeconds(ramp.hold)),
        length_(absl::ToDoubleSeconds(ramp.length)),
        slope_(length_ > 0 ? (std::max(0.0, ramp.end_rate) - rate_) / length_ : 0),
        expected_(rate_ * hold_ + (rate_ + slope_ * length_ / 2) * length_),
        engine_(seed) {}

  absl::optional<absl::Duration> operator()() {
    if (!over_) unit_time_ += UnitExponential(engine_);
    // From the expected count of the whole run on, the inverse lies beyond the end, or nowhere.
    over_ = over_ || !(unit_time_ < expected_);
    if (over_) return absl::nullopt;
    // Rounding must not push the last one over the end.
    const double offset = std::min(Inverse(unit_time_), std::nextafter(hold_ + length_, 0));
    return absl::Seconds(offset);
  }

 private:
  // When `count` arrivals are expected.
  double Inverse(double count) const {
    const double held = rate_ * hold_;
    if (count <= held) return count / rate_;
    const double rest = count - held;
    // The root of rate t + slope t^2 / 2 = rest, in the form that does not cancel.
    const double discriminant = std::max(0.0, rate_ * rate_ + 2 * slope_ * rest);
    return hold_ + 2 * rest / (rate_ + std::sqrt(discriminant));
  }

  const double rate_, hold_, length_, slope_;
  const double expected_;  // arrivals within the whole run
  std::mt19937_64 engine_;
  double unit_time_ = 0;
  bool over_ = false;
};

}  // namespace

Arrivals MakePoissonArrivals(double rate, absl::Duration length, uint64_t seed) {
  return MakeRampArrivals({rate, rate, absl::ZeroDuration(), length}, seed);
}

Arrivals MakeConstantArrivals(double rate, absl::Duration length) {
  return [rate, length, next = int64_t{0}]() mutable -> absl::optional<absl::Duration> {
    if (!(rate > 0)) return absl::nullopt;
    // Divided, not added up: a sum of rounded gaps drifts.
    const absl::Duration at = absl::Seconds(static_cast<double>(next) / rate);
    if (at >= length) return absl::nullopt;
    ++next;
    return at;
  };
}

Arrivals MakeRampArrivals(const Ramp& ramp, uint64_t seed) {
  return RampArrivals(ramp, seed);
}

Arrivals MakeReplayArrivals(std::vector<absl::Duration> offsets, double speed,
                            absl::Duration length) {
  return [offsets = std::move(offsets), speed, length, next = size_t{0},
          last = absl::ZeroDuration()]() mutable -> absl::optional<absl::Duration> {
    if (next == offsets.size()) return absl::nullopt;
    const absl::Duration at = std::max(last, offsets[next] / speed);
    if (at >= length) return absl::nullopt;
    ++next;
    last = at;
    return at;
  };
}

}  // namespace sightline
