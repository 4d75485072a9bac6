#include "loadtest/faults/recovery.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

// One second a letter: w whole, e empty, f two failures, d degraded, m a shard missing,
// x an answer that failed a check, l one that came late, which is the generator's doing.
std::vector<Second> Seconds(const std::string& letters) {
  std::vector<Second> seconds;
  for (const char letter : letters) {
    Second second;
    second.second = static_cast<int64_t>(seconds.size());
    Tally& tally = second.tally;
    tally.count = letter == 'e' ? 0 : 10;
    tally.ok = letter == 'f' ? 8 : tally.count;
    tally.degraded = letter == 'd' ? 1 : 0;
    tally.shards_asked = 2 * tally.ok;
    tally.shards_answered = tally.shards_asked - (letter == 'm' ? 1 : 0);
    if (letter == 'x') tally.check_failures["order"] = 1;
    if (letter == 'l') tally.check_failures["late"] = 1;
    seconds.push_back(second);
  }
  return seconds;
}

FaultMark Mark(double at, double ended) {
  return {"kill reranker", absl::Seconds(at), absl::Seconds(ended), absl::InfiniteDuration(), {}};
}

absl::Duration WholeAgain(const std::string& letters, double at, double ended) {
  std::vector<FaultMark> marks = {Mark(at, ended)};
  FindRecoveries(Seconds(letters), &marks);
  return marks[0].whole_again;
}

}  // namespace

TEST_CASE("the fleet is whole again from the first of three whole seconds") {
  //                 0123456789
  REQUIRE(WholeAgain("wwwffffwww", 3, 5) == absl::Seconds(2));
  REQUIRE(WholeAgain("wwwffffwww", 3.5, 5.25) == absl::Seconds(1.75));
  REQUIRE(WholeAgain("wwwfffwwwww", 3, 6) == absl::ZeroDuration());
}

TEST_CASE("a second is whole though the generator took an answer late") {
  REQUIRE(WholeAgain("wwwffllwww", 3, 5) == absl::ZeroDuration());
}

TEST_CASE("one good second, or two, may be luck") {
  //                 01234567890
  REQUIRE(WholeAgain("wwwfffwfwwfwww", 3, 5) == absl::Seconds(6));
  REQUIRE(WholeAgain("wwwfffwfwwf", 3, 5) == absl::InfiniteDuration());
}

TEST_CASE("a second is not whole if anything about its answers is wrong") {
  for (const std::string wrong : {"f", "d", "m", "x"}) {
    INFO(wrong);
    REQUIRE(WholeAgain("www" + wrong + wrong + "www", 3, 3.5) == absl::Seconds(1.5));
  }
}

TEST_CASE("seconds without requests tell nothing") {
  //                 0123456789
  REQUIRE(WholeAgain("wwfeewewew", 2, 3) == absl::Seconds(2));
  REQUIRE(WholeAgain("wwfeeeeeee", 2, 3) == absl::InfiniteDuration());
}

TEST_CASE("what never broke was never not whole") {
  REQUIRE(WholeAgain("wwwwwwwwww", 3.5, 5.5) == absl::ZeroDuration());
  REQUIRE(WholeAgain("wwwwwwwwww", 3.5, 3.5) == absl::ZeroDuration());
}

TEST_CASE("three whole seconds must fit before the run ends") {
  REQUIRE(WholeAgain("wwwffwww", 3, 4) == absl::Seconds(1));
  REQUIRE(WholeAgain("wwwffww", 3, 4) == absl::InfiniteDuration());
  REQUIRE(WholeAgain("", 3, 4) == absl::InfiniteDuration());
}

TEST_CASE("the search ends where the next fault begins") {
  std::vector<FaultMark> marks = {Mark(2, 3), Mark(6, 7)};
  //                     0123456789012
  FindRecoveries(Seconds("wwffwwffwwww"), &marks);
  REQUIRE(marks[0].whole_again == absl::InfiniteDuration());
  REQUIRE(marks[1].whole_again == absl::Seconds(1));
}

TEST_CASE("a fault that began before the other was over does not end its search") {
  std::vector<FaultMark> marks = {Mark(2, 5), Mark(4, 6)};
  //                     01234567890
  FindRecoveries(Seconds("wwffffffwww"), &marks);
  REQUIRE(marks[0].whole_again == absl::Seconds(3));
  REQUIRE(marks[1].whole_again == absl::Seconds(2));
}

TEST_CASE("a fault that was not done as planned is not judged") {
  std::vector<FaultMark> marks = {Mark(3, 3)};
  marks[0].failed_expectations = {"could not be done"};
  FindRecoveries(Seconds("wwwffff"), &marks);
  REQUIRE(marks[0].failed_expectations.size() == 1);
  REQUIRE(marks[0].whole_again == absl::InfiniteDuration());
}

}  // namespace sightline
