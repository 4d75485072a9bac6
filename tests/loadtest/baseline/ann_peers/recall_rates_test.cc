#include "loadtest/baseline/ann_peers/recall_rates.h"

#include <cmath>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("the front has what nothing beats in both") {
  const std::vector<RecallPoint> front =
      Front({{0.9, 2}, {0.5, 1}, {0.6, 1}, {0.95, 4}, {0.8, 3}, {0.95, 5}, {0.9, 2}});
  REQUIRE(front.size() == 3);
  REQUIRE(front[0].recall == 0.6);
  REQUIRE(front[1].recall == 0.9);
  REQUIRE(front[1].seconds == 2);
  REQUIRE(front[2].recall == 0.95);
  REQUIRE(front[2].seconds == 4);
  REQUIRE(Front({}).empty());
}

TEST_CASE("between two efforts the logarithm of the time is a line") {
  const std::vector<RecallPoint> points = {{0.8, 1}, {1.0, 16}, {0.85, 40}};
  REQUIRE(*SecondsAt(0.8, points) == Approx(1));
  REQUIRE(*SecondsAt(0.9, points) == Approx(4));
  REQUIRE(*SecondsAt(1.0, points) == Approx(16));
}

TEST_CASE("the least effort stands for all recalls below its own") {
  REQUIRE(*SecondsAt(0.3, {{0.8, 2}, {0.9, 3}}) == 2);
  REQUIRE(*SecondsAt(0.95, {{1.0, 7}}) == 7);
}

TEST_CASE("a recall that no effort has is not told") {
  REQUIRE_FALSE(SecondsAt(0.95, {{0.9, 1}}).has_value());
  REQUIRE_FALSE(SecondsAt(0.5, {}).has_value());
}

TEST_CASE("quartiles lie between the values beside them") {
  const Quartiles of_five = QuartilesOf({5, 1, 4, 2, 3});
  REQUIRE(of_five.lower == 2);
  REQUIRE(of_five.median == 3);
  REQUIRE(of_five.upper == 4);
  const Quartiles of_two = QuartilesOf({2, 1});
  REQUIRE(of_two.lower == 1.25);
  REQUIRE(of_two.median == 1.5);
  REQUIRE(QuartilesOf({9}).upper == 9);
}

}  // namespace
}  // namespace sightline
