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

QueryTime Took(const std::vector<ScoreTiming>& retrieval, const std::vector<ScoreTiming>& rerank,
               int depth, int image_count) {
  const absl::optional<QueryTime> time = TimeOfQuery(retrieval, rerank, depth, image_count);
  REQUIRE(time.has_value());
  return *time;
}

TEST_CASE("a matrix that is full took what its file says") {
  const ScoreTiming bi = Timing(R"({"seconds_per_query": 0.5, "encoding_seconds": 30, "x": []})");
  const ScoreTiming cross = Timing(R"({"seconds_per_query": 8, "pairs_per_query": 100})");
  const QueryTime alone = Took({bi}, {}, 0, 100);
  REQUIRE(alone.seconds == 0.5);
  REQUIRE(alone.encoding_seconds == 30);
  REQUIRE_FALSE(alone.computed);
  REQUIRE_FALSE(Took({cross}, {}, 0, 100).computed);
  REQUIRE_FALSE(Took({cross}, {}, 0, 100).encoding_seconds.has_value());
}

TEST_CASE("reranking some takes their share of what all took, and is marked") {
  const ScoreTiming bi = Timing(R"({"seconds_per_query": 0.5, "encoding_seconds": 30})");
  const ScoreTiming cross = Timing(R"({"seconds_per_query": 8, "encoding_seconds": 1})");
  const QueryTime twenty = Took({bi}, {cross}, 20, 100);
  REQUIRE(twenty.seconds == Approx(0.5 + 8 * 0.2));
  REQUIRE(twenty.encoding_seconds == 31);
  REQUIRE(twenty.computed);
  // No more than there are.
  const QueryTime all = Took({bi}, {cross}, 1000, 100);
  REQUIRE(all.seconds == 8.5);
  REQUIRE_FALSE(all.computed);
}

TEST_CASE("what was timed at the depth is not marked there, and is elsewhere") {
  const ScoreTiming bi = Timing(R"({"seconds_per_query": 0.5})");
  const ScoreTiming cross = Timing(R"({"seconds_per_query": 2, "pairs_per_query": 20})");
  REQUIRE(Took({bi}, {cross}, 20, 100).seconds == 2.5);
  REQUIRE_FALSE(Took({bi}, {cross}, 20, 100).computed);
  REQUIRE(Took({bi}, {cross}, 50, 100).seconds == 5.5);
  REQUIRE(Took({bi}, {cross}, 50, 100).computed);
  // Over all pairs, of which only those were scored.
  REQUIRE(Took({cross}, {}, 0, 100).seconds == 10);
  REQUIRE(Took({cross}, {}, 0, 100).computed);
}

TEST_CASE("what was timed with some of its pairs is extrapolated") {
  const ScoreTiming cross =
      Timing(R"({"seconds_per_query": 8, "pairs_per_query": 100, "extrapolated_from": 10})");
  const QueryTime time = Took({cross}, {}, 0, 100);
  REQUIRE(time.seconds == 8);
  REQUIRE(time.computed);
  REQUIRE_FALSE(Timing(R"({"seconds_per_query": 8, "extrapolated_from": 100})").extrapolated);
}

TEST_CASE("in several pools a caption takes what it takes in the mean of all captions") {
  const ScoreTiming bi = Timing(R"({"seconds_per_query": 1, "encoding_seconds": 30})");
  const ScoreTiming cross = Timing(R"({"seconds_per_query": 100})");
  // 30 captions among 10 images, 10 among 50.
  const auto unequal = *TimeInPools({bi}, {cross}, 20, {{30, 10}, {10, 50}});
  REQUIRE(unequal.seconds == Approx((30 * (0.1 + 10) + 10 * (0.5 + 20)) / 40));
  REQUIRE(unequal.encoding_seconds == absl::nullopt);
  REQUIRE(unequal.computed);
  REQUIRE(TimeInPools({bi}, {}, 0, {{30, 10}, {10, 50}})->encoding_seconds == 30);
  REQUIRE_FALSE(TimeInPools({Timing("{}")}, {}, 0, {{30, 10}, {10, 50}}).has_value());
  // Timed in folds: as it stands, however many there are.
  const ScoreTiming fold = Timing(R"({"seconds_per_query": 1, "pairs_per_query": 10,
      "query_seconds": {"mean": 1, "min": 1, "max": 1, "p95": 1, "p99_99": 1}})");
  const std::vector<AskingCaptions> six(6, {50, 10});
  REQUIRE(TimeInPools({fold}, {}, 0, six)->seconds == 1);
  REQUIRE_FALSE(TimeInPools({fold}, {}, 0, six)->computed);
  REQUIRE(TimeInPools({fold}, {}, 0, six)->spread.has_value());
}

