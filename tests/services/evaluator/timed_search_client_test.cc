#include "services/evaluator/timed_search_client.h"

#include "tests/services/evaluator/fake_search_client.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

SearchRequest Request(int depth, absl::optional<Combination> combination = absl::nullopt) {
  SearchRequest request;
  request.query = TextQuery{"a red fish"};
  request.depth = depth;
  request.combination = combination;
  return request;
}

TEST_CASE("a method's time is the median of the texts that it answered") {
  FakeClock clock;
  absl::Duration takes;
  absl::Status fails;
  bool degraded = false;
  FakeSearchClient fleet([&](const SearchRequest&) -> absl::StatusOr<SearchResult> {
    clock.Advance(takes);
    if (!fails.ok()) return fails;
    SearchResult result;
    if (degraded) result.degraded.emplace_back();
    result.hits = {HitOf("fish")};
    return result;
  });
  TimedSearchClient client(&fleet);
  const CallContext call(&clock, absl::InfiniteFuture());
  const auto ask = [&](const SearchRequest& request, int seconds) {
    takes = absl::Seconds(seconds);
    return client.SearchItems(call, request);
  };
  const Combination half = {CombinationKind::kAddLambda, 0.5f};
  for (const int seconds : {9, 1, 2}) {
    const auto result = ask(Request(0), seconds);
    REQUIRE(result.ok());
    REQUIRE(result->hits[0].item_id == "fish");
  }
  REQUIRE(ask(Request(20, half), 30).ok());
  REQUIRE(ask(Request(20, Combination()), 40).ok());
  REQUIRE(ask(Request(10, half), 50).ok());
  // Neither pictures nor what is refused counts.
  SearchRequest picture = Request(0);
  picture.query = ItemQuery{"images", "a"};
  REQUIRE(ask(picture, 100).ok());
  degraded = true;
  REQUIRE(ask(Request(0), 300).ok());
  degraded = false;
  fails = absl::UnavailableError("busy");
  REQUIRE_FALSE(ask(Request(0), 200).ok());
  const auto time = client.TimeOf(Method());
  REQUIRE(time.has_value());
  REQUIRE(time->seconds == 2);
  REQUIRE_FALSE(time->computed);
  REQUIRE(time->spread->mean == Approx(4));
  REQUIRE(time->spread->least == 1);
  REQUIRE(time->spread->most == 9);
  REQUIRE(client.TimeOf({20, half})->seconds == 30);
  REQUIRE(client.TimeOf({20, Combination()})->seconds == 40);
  REQUIRE(client.TimeOf({10, half})->seconds == 50);
  REQUIRE_FALSE(client.TimeOf({50, half}).has_value());
}

}  // namespace
}  // namespace sightline
