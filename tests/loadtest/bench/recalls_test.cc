#include "loadtest/bench/recalls.h"

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("recalls are told in ascending order, and without any the three of the tables are") {
  REQUIRE(*ReadRecalls({}) == std::vector<double>{0.90, 0.95, 0.99});
  REQUIRE(*ReadRecalls({"1", "0.5", "0.95"}) == std::vector<double>{0.5, 0.95, 1});
}

TEST_CASE("what is no recall is refused with its text") {
  for (const char* const text : {"0", "-0.5", "1.01", "nan", "95%", ""}) {
    const auto recalls = ReadRecalls({"0.9", text});
    REQUIRE(absl::IsInvalidArgument(recalls.status()));
    REQUIRE(absl::StrContains(recalls.status().message(), absl::StrCat("'", text, "'")));
  }
}

}  // namespace
}  // namespace sightline