TEST_CASE("what was not measured has no time, alone or as a stage") {
  const ScoreTiming known = Timing(R"({"seconds_per_query": 1})");
  const ScoreTiming unknown = Timing(R"({"encoding_seconds": 2})");
  REQUIRE(unknown.encoding_seconds == 2);
  REQUIRE_FALSE(TimeOfQuery({unknown}, {}, 0, 100).has_value());
  REQUIRE_FALSE(TimeOfQuery({known, unknown}, {}, 0, 100).has_value());
  REQUIRE_FALSE(TimeOfQuery({known}, {unknown}, 20, 100).has_value());
  REQUIRE(TimeOfQuery({known}, {unknown}, 0, 100).has_value());
}

TEST_CASE("an ensemble takes what its members take together") {
  const ScoreTiming a = Timing(R"({"seconds_per_query": 1, "encoding_seconds": 2})");
  const ScoreTiming b = SaidTiming(3, Items());
  REQUIRE(Took({a, b}, {}, 0, 100).seconds == 4);
  REQUIRE_FALSE(Took({a, b}, {}, 0, 100).encoding_seconds.has_value());
  REQUIRE_FALSE(Took({b, a}, {}, 0, 100).encoding_seconds.has_value());
  REQUIRE(Took({a, a}, {}, 0, 100).encoding_seconds == 4);
}

TEST_CASE("times spread from the least to the most, and a share took no longer than some query") {
  std::vector<double> seconds;
  for (int i = 0; i < 40; ++i) seconds.push_back(1 + (i * 7) % 40);  // 1 to 40
  const TimeSpread spread = SpreadOf(seconds);
  REQUIRE(spread.mean == Approx(20.5));
  REQUIRE(spread.least == 1);
  REQUIRE(spread.most == 40);
  REQUIRE(spread.p95 == 38);
  REQUIRE(spread.p99_99 == 40);
  const TimeSpread one = SpreadOf({3});
  REQUIRE(one.p95 == 3);
  REQUIRE(one.p99_99 == 3);
}

TEST_CASE("a spread is of one matrix alone, timed with the pairs that it scores") {
  const std::string spread =
      R"("query_seconds": {"mean": 2, "min": 1, "max": 9, "p95": 4, "p99_99": 8})";
  const ScoreTiming all = Timing(absl::StrCat(R"({"seconds_per_query": 2, )", spread, "}"));
  const ScoreTiming some =
      Timing(absl::StrCat(R"({"seconds_per_query": 2, "pairs_per_query": 20, )", spread, "}"));
  REQUIRE(Took({all}, {}, 0, 100).spread->p99_99 == 8);
  REQUIRE(Took({all}, {}, 0, 100).spread->most == 9);
  REQUIRE_FALSE(Took({all, all}, {}, 0, 100).spread.has_value());
  REQUIRE_FALSE(Took({all}, {some}, 20, 100).spread.has_value());
  REQUIRE_FALSE(Took({some}, {}, 0, 100).spread.has_value());
}

TEST_CASE("several runs take what they take in the mean") {
  const QueryTime a =
      Took({Timing(R"({"seconds_per_query": 1, "encoding_seconds": 2})")}, {}, 0, 100);
  QueryTime b = Took({Timing(R"({"seconds_per_query": 2, "encoding_seconds": 6})")}, {}, 0, 100);
  REQUIRE(MeanTime({a, b}).seconds == 1.5);
  REQUIRE(MeanTime({a, b}).encoding_seconds == 4);
  REQUIRE_FALSE(MeanTime({a, b}).computed);
  b.computed = true;
  b.encoding_seconds.reset();
  REQUIRE(MeanTime({a, b}).computed);
  REQUIRE_FALSE(MeanTime({a, b}).encoding_seconds.has_value());
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

TEST_CASE("a spread that lacks a number is refused") {
  const auto problem = [](const std::string& spread) {
    return std::string(
        ParseScoreTiming(absl::StrCat(R"({"seconds_per_query": 1, "query_seconds": )", spread, "}"),
                         Items())
            .status()
            .message());
  };
  REQUIRE(problem("3") == "\"query_seconds\" is no JSON object");
  REQUIRE(problem("{}") == "\"query_seconds\" has no \"mean\"");
  REQUIRE_THAT(problem(R"({"mean": -1})"), Contains("\"query_seconds\": \"mean\" is no number"));
}

TEST_CASE("the file lies beside its matrix") {
  REQUIRE(TimingPath("a/be.npy") == "a/be.npy.json");
}

}  // namespace
}  // namespace sightline
