#include "loadtest/verdict/student_t.h"

#include <cmath>

#include "tests/support/catch.h"

namespace sightline {
namespace {

// The density, summed up by Simpson's rule: the referee.
double TailBySummation(double t, int degrees) {
  const double v = degrees;
  const double scale =
      std::exp(std::lgamma((v + 1) / 2) - std::lgamma(v / 2)) / std::sqrt(v * M_PI);
  const auto density = [&](double x) { return scale * std::pow(1 + x * x / v, -(v + 1) / 2); };
  constexpr int kSteps = 20000;
  const double step = t / kSteps;
  double sum = density(0) + density(t);
  for (int i = 1; i < kSteps; ++i) sum += density(i * step) * (i % 2 == 1 ? 4 : 2);
  return 0.5 - sum * step / 3;
}

TEST_CASE("the tail is what the density sums up to") {
  for (int degrees : {1, 2, 3, 4, 5, 8, 9, 30, 101, 1000}) {
    for (double t : {0.0, 0.3, 1.0, 2.5, 6.0, 20.0}) {
      INFO(degrees << " degrees, t " << t);
      REQUIRE(StudentTail(t, degrees) == Approx(TailBySummation(t, degrees)).margin(1e-9));
      REQUIRE(StudentTail(-t, degrees) == Approx(1 - StudentTail(t, degrees)));
    }
  }
}

TEST_CASE("quantiles are those of the printed tables") {
  REQUIRE(StudentQuantile(0.05, 1) == Approx(6.313752).epsilon(1e-6));
  REQUIRE(StudentQuantile(0.005, 4) == Approx(4.604095).epsilon(1e-6));
  REQUIRE(StudentQuantile(0.025, 10) == Approx(2.228139).epsilon(1e-6));
  REQUIRE(StudentQuantile(0.0005, 30) == Approx(3.645959).epsilon(1e-6));
  REQUIRE(StudentQuantile(0.025, 1'000'000) == Approx(1.959964).epsilon(1e-5));
}

}  // namespace
}  // namespace sightline
