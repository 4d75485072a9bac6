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
class UnitExponential {
 public:
  explicit UnitExponential(uint64_t seed) : engine_(seed) {}

  double Draw() {
    const double uniform = static_cast<double>(engine_() >> 11) * 0x1p-53;  // [0, 1)
    return -std::log1p(-uniform);
  }

 private:
  std::mt19937_64 engine_;
};

class RampArrivals : public Arrivals {
 public:
  RampArrivals(const Ramp& ramp, uint64_t seed)
      : rate_(std::max(0.0, ramp.rate)),
        hold_(absl::ToDoubleSeconds(ramp.hold)),
        length_(absl::ToDoubleSeconds(ramp.length)),
        slope_(length_ > 0 ? (std::max(0.0, ramp.end_rate) - rate_) / length_ : 0),
        expected_(rate_ * hold_ + (rate_ + slope_ * length_ / 2) * length_),
        gaps_(seed) {}

  absl::optional<absl::Duration> Next() override {
    if (!over_) unit_time_ += gaps_.Draw();
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
  UnitExponential gaps_;
  double unit_time_ = 0;
  bool over_ = false;
};

class ConstantArrivals : public Arrivals {
 public:
  ConstantArrivals(double rate, absl::Duration length) : rate_(rate), length_(length) {}

  absl::optional<absl::Duration> Next() override {
    if (!(rate_ > 0)) return absl::nullopt;
    // Divided, not added up: a sum of rounded gaps drifts.
    const absl::Duration at = absl::Seconds(static_cast<double>(next_) / rate_);
    if (at >= length_) return absl::nullopt;
    ++next_;
    return at;
  }

 private:
  const double rate_;
  const absl::Duration length_;
  int64_t next_ = 0;
};

class ReplayArrivals : public Arrivals {
 public:
  ReplayArrivals(std::vector<absl::Duration> offsets, double speed, absl::Duration length)
      : offsets_(std::move(offsets)), speed_(speed), length_(length) {}

  absl::optional<absl::Duration> Next() override {
    if (next_ == offsets_.size()) return absl::nullopt;
    const absl::Duration at = std::max(last_, offsets_[next_] / speed_);
    if (at >= length_) return absl::nullopt;
    ++next_;
    last_ = at;
    return at;
  }

 private:
  const std::vector<absl::Duration> offsets_;
  const double speed_;
  const absl::Duration length_;
  size_t next_ = 0;
  absl::Duration last_;
};

}  // namespace

std::unique_ptr<Arrivals> MakePoissonArrivals(double rate, absl::Duration length, uint64_t seed) {
  return MakeRampArrivals({rate, rate, absl::ZeroDuration(), length}, seed);
}

std::unique_ptr<Arrivals> MakeConstantArrivals(double rate, absl::Duration length) {
  return std::make_unique<ConstantArrivals>(rate, length);
}

std::unique_ptr<Arrivals> MakeRampArrivals(const Ramp& ramp, uint64_t seed) {
  return std::make_unique<RampArrivals>(ramp, seed);
}

std::unique_ptr<Arrivals> MakeReplayArrivals(std::vector<absl::Duration> offsets, double speed,
                                             absl::Duration length) {
  return std::make_unique<ReplayArrivals>(std::move(offsets), speed, length);
}

}  // namespace sightline
