#include "common/plot/axis.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sightline {
namespace {

constexpr double kLeastPositive = 1e-12;
// Multiples and powers of ten come out a little beside their values.
constexpr double kSlack = 1e-9;
// Of which FromZero reaches a multiple: a sixth of the range, made round.
constexpr double kSteps = 6;

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

std::vector<double> LinearTicks(double low, double high, int most) {
  std::vector<double> ticks;
  most = std::max(most, 1);
  const double step = NiceAbove((high - low) / most);
  const double first = std::ceil(low / step - kSlack);
  // Counted, since a range that is narrow for its numbers has no next multiple.
  for (int i = 0; i <= most && (first + i) * step <= high + kSlack * step; ++i) {
    ticks.push_back((first + i) * step + 0.0);  // not minus zero
  }
  return ticks;
}

// As few digits of 1, 2, 5 as make at most `most` ticks.
std::vector<double> LogTicks(double low, double high, int most) {
  std::vector<double> ticks;
  for (const auto& digits : {std::vector<double>{1, 2, 5}, std::vector<double>{1}}) {
    ticks.clear();
    for (double exponent = std::floor(std::log10(low) - kSlack);
         exponent <= std::log10(high) + kSlack; ++exponent) {
      for (const double digit : digits) {
        const double value = digit * std::pow(10, exponent);
        if (value >= low * (1 - kSlack) && value <= high * (1 + kSlack)) ticks.push_back(value);
      }
    }
    if (ticks.size() <= static_cast<size_t>(most)) break;
  }
  return ticks;
}

}  // namespace

Axis::Axis(Scale scale, double low, double high, Label label)
    : scale_(scale), low_(low), high_(high), label_(std::move(label)) {}

double Axis::Scaled(double value) const {
  if (scale_ == Scale::kLog) return std::log10(std::max(value, kLeastPositive));
  if (scale_ == Scale::kNines) return -std::log10(std::max(1 - value, kLeastPositive));
  return value;
}

double Axis::Place(double value) const {
  return (Scaled(value) - Scaled(low_)) / (Scaled(high_) - Scaled(low_));
}

std::vector<Tick> Axis::Ticks(int most) const {
  std::vector<double> values = {0, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999};
  if (scale_ == Scale::kLinear) values = LinearTicks(low_, high_, most);
  if (scale_ == Scale::kLog) values = LogTicks(low_, high_, most);
  std::vector<Tick> ticks;
  for (const double value : values) {
    if (Place(value) <= 1 + kSlack) ticks.push_back({value, label_(value)});
  }
  return ticks;
}

Axis Axis::Linear(double low, double high, Label label) {
  return Axis(Scale::kLinear, low, high > low ? high : low + 1, std::move(label));
}

Axis Axis::FromZero(double high, Label label) {
  if (!(high > 0)) high = 1;
  const double step = NiceAbove(high / kSteps);
  return Linear(0, step * std::ceil(high / step - kSlack), std::move(label));
}

Axis Axis::Log(double low, double high, Label label) {
  low = NiceBelow(std::max(low, kLeastPositive));
  high = NiceAbove(std::max(high, low));
  return Axis(Scale::kLog, low, high > low * (1 + kSlack) ? high : 10 * low, std::move(label));
}

Axis Axis::Nines(double high, Label label) {
  return Axis(Scale::kNines, 0, std::max(high, 0.5), std::move(label));
}

}  // namespace sightline
