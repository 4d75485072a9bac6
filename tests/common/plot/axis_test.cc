#include "common/plot/axis.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

std::string Number(double value) {
  return absl::StrCat(value);
}

std::string Labels(const Axis& axis, int most) {
  std::string labels;
  for (const Tick& tick : axis.Ticks(most)) labels += tick.label + " ";
  return labels;
}

TEST_CASE("ticks are at round values and no more than there is room for") {
  REQUIRE(Labels(Axis::Linear(0, 65, Number), 7) == "0 10 20 30 40 50 60 ");
  REQUIRE(Labels(Axis::Linear(0, 65, Number), 4) == "0 20 40 60 ");
  REQUIRE(Labels(Axis::FromZero(231, Number), 5) == "0 50 100 150 200 250 ");
  REQUIRE(Labels(Axis::Linear(0.1, 0.45, Number), 5) == "0.1 0.2 0.3 0.4 ");
}

TEST_CASE("a range without an end, or too narrow for its numbers, has few ticks") {
  for (const auto& [low, high] : {std::pair(1e17, 1e17 + 16), std::pair(-1e308, 1e308),
                                  std::pair(-1e300, -1e300), std::pair(0.0, 5e-324)}) {
    REQUIRE(Axis::Linear(low, high, Number).Ticks(7).size() <= 8);
    REQUIRE(Axis::FromZero(high, Number).Ticks(7).size() <= 8);
  }
}

TEST_CASE("a logarithmic axis has 1, 2, 5 as far as there is room") {
  REQUIRE(Labels(Axis::Log(7, 180, Number), 7) == "5 10 20 50 100 200 ");
  REQUIRE(Labels(Axis::Log(0.07, 1800, Number), 7) == "0.1 1 10 100 1000 ");
  REQUIRE(Axis::Log(1, 100, Number).Place(10) == Approx(0.5));
}

TEST_CASE("each nine takes the same room") {
  const Axis axis = Axis::Nines(0.9999, Number);
  REQUIRE(axis.Place(0) == Approx(0));
  REQUIRE(axis.Place(0.9) == Approx(0.25));
  REQUIRE(axis.Place(0.99) == Approx(0.5));
  REQUIRE(axis.Place(0.9999) == Approx(1));
  REQUIRE(Labels(axis, 5) == "0 0.5 0.75 0.9 0.99 0.999 0.9999 ");
}

TEST_CASE("ranges without extent still make an axis") {
  REQUIRE(Axis::Linear(3, 3, Number).Place(3) == 0);
  REQUIRE(Axis::Log(10, 10, Number).Place(10) == 0);
  REQUIRE(Axis::Log(0, 0, Number).Ticks(5).size() > 0);
  REQUIRE(Axis::FromZero(0, Number).Ticks(5).size() > 0);
}

}  // namespace
}  // namespace sightline
