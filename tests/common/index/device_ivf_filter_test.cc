// Inverted files on a device, with filters: what is found has to be what the rule of
// device_ivf_search.h says, done slowly, and no worse than what the CPU finds.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/base/limits.h"
#include "common/index/ivf_search.h"
#include "tests/common/index/device_ivf_rig.h"
#include "tests/common/index/kind_harness.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<Neighbor> ExpectedAmong(const DeviceIvfRig& rig, const EmbeddingMatrix& query,
                                    int effort, int top_k, const RowSet& among) {
  const VectorView view = rig.rows.view();
  const IvfQuery ranked = rig.QueryOf(query);
  const std::vector<RankedList> near = rig.ranking->Best(ranked, effort);
  std::vector<RankedList> lists =
      rig.ranking->Best(ranked, FirstLists(rig.file.shape, effort, among.count()));
  const RowSet near_rows = rig.RowsOf(near, nullptr), first_rows = rig.RowsOf(lists, &among);
  const auto near_found = Referee(view, query, top_k, &near_rows)[0];
  const auto found = Referee(view, query, top_k, &first_rows)[0];
  if (static_cast<int>(found.size()) < top_k) return Referee(view, query, top_k, &among)[0];
  const double length = ranked.length > 0 ? ranked.length : 1;
  const double margin = near_found.back().score / length - near.back().promise;
  const double enough = found.back().score / length - margin;
  if (!std::isfinite(enough)) return Referee(view, query, top_k, &among)[0];
  std::set<int32_t> seen;
  for (const RankedList& list : lists) seen.insert(list.list);
  int64_t more = 0;
  for (const RankedList& list : rig.ranking->Best(ranked, rig.file.shape.lists)) {
    if (list.promise < enough || seen.count(list.list) > 0) continue;
    lists.push_back(list);
    more += rig.file.row_count(list.list);
  }
  const RowSet rows = rig.RowsOf(lists, &among);
  return Referee(view, query, top_k, more > among.count() / 2 ? &among : &rows)[0];
}

// About `count` rows: any, or those nearest to the first query, or those farthest from it.
std::vector<int64_t> RowsOfFilter(const DeviceIvfRig& rig, const EmbeddingMatrix& queries,
                                  int64_t count, const std::string& where) {
  std::vector<Neighbor> all =
      Referee(rig.rows.view(), QueryAt(queries, 0), static_cast<int>(rig.rows.rows()))[0];
  if (where == "far") std::reverse(all.begin(), all.end());
  if (where == "any") std::shuffle(all.begin(), all.end(), std::mt19937(14));
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < count; ++i) rows.push_back(all[i].row);
  std::sort(rows.begin(), rows.end());
  return rows;
}

// That ten of the filter's rows are found as the rule says, and no worse than on a CPU; whether
// they were looked for in lists.
bool CheckAmong(const DeviceIvfRig& rig, const EmbeddingMatrix& queries, int effort,
                const RowSet& among) {
  constexpr int kTopK = 10;
  const SearchOptions options = OptionsOf(effort, kTopK, &among);
  const NeighborLists found = Find(*rig.device_index, queries, options);
  const NeighborLists truth = Referee(rig.rows.view(), queries, kTopK, &among);
  CHECK(RecallOf(found, truth) >= RecallOf(Find(*rig.cpu_index, queries, options), truth));
  const bool exact = rig.device_index->IsExact(options);
  NeighborLists expected = truth;
  for (int64_t i = 0; i < queries.rows() && !exact; ++i) {
    expected[i] = ExpectedAmong(rig, QueryAt(queries, i), effort, kTopK, among);
  }
  REQUIRE(SameLists(found, expected));
  return !exact;
}

TEST_CASE("a filter's rows are looked for on a device as far as they may lie, narrow or broad") {
  const EmbeddingMatrix values = ClusteredRows(3000, 24, 15);
  const EmbeddingMatrix queries = QueriesNear(values, 4, 16);
  for (const Dtype dtype : kDtypes) {
    DeviceIvfRig rig(values, dtype, SpecOf(dtype == Dtype::kFloat16 ? "rabitq" : "int8", 24, 150));
    int by_lists = 0;
    for (const std::string where : {"any", "near", "far"}) {
      for (const int64_t count : {3, 40, 600, 1500, 2500, 2999}) {
        const std::vector<int64_t> some = RowsOfFilter(rig, queries, count, where);
        for (const int effort : {1, 4, 20}) {
          CAPTURE(where, count, effort);
          const bool listed = CheckAmong(rig, queries, effort, ListOf(some, 3000));
          CHECK(CheckAmong(rig, queries, effort, BitsOf(some, 3000)) == listed);
          by_lists += listed ? 1 : 0;
        }
      }
    }
    CHECK(by_lists > 10);
    const RowSet none = RowSet::OfRows({}, 3000);
    for (const auto& list : Find(*rig.device_index, queries, OptionsOf(4, 10, &none))) {
      CHECK(list.empty());
    }
  }
}

