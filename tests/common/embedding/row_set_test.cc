#include "common/embedding/row_set.h"

#include <algorithm>
#include <random>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

std::vector<int64_t> All(const RowSet& set) {
  std::vector<int64_t> rows;
  set.ForEach([&](int64_t row) { rows.push_back(row); });
  return rows;
}

std::vector<int64_t> InRange(const RowSet* set, int64_t begin, int64_t end) {
  std::vector<int64_t> rows;
  RowSetCursor cursor(set, begin, end);
  for (int64_t row; (row = cursor.Next()) >= 0;) rows.push_back(row);
  REQUIRE(cursor.Next() == -1);
  return rows;
}

TEST_CASE("a list and bits of the same rows say the same") {
  std::mt19937 random(1);
  for (const int64_t universe : {1, 63, 64, 65, 1000}) {
    for (const int one_of : {1, 2, 10, 200}) {
      std::vector<uint32_t> rows;
      std::vector<uint64_t> words((universe + 63) / 64);
      for (int64_t row = 0; row < universe; ++row) {
        if (random() % one_of != 0) continue;
        rows.push_back(static_cast<uint32_t>(row));
        words[row / 64] |= uint64_t{1} << (row % 64);
      }
      const std::vector<int64_t> wanted(rows.begin(), rows.end());
      const RowSet list = RowSet::OfRows(rows, universe);
      const RowSet bits = RowSet::OfBits(words, universe);
      REQUIRE(list.is_list());
      REQUIRE(!bits.is_list());
      for (const RowSet& set : {list, bits}) {
        REQUIRE(set.count() == rows.size());
        REQUIRE(set.universe() == universe);
        REQUIRE(All(set) == wanted);
        for (int64_t row = 0; row < universe; ++row) {
          REQUIRE(set.Contains(row) == std::binary_search(wanted.begin(), wanted.end(), row));
        }
        for (int round = 0; round < 20; ++round) {
          const auto begin = static_cast<int64_t>(random() % (universe + 1));
          const auto end = begin + static_cast<int64_t>(random() % (universe + 1 - begin));
          const std::vector<int64_t> some(std::lower_bound(wanted.begin(), wanted.end(), begin),
                                          std::lower_bound(wanted.begin(), wanted.end(), end));
          REQUIRE(InRange(&set, begin, end) == some);
        }
      }
    }
  }
}

TEST_CASE("no rows at all, and all rows") {
  for (const RowSet& none :
       {RowSet(), RowSet::OfRows({}, 10), RowSet::OfBits({}, 0), RowSet::OfBits({0}, 10)}) {
    REQUIRE(none.count() == 0);
    REQUIRE(All(none).empty());
    REQUIRE(InRange(&none, 0, none.universe()).empty());
  }
  REQUIRE(!RowSet::OfRows({}, 10).Contains(3));
  REQUIRE(InRange(nullptr, 3, 6) == std::vector<int64_t>{3, 4, 5});
  REQUIRE(InRange(nullptr, 3, 3).empty());
}

}  // namespace
}  // namespace sightline
