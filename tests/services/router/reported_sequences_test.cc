#include "services/router/reported_sequences.h"

#include <map>
#include <string>

#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr absl::Duration kAfter = absl::Minutes(2);
const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

TEST_CASE("the highest that was reported counts, and outlives its reporter for a while") {
  ReportedSequences sequences(kAfter);
  CHECK(sequences.Of("g1") == 0);
  sequences.Note({{"g1", 1}, {"g2", 2}}, kStart);
  sequences.Note({{"g1", 3}, {"g2", 2}}, kStart);
  CHECK(sequences.Of("g1") == 3);
  CHECK(sequences.Of("g2") == 2);
  CHECK(sequences.may_change_at() == absl::InfiniteFuture());
  sequences.Note({{"g1", 1}}, kStart);
  CHECK(sequences.may_change_at() == kStart + kAfter);
  sequences.Note({{"g1", 1}}, kStart + kAfter - absl::Nanoseconds(1));
  CHECK(sequences.Of("g1") == 3);
  sequences.Note({{"g1", 1}}, kStart + kAfter);
  CHECK(sequences.Of("g1") == 1);
  CHECK(sequences.Of("g2") == 2);  // of which nobody says anything
}

TEST_CASE("what is forgotten counts as it is reported again") {
  ReportedSequences sequences(kAfter);
  sequences.Note({{"g1", 5}, {"g2", 6}}, kStart);
  sequences.Note({{"g1", 3}}, kStart);
  sequences.Forget("g1");
  CHECK(sequences.Of("g1") == 0);
  CHECK(sequences.may_change_at() == absl::InfiniteFuture());
  sequences.Note({{"g1", 4}}, kStart);
  CHECK(sequences.Of("g1") == 4);
  CHECK(sequences.Of("g2") == 6);
}

TEST_CASE("a lower one has to stand unchanged, and reported") {
  ReportedSequences sequences(kAfter);
  sequences.Note({{"g1", 5}}, kStart);
  sequences.Note({{"g1", 2}}, kStart);
  const absl::Time later = kStart + kAfter;
  SECTION("it changed") {
    sequences.Note({{"g1", 1}}, later - absl::Nanoseconds(1));
    sequences.Note({{"g1", 1}}, later);
  }
  SECTION("somebody saw the high one again") {
    sequences.Note({{"g1", 5}}, later - absl::Nanoseconds(1));
    sequences.Note({{"g1", 2}}, later);
  }
  SECTION("nobody was there") {
    sequences.Note({}, later - absl::Nanoseconds(1));
    sequences.Note({{"g1", 2}}, later);
  }
  CHECK(sequences.Of("g1") == 5);
}

}  // namespace
}  // namespace sightline