TEST_CASE(
    "a list is as long as was asked for, though the first lists have few of a filter's rows") {
  const EmbeddingMatrix values = ClusteredRows(3000, 24, 15);
  const EmbeddingMatrix query = QueriesNear(values, 1, 16);
  for (const Dtype dtype : kDtypes) {
    DeviceIvfRig rig(values, dtype, SpecOf("int8", 24, 150));
    std::vector<int64_t> some = RowsOfFilter(rig, query, 3, "near");
    for (const int64_t row : RowsOfFilter(rig, query, 1000, "far")) some.push_back(row);
    std::sort(some.begin(), some.end());
    const RowSet among = BitsOf(some, 3000);
    CHECK(CheckAmong(rig, query, 1, among));
    CHECK(Find(*rig.device_index, query, OptionsOf(1, 10, &among))[0].size() == 10);
  }
}

TEST_CASE("among rows that float16 has not a filter's are found in lists, and no others") {
  const EmbeddingMatrix sound = ClusteredRows(3000, 24, 32);
  EmbeddingMatrix values = sound;
  for (int64_t row = 0; row < 60; ++row) values.mutable_row(row * 37)[row % 24] = 70000;
  values.mutable_row(1)[0] = kInfinity;
  values.mutable_row(2)[0] = std::nanf("");
  EmbeddingMatrix queries = QueriesNear(sound, 8, 33);
  for (float& number : queries.mutable_row(0)) number = 3e38f;
  for (float& number : queries.mutable_row(1)) number = 0;
  std::vector<int64_t> some;
  for (int64_t row = 0; row < 3000; row += row % 6 == 0 ? 2 : 1) some.push_back(row);
  const RowSet among = BitsOf(some, 3000);
  for (const Dtype dtype : kDtypes) {
    DeviceIvfRig rig(values, dtype, SpecOf("int8", 24, 150));
    const SearchOptions options = OptionsOf(4, 10, &among);
    REQUIRE_FALSE(rig.device_index->IsExact(options));
    const NeighborLists found = Find(*rig.device_index, queries, options);
    for (int64_t i = 0; i < queries.rows(); ++i) {
      CAPTURE(i);
      REQUIRE(SameLists({found[i]}, {ExpectedAmong(rig, QueryAt(queries, i), 4, 10, among)}));
    }
  }
}

TEST_CASE("what is exact on a CPU is exact on a device, and so are filters of few rows") {
  const EmbeddingMatrix values = ClusteredRows(3000, 16, 17);
  DeviceIvfRig rig(values, Dtype::kFloat16, SpecOf("int8", 16, 60));
  const EmbeddingMatrix queries = QueriesNear(values, 2, 18);
  for (const int64_t count : {1, 10, 100, 400, 1000, 2000, 3000}) {
    const RowSet among = BitsOf(RowsOfFilter(rig, queries, count, "any"), 3000);
    bool before = false;
    for (const int effort : {1, 2, 5, 12, 30, 59, 60, limits::kMaxEffort}) {
      for (const RowSet* set : {static_cast<const RowSet*>(nullptr), &among}) {
        const SearchOptions options = OptionsOf(effort, 10, set);
        if (rig.cpu_index->IsExact(options)) CHECK(rig.device_index->IsExact(options));
        CHECK(rig.device_index->WorkOf(options) == rig.cpu_index->WorkOf(options));
      }
      // More effort is not less exact.
      const bool exact = rig.device_index->IsExact(OptionsOf(effort, 10, &among));
      CHECK((exact || !before));
      before = exact;
    }
  }
  CHECK_FALSE(rig.device_index->IsExact(OptionsOf(59, 10)));
  const RowSet few = BitsOf(RowsOfFilter(rig, queries, 90, "any"), 3000);
  CHECK(rig.device_index->IsExact(OptionsOf(1, 10, &few)));
}

}  // namespace
}  // namespace sightline
