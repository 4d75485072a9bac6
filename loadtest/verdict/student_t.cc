#include "loadtest/verdict/student_t.h"

#include <algorithm>
#include <cmath>

namespace sightline {
namespace {

// Beyond this, the distribution is the normal one to more digits than anybody needs.
constexpr int kManyDegrees = 10000;

// Probability that |t variable| is at most t.
double CentralShare(double t, int degrees) {
  const double theta = std::atan(t / std::sqrt(static_cast<double>(degrees)));
  const double cosine = std::cos(theta);
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1;
  double sum = degrees == 1 ? 0 : term;
  for (int k = odd ? 3 : 2; k <= degrees - 2; k += 2) {
    term *= cosine * cosine * (k - 1) / k;
    sum += term;
  }
  return odd ? 2 / M_PI * (theta + std::sin(theta) * sum) : std::sin(theta) * sum;
}

}  // namespace

double StudentTail(double t, int degrees) {
  if (t < 0) return 1 - StudentTail(-t, degrees);
  if (std::isinf(t)) return 0;
  if (degrees > kManyDegrees) return std::erfc(t / std::sqrt(2.0)) / 2;
  return std::max(0.0, (1 - CentralShare(t, degrees)) / 2);
}

double StudentQuantile(double tail, int degrees) {
  double low = 0, high = 1;
  while (StudentTail(high, degrees) > tail && high < 1e12) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (StudentTail(middle, degrees) > tail ? low : high) = middle;
  }
  return high;
}

}  // namespace sightline
