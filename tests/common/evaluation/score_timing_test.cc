#include "common/evaluation/score_timing.h"

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

// 100 images, 500 captions.
MatrixItems Items() {
  MatrixItems items;
  items.images.resize(100);
  items.captions.resize(500);
  return items;
}

ScoreTiming Timing(const std::string& text) {
  const absl::StatusOr<ScoreTiming> timing = ParseScoreTiming(text, Items());
  INFO(timing.status());
  REQUIRE(timing.ok());
  return *timing;
}

TEST_CASE("a matrix that is full took what its file says") {
  const ScoreTiming bi = Timing(R"({"seconds_per_query": 0.5, "encoding_seconds": 30, "x": []})");
  const ScoreTiming cross = Timing(R"({"seconds_per_query": 8, "pairs_per_query": 100})");
  const QueryTime alone = TimeOfQuery({bi}, {}, 0, 100);
  REQUIRE(alone.seconds == 0.5);
  REQUIRE(alone.encoding_seconds == 30);
  REQUIRE_FALSE(alone.computed);
  REQUIRE_FALSE(TimeOfQuery({cross}, {}, 0, 100).computed);
  REQUIRE_FALSE(TimeOfQuery({cross}, {}, 0, 100).encoding_seconds.has_value());
}

TEST_CASE("reranking some takes their share of what all took, and is marked") {
  const ScoreTiming bi = Timing(R"({"seconds_per_query": 0.5, "encoding_seconds": 30})");
  const ScoreTiming cross = Timing(R"({"seconds_per_query": 8, "encoding_seconds": 1})");
  const QueryTime twenty = TimeOfQuery({bi}, {cross}, 20, 100);
  REQUIRE(twenty.seconds == Approx(0.5 + 8 * 0.2));
  REQUIRE(twenty.encoding_seconds == 31);
  REQUIRE(twenty.computed);
  // No more than there are.
  const QueryTime all = TimeOfQuery({bi}, {cross}, 1000, 100);
  REQUIRE(all.seconds == 8.5);
  REQUIRE_FALSE(all.computed);
}

TEST_CASE("what was timed at the depth is not marked there, and is elsewhere") {
  const ScoreTiming bi = Timing(R"({"seconds_per_query": 0.5})");
  const ScoreTiming cross = Timing(R"({"seconds_per_query": 2, "pairs_per_query": 20})");
  REQUIRE(TimeOfQuery({bi}, {cross}, 20, 100).seconds == 2.5);
  REQUIRE_FALSE(TimeOfQuery({bi}, {cross}, 20, 100).computed);
  REQUIRE(TimeOfQuery({bi}, {cross}, 50, 100).seconds == 5.5);
  REQUIRE(TimeOfQuery({bi}, {cross}, 50, 100).computed);
  // Over all pairs, of which only those were scored.
  REQUIRE(TimeOfQuery({cross}, {}, 0, 100).seconds == 10);
  REQUIRE(TimeOfQuery({cross}, {}, 0, 100).computed);
}

TEST_CASE("what was timed with some of its pairs is extrapolated") {
  const ScoreTiming cross =
      Timing(R"({"seconds_per_query": 8, "pairs_per_query": 100, "extrapolated_from": 10})");
  const QueryTime time = TimeOfQuery({cross}, {}, 0, 100);
  REQUIRE(time.seconds == 8);
  REQUIRE(time.computed);
  REQUIRE_FALSE(Timing(R"({"seconds_per_query": 8, "extrapolated_from": 100})").extrapolated);
}

TEST_CASE("an ensemble takes what its members take together") {
  const ScoreTiming a = Timing(R"({"seconds_per_query": 1, "encoding_seconds": 2})");
  const ScoreTiming b = SaidTiming(3, Items());
  REQUIRE(TimeOfQuery({a, b}, {}, 0, 100).seconds == 4);
  REQUIRE_FALSE(TimeOfQuery({a, b}, {}, 0, 100).encoding_seconds.has_value());
  REQUIRE_FALSE(TimeOfQuery({b, a}, {}, 0, 100).encoding_seconds.has_value());
  REQUIRE(TimeOfQuery({a, a}, {}, 0, 100).encoding_seconds == 4);
}

TEST_CASE("a file that says something else is refused with its key") {
  const auto problem = [](const std::string& text) {
    const absl::StatusOr<ScoreTiming> timing = ParseScoreTiming(text, Items());
    REQUIRE(timing.status().code() == absl::StatusCode::kInvalidArgument);
    return std::string(timing.status().message());
  };
  for (const char* text : {"", "[]", "{", "7", "\"seconds_per_query\""}) {
    REQUIRE_THAT(problem(text), Contains("is no JSON object"));
  }
  REQUIRE_THAT(problem("{}"), Contains("\"seconds_per_query\" is missing"));
  for (const char* value : {"-1", "\"1\"", "null", "1e13", "[]"}) {
    REQUIRE_THAT(problem(absl::StrCat("{\"seconds_per_query\":", value, "}")),
                 Contains("\"seconds_per_query\" is no number of seconds"));
    REQUIRE_THAT(
        problem(absl::StrCat("{\"seconds_per_query\":1,\"encoding_seconds\":", value, "}")),
        Contains("\"encoding_seconds\" is no number of seconds"));
  }
  for (const char* value : {"0", "-1", "1.5", "101", "18446744073709551615", "null"}) {
    REQUIRE_THAT(problem(absl::StrCat("{\"seconds_per_query\":1,\"pairs_per_query\":", value, "}")),
                 Contains("\"pairs_per_query\" is no whole number from 1 to 100"));
  }
  for (const char* value : {"0", "101", "true"}) {
    REQUIRE_THAT(
        problem(absl::StrCat("{\"seconds_per_query\":1,\"extrapolated_from\":", value, "}")),
        Contains("\"extrapolated_from\" is no whole number from 1 to 100"));
  }
}

TEST_CASE("the file lies beside its matrix") {
  REQUIRE(TimingPath("a/be.npy") == "a/be.npy.json");
}

}  // namespace
}  // namespace sightline
