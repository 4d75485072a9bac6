#include "loadtest/report/axis.h"

#include <algorithm>
#include <cmath>

namespace sightline {
namespace {

constexpr double kLeastPositive = 1e-12;
// Multiples and powers of ten come out a little beside their values.
constexpr double kSlack = 1e-9;

// 1, 2 or 5 times a power of ten, at least `value`.
double NiceAbove(double value) {
  const double power = std::pow(10, std::floor(std::log10(value) + kSlack));
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (digit * power >= value * (1 - kSlack)) return digit * power;
  }
  return 10 * power;
}

// Likewise, at most `value`.
double NiceBelow(double value) {
  const double power = std::pow(10, std::floor(std::log10(value) + kSlack));
  for (const double digit : {5.0, 2.0}) {
    if (digit * power <= value * (1 + kSlack)) return digit * power;
  }
  return power;
}

// As few digits of 1, 2, 5 as make at most `most` ticks.
std::vector<double> LogTicks(double low, double high, int most) {
  for (const auto& digits : {std::vector<double>{1, 2, 5}, std::vector<double>{1}}) {
    std::vector<double> ticks;
    for (double exponent = std::floor(std::log10(low) - kSlack);
         exponent <= std::log10(high) + kSlack; ++exponent) {
      for (const double digit : digits) {
        const double value = digit * std::pow(10, exponent);
        if (value >= low * (1 - kSlack) && value <= high * (1 + kSlack)) ticks.push_back(value);
      }
    }
    if (ticks.size() <= static_cast<size_t>(most) || digits.size() == 1) return ticks;
  }
  return {};
}

}  // namespace

Axis::Axis(Scale scale, double low, double high) : scale_(scale), low_(0), high_(0) {
  low_ = Scaled(low);
  high_ = Scaled(high);
}

double Axis::Scaled(double value) const {
  switch (scale_) {
    case Scale::kLog:
      return std::log10(std::max(value, kLeastPositive));
    case Scale::kNines:
      return -std::log10(std::max(1 - value, kLeastPositive));
    case Scale::kLinear:
      break;
  }
  return value;
}

double Axis::Place(double value) const {
  return (Scaled(value) - low_) / (high_ - low_);
}

Axis Axis::Linear(double low, double high, int ticks, const Label& label) {
  if (!(high > low)) high = low + 1;
  Axis axis(Scale::kLinear, low, high);
  const double step = NiceAbove((high - low) / std::max(ticks, 1));
  for (double n = std::ceil(low / step - kSlack); n * step <= high + kSlack * step; ++n) {
    const double value = n * step + 0.0;  // not minus zero
    axis.ticks_.push_back({value, label(value)});
  }
  return axis;
}

Axis Axis::LinearToTick(double low, double high, int ticks, const Label& label) {
  if (!(high > low)) high = low + 1;
  const double step = NiceAbove((high - low) / std::max(ticks, 1));
  return Linear(low, step * std::ceil(high / step - kSlack), ticks, label);
}

Axis Axis::Log(double low, double high, int ticks, const Label& label) {
  low = NiceBelow(std::max(low, kLeastPositive));
  high = NiceAbove(std::max(high, low));
  if (!(high > low * (1 + kSlack))) high = 10 * low;
  Axis axis(Scale::kLog, low, high);
  for (const double value : LogTicks(low, high, ticks)) {
    axis.ticks_.push_back({value, label(value)});
  }
  return axis;
}

Axis Axis::Nines(double high, const Label& label) {
  Axis axis(Scale::kNines, 0, std::max(high, 0.5));
  for (const double share : {0.0, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999}) {
    if (axis.Place(share) <= 1 + kSlack) axis.ticks_.push_back({share, label(share)});
  }
  return axis;
}

}  // namespace sightline
