#include "common/batching/run_each.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

// Doubles numbers; refuses a batch with a negative one, breaks down over 666.
struct Doubler {
  absl::StatusOr<std::vector<int>> operator()(absl::Span<const int> numbers) const {
    batches->push_back(numbers.size());
    std::vector<int> doubled;
    for (const int number : numbers) {
      if (number < 0) return absl::InvalidArgumentError(absl::StrCat(number, " is negative"));
      if (number == 666) return absl::InternalError("broken");
      doubled.push_back(2 * number);
    }
    return doubled;
  }
  std::vector<size_t>* batches;
};

struct Fixture {
  std::vector<absl::StatusOr<int>> Run(const std::vector<int>& numbers) {
    return RunEach<int>(absl::MakeConstSpan(numbers), Doubler{&batches});
  }
  std::vector<size_t> batches;
};

TEST_CASE("a good batch is run once") {
  Fixture f;
  const auto results = f.Run({1, 2, 3});
  REQUIRE(results.size() == 3);
  REQUIRE(*results[2] == 6);
  REQUIRE(f.batches == std::vector<size_t>{3});
}

TEST_CASE("who is to blame fails, and each of the others is run alone") {
  Fixture f;
  const auto results = f.Run({1, -2, 3});
  REQUIRE(*results[0] == 2);
  REQUIRE(results[1].status() == absl::InvalidArgumentError("-2 is negative"));
  REQUIRE(*results[2] == 6);
  REQUIRE(f.batches == std::vector<size_t>{3, 1, 1, 1});
}

TEST_CASE("what is nobody's fault is everybody's, and nothing is run again") {
  Fixture f;
  const auto results = f.Run({1, 666});
  REQUIRE(absl::IsInternal(results[0].status()));
  REQUIRE(absl::IsInternal(results[1].status()));
  REQUIRE(f.batches == std::vector<size_t>{2});
}

TEST_CASE("one that breaks it while it is tried alone fails alone") {
  const auto results = Fixture().Run({-1, 666, 3});
  REQUIRE(absl::IsInvalidArgument(results[0].status()));
  REQUIRE(absl::IsInternal(results[1].status()));
  REQUIRE(*results[2] == 6);
}

TEST_CASE("one that is alone already is not tried twice") {
  Fixture f;
  REQUIRE(absl::IsInvalidArgument(f.Run({-1})[0].status()));
  REQUIRE(f.batches == std::vector<size_t>{1});
}

TEST_CASE("an answer of another length is no answer") {
  const std::vector<int> numbers = {1, 2};
  const auto results = RunEach<int>(absl::MakeConstSpan(numbers),
                                    [](absl::Span<const int>) -> absl::StatusOr<std::vector<int>> {
                                      return std::vector<int>{7};
                                    });
  REQUIRE(results.size() == 2);
  REQUIRE(results[0].status() == absl::InternalError("a batch of 2 came back as 1"));
  REQUIRE(results[1].status() == results[0].status());
}

}  // namespace
}  // namespace sightline
