#include "common/training/objectives/mismatches.h"

#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int64_t kRows = 50;

const std::vector<int64_t>& Rows() {
  static const auto* const rows = [] {
    auto* all = new std::vector<int64_t>(kRows);
    std::iota(all->begin(), all->end(), int64_t{0});
    return all;
  }();
  return *rows;
}

// Rows of the same tens are related.
MismatchPool Pool() {
  MismatchPool pool;
  pool.rows = Rows();
  pool.related = [](int64_t row, int64_t other) { return row / 10 == other / 10; };
  return pool;
}

TEST_CASE("each row has its own pair and a wrong one, half of them with another's text") {
  int64_t wrong_texts = 0, all = 0;
  std::set<int64_t> others;
  for (uint64_t step = 0; step < 40; ++step) {
    const auto pairs = MatchedAndMismatched(Rows(), Pool(), 1, step).value();
    REQUIRE(pairs.size() == 2 * kRows);
    for (int64_t row = 0; row < kRows; ++row) {
      const RowPair own = pairs[2 * row], wrong = pairs[2 * row + 1];
      REQUIRE(own.matches());
      REQUIRE(own.text == row);
      REQUIRE_FALSE(wrong.matches());
      const bool wrong_text = wrong.image == row;
      REQUIRE((wrong_text || wrong.text == row));
      const int64_t other = wrong_text ? wrong.text : wrong.image;
      REQUIRE(other / 10 != row / 10);
      if (row == 0) others.insert(other);
      wrong_texts += wrong_text;
      ++all;
    }
  }
  REQUIRE(std::abs(static_cast<double>(wrong_texts) / all - 0.5) < 5 * 0.5 / std::sqrt(all));
  REQUIRE(others.size() > 15);
}

TEST_CASE("a wrong half is only ever an image where no text is asked for") {
  MismatchPool pool = Pool();
  pool.text_share = 0;
  int64_t wrong = 0, all = 0;
  for (uint64_t step = 0; step < 40; ++step) {
    const auto pairs = MatchedOrMismatched(Rows(), pool, 0.25, 1, step).value();
    REQUIRE(pairs.size() == kRows);
    for (int64_t row = 0; row < kRows; ++row) {
      REQUIRE(pairs[row].text == row);
      wrong += !pairs[row].matches();
      ++all;
    }
  }
  REQUIRE(std::abs(static_cast<double>(wrong) / all - 0.25) < 5 * 0.43 / std::sqrt(all));
}

TEST_CASE("what is drawn for a row does not depend on the rows beside it") {
  const auto all = MatchedAndMismatched(Rows(), Pool(), 7, 3).value();
  const std::vector<int64_t> few = {30, 4};
  const auto some = MatchedAndMismatched(few, Pool(), 7, 3).value();
  REQUIRE(some[1].text == all[61].text);
  REQUIRE(some[1].image == all[61].image);
  REQUIRE(some[3].text == all[9].text);
  REQUIRE(some[3].image == all[9].image);
}

TEST_CASE("the only row that is unrelated is found") {
  MismatchPool pool = Pool();
  pool.related = [](int64_t row, int64_t other) { return row == 0 && other != 37; };
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    const RowPair pair = DrawMismatch(0, pool, &random).value();
    REQUIRE(pair.text + pair.image == 37);
  }
}

TEST_CASE("a row is not its own mismatch, though nothing is said to be related") {
  const std::vector<int64_t> two = {3, 4};
  MismatchPool pool;
  pool.rows = two;
  pool.related = [](int64_t, int64_t) { return false; };
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    REQUIRE_FALSE(DrawMismatch(3, pool, &random)->matches());
  }
}

TEST_CASE("a row that everything is related to has no wrong pair, and neither has a lone one") {
  MismatchPool pool = Pool();
  pool.related = [](int64_t, int64_t) { return true; };
  const auto pairs = MatchedAndMismatched(Rows(), pool, 1, 1);
  REQUIRE(pairs.status().code() == absl::StatusCode::kFailedPrecondition);
  REQUIRE_THAT(std::string(pairs.status().message()), Catch::Contains("row 0"));
  pool = Pool();
  pool.rows = {};
  REQUIRE_FALSE(MatchedOrMismatched(Rows(), pool, 1, 1, 1).ok());
  REQUIRE(MatchedOrMismatched(Rows(), pool, 0, 1, 1).ok());
}

}  // namespace
}  // namespace sightline
