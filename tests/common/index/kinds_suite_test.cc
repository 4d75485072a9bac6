// What every kind of index promises (vector_index.h), of every kind that there is, over float32 and
// float16 rows in memory and on a disk, against the naive scan.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/limits.h"
#include "common/index/index_kinds.h"
#include "tests/common/index/kind_harness.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kRows = 2000;
constexpr int kDimension = 32;

ComputePool& Pool() {
  static ComputePool* const pool = new ComputePool(2);
  return *pool;
}

// An index of a case, and all that it is made of.
struct Opened {
  const KindCase& kind_case;
  const GappedRows& rows;
  const MemoryReader* reader;  // null where rows lie in memory
  const KindShard& shard;
  const VectorIndex& index;

  bool exact() const { return shard.kind().exact; }
  SearchOptions Options(int top_k, const RowSet* among = nullptr) const {
    SearchOptions options;
    options.top_k = top_k;
    options.effort = kind_case.effort;
    options.among = among;
    return options;
  }
  // Whose effort finds all there is.
  SearchOptions All(int top_k, const RowSet* among = nullptr) const {
    SearchOptions options = Options(top_k, among);
    options.effort = limits::kMaxEffort;
    return options;
  }
};

// Calls `test` with `values` as each case stores and indexes them; of exact kinds alone where
// nothing else is `wanted`.
enum class Wanted { kAllKinds, kExactKinds };
void ForEachIndex(const EmbeddingMatrix& values, const std::function<void(const Opened&)>& test,
                  Wanted wanted = Wanted::kAllKinds) {
  for (const KindCase& kind_case : KindCases()) {
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16}) {
      const GappedRows rows(values, dtype);
      MemoryReader reader(rows.view());
      for (const bool on_disk : {false, true}) {
        // Either type of rows on a disk is read alike.
        if (on_disk && dtype == Dtype::kFloat32) continue;
        const VectorView view = on_disk ? reader.view() : rows.view();
        KindShard shard(kind_case, view);
        if (!shard.Fits()) continue;
        if (wanted == Wanted::kExactKinds && !shard.kind().exact) continue;
        INFO(kind_case.name << ", " << DtypeName(dtype) << (on_disk ? " on a disk" : ""));
        const absl::Status built = shard.Build(&Pool());
        INFO(built.ToString());
        REQUIRE(built.ok());
        const auto index = shard.Open(&Pool());
        INFO(index.status().ToString());
        REQUIRE(index.ok());
        REQUIRE((*index)->size() == values.rows());
        REQUIRE((*index)->dimension() == values.dimension());
        test({kind_case, rows, on_disk ? &reader : nullptr, shard, **index});
      }
    }
  }
}

// What an index finds of the best `top_k` of `queries` at the effort of its case, and at one beyond
// all, is as good as it says.
void CheckSearches(const Opened& opened, const EmbeddingMatrix& queries, int top_k,
                   const RowSet* among = nullptr) {
  INFO("top " << top_k);
  const VectorView rows = opened.rows.view();
  const NeighborLists truth = Referee(rows, queries, top_k, among);
  REQUIRE(SameLists(Find(opened.index, queries, opened.All(top_k, among)), truth));
  const SearchOptions options = opened.Options(top_k, among);
  const NeighborLists found = Find(opened.index, queries, options);
  REQUIRE(IsSound(found, rows, queries, options));
  if (opened.exact()) REQUIRE(opened.index.IsExact(options));
  if (opened.index.IsExact(options)) REQUIRE(SameLists(found, truth));
  // Of a single query ten are too few to tell.
  if (top_k <= 10 && queries.rows() > 1) REQUIRE(RecallOf(found, truth) >= opened.kind_case.recall);
}

TEST_CASE("every kind that there is has a case") {
  for (const IndexKind* kind : IndexKinds()) {
    const auto cases = KindCases();
    INFO(kind->name);
    REQUIRE(std::any_of(cases.begin(), cases.end(), [&](const KindCase& kind_case) {
      return &KindShard(kind_case, VectorView{nullptr, 0, 1, 1}).kind() == kind;
    }));
  }
}

TEST_CASE("recall and order: lists are those of the naive scan, or as much of them as is said") {
  const EmbeddingMatrix values = ClusteredRows(kRows, kDimension, 1);
  const EmbeddingMatrix queries = QueriesNear(values, 20, 2);
  ForEachIndex(values, [&](const Opened& opened) {
    for (const int top_k : {1, 10, 100}) CheckSearches(opened, queries, top_k);
  });
}

// Small integers: every sum is exact, and most scores occur many times.
EmbeddingMatrix Integers(int64_t rows, int dimension, uint32_t seed) {
  std::mt19937 random(seed);
  EmbeddingMatrix matrix(rows, dimension);
  for (int64_t i = 0; i < rows * dimension; ++i) {
    matrix.mutable_data()[i] = static_cast<float>(random() % 3) - 1;
  }
  return matrix;
}

TEST_CASE("ties are broken by row") {
  ForEachIndex(Integers(kRows, kDimension, 3), [](const Opened& opened) {
    const EmbeddingMatrix queries = Integers(3, kDimension, 4);
    const VectorView rows = opened.rows.view();
    for (const int top_k : {1, 7, 300}) {
      REQUIRE(
          SameLists(Find(opened.index, queries, opened.All(top_k)), Referee(rows, queries, top_k)));
      const SearchOptions options = opened.Options(top_k);
      REQUIRE(IsSound(Find(opened.index, queries, options), rows, queries, options));
    }
  });
}

TEST_CASE("rows that occur by the thousand") {
  const EmbeddingMatrix few = ClusteredRows(5, kDimension, 5);
  EmbeddingMatrix values(kRows, kDimension);
  std::mt19937 random(6);
  for (int64_t i = 0; i < kRows; ++i) {
    const auto row = few.row(i < 1500 ? 0 : random() % 5);
    std::copy(row.begin(), row.end(), values.mutable_row(i).begin());
  }
  ForEachIndex(values, [&](const Opened& opened) {
    const EmbeddingMatrix queries = QueriesNear(few, 4, 7);
    for (const int top_k : {1, 50, limits::kMaxNeighbors}) {
      const auto truth = Referee(opened.rows.view(), queries, top_k);
      REQUIRE(SameLists(Find(opened.index, queries, opened.All(top_k)), truth));
    }
  });
}

// The rows whose scores with the query lie from the share `begin` to the share `end` of all.
std::vector<int64_t> RowsByNearness(const Opened& opened, const EmbeddingMatrix& query,
                                    double begin, double end) {
  const auto lists = Referee(opened.rows.view(), query, kRows);
  std::vector<int64_t> rows;
  for (auto i = static_cast<size_t>(begin * kRows); i < static_cast<size_t>(end * kRows); ++i) {
    rows.push_back(lists[0][i].row);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<int64_t> RandomRows(double share, uint32_t seed) {
  std::mt19937 random(seed);
  std::bernoulli_distribution among(share);
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < kRows; ++row) {
    if (among(random)) rows.push_back(row);
  }
  return rows;
}

TEST_CASE("whoever asks for k rows gets as many as there are, however little effort that is") {
  const EmbeddingMatrix values = ClusteredRows(kRows, kDimension, 1);
  const EmbeddingMatrix queries = QueriesNear(values, 5, 2);
  const RowSet half = BitsOf(RandomRows(0.5, 18), kRows);
  const RowSet few = ListOf(RandomRows(0.01, 19), kRows);
  ForEachIndex(values, [&](const Opened& opened) {
    for (const RowSet* among : {static_cast<const RowSet*>(nullptr), &half, &few}) {
      for (const int top_k : {1, 10, 100, limits::kMaxNeighbors}) {
        SearchOptions options = opened.Options(top_k, among);
        options.effort = 1;
        const NeighborLists found = Find(opened.index, queries, options);
        REQUIRE(IsSound(found, opened.rows.view(), queries, options));
        const int64_t there = among == nullptr ? kRows : among->count();
        for (const auto& list : found) {
          REQUIRE(static_cast<int64_t>(list.size()) == std::min<int64_t>(top_k, there));
        }
      }
    }
  });
}

TEST_CASE("filters of any size, at random, near the query and far from it") {
  const EmbeddingMatrix values = ClusteredRows(kRows, kDimension, 8);
  EmbeddingMatrix all_queries = QueriesNear(values, 6, 9);
  EmbeddingMatrix query(1, kDimension);
  std::copy_n(all_queries.data(), kDimension, query.mutable_data());
  ForEachIndex(values, [&](const Opened& opened) {
    std::vector<std::vector<int64_t>> sets = {
        {}, {0}, {kRows - 1}, {63, 64, 1999}, RandomRows(1, 0)};
    for (const double share : {0.005, 0.02, 0.1, 0.5}) {
      sets.push_back(RandomRows(share, 10));
      sets.push_back(RowsByNearness(opened, query, 0, share));
      sets.push_back(RowsByNearness(opened, query, 1 - share, 1));
    }
    for (const auto& rows : sets) {
      INFO(rows.size() << " rows");
      for (const RowSet& set : {ListOf(rows, kRows), BitsOf(rows, kRows)}) {
        CheckSearches(opened, query, 10, &set);
        CheckSearches(opened, all_queries, 10, &set);
      }
    }
    const RowSet half = BitsOf(RandomRows(0.5, 11), kRows);
    CheckSearches(opened, all_queries, 200, &half);
  });
}

TEST_CASE("a shard of fewer rows than asked for gives what it has, an empty one nothing") {
  for (const int64_t rows : {0, 1, 2, 7}) {
    const EmbeddingMatrix values = ClusteredRows(rows, kDimension, 12);
    ForEachIndex(values, [&](const Opened& opened) {
      for (const int64_t count : {0, 1, 5}) {
        const EmbeddingMatrix queries = QueriesNear(values, count, 13);
        const auto lists = Find(opened.index, queries, opened.All(limits::kMaxNeighbors));
        REQUIRE(SameLists(lists, Referee(opened.rows.view(), queries, limits::kMaxNeighbors)));
        const RowSet none = ListOf({}, rows);
        REQUIRE(SameLists(Find(opened.index, queries, opened.All(5, &none)), NeighborLists(count)));
      }
    });
  }
}

TEST_CASE("rows of one number, of odd ones and of as many as there may be") {
  for (const int dimension : {1, 7, 33, limits::kMaxDimension}) {
    const EmbeddingMatrix values = ClusteredRows(60, dimension, 14);
    const EmbeddingMatrix queries = QueriesNear(values, 3, 15);
    ForEachIndex(values, [&](const Opened& opened) {
      for (const int top_k : {1, 20}) {
        REQUIRE(SameLists(Find(opened.index, queries, opened.All(top_k)),
                          Referee(opened.rows.view(), queries, top_k)));
      }
    });
  }
}

TEST_CASE("infinite, huge and tiny rows are scored as they are, and what is no number not found") {
  EmbeddingMatrix values = ClusteredRows(kRows, kDimension, 16);
  for (int64_t i = 0; i < kRows; ++i) {
    const auto row = values.mutable_row(i);
    if (i % 97 == 3) row[i % kDimension] = std::nanf("");
    if (i % 97 == 5) row[i % kDimension] = i % 2 == 0 ? kInfinity : -kInfinity;
    if (i % 97 == 7) row[0] = kInfinity, row[1] = -kInfinity;
    const int exponents[] = {120, -130, 14, -20};
    if (i % 97 > 90) {
      for (float& x : row) x = std::ldexp(x, exponents[i % 4]);
    }
  }
  const EmbeddingMatrix near = ClusteredRows(kRows, kDimension, 16);
  EmbeddingMatrix queries = QueriesNear(near, 6, 17);
  for (float& x : queries.mutable_row(3)) x = std::ldexp(x, 100);
  for (float& x : queries.mutable_row(4)) x = std::ldexp(x, -120);
  std::fill_n(queries.mutable_row(5).begin(), kDimension, 0.0f);
  const RowSet half = BitsOf(RandomRows(0.5, 18), kRows);
  ForEachIndex(values, [&](const Opened& opened) {
    for (const RowSet* among : {static_cast<const RowSet*>(nullptr), &half}) {
      for (const int top_k : {1, 30, limits::kMaxNeighbors}) {
        const auto truth = Referee(opened.rows.view(), queries, top_k, among);
        REQUIRE(SameLists(Find(opened.index, queries, opened.All(top_k, among)), truth));
        const SearchOptions options = opened.Options(top_k, among);
        REQUIRE(
            IsSound(Find(opened.index, queries, options), opened.rows.view(), queries, options));
      }
    }
  });
}

TEST_CASE("a query finds the same alone, in any batch and on any number of threads") {
  const EmbeddingMatrix values = ClusteredRows(kRows, kDimension, 19);
  const EmbeddingMatrix queries = QueriesNear(values, 9, 20);
  const RowSet some = BitsOf(RandomRows(0.3, 21), kRows);
  ForEachIndex(values, [&](const Opened& opened) {
    for (const RowSet* among : {static_cast<const RowSet*>(nullptr), &some}) {
      const NeighborLists together = Find(opened.index, queries, opened.Options(10, among));
      for (const int threads : {1, 3}) {
        ComputePool pool(threads);
        SearchOptions options = opened.Options(10, among);
        options.pool = &pool;
        REQUIRE(SameLists(Find(opened.index, queries, options), together));
        for (int64_t i = 0; i < queries.rows(); ++i) {
          EmbeddingMatrix query(1, kDimension);
          std::copy_n(queries.row(i).data(), kDimension, query.mutable_data());
          REQUIRE(SameLists(Find(opened.index, query, options), {together[i]}));
        }
      }
    }
  });
}

TEST_CASE("exact kinds over more rows than one block and part has, and more queries than a group") {
  const EmbeddingMatrix values = ClusteredRows(9000, 20, 29);
  const EmbeddingMatrix queries = QueriesNear(values, 70, 30);
  std::vector<int64_t> of_three;
  for (int64_t row = 3000; row < 9000; row += 1 + row / 100 % 5) of_three.push_back(row);
  const RowSet some = BitsOf(of_three, 9000);
  ForEachIndex(
      values,
      [&](const Opened& opened) {
        for (const RowSet* among : {static_cast<const RowSet*>(nullptr), &some}) {
          const auto truth = Referee(opened.rows.view(), queries, 300, among);
          for (const int threads : {1, 3}) {
            ComputePool pool(threads);
            SearchOptions options = opened.Options(300, among);
            options.pool = &pool;
            REQUIRE(SameLists(Find(opened.index, queries, options), truth));
          }
        }
      },
      Wanted::kExactKinds);
}

TEST_CASE("a call that is over ends a search, with its own status") {
  const EmbeddingMatrix values = ClusteredRows(300, kDimension, 22);
  const EmbeddingMatrix queries = QueriesNear(values, 2, 23);
  const RowSet one = ListOf({5}, 300);
  ForEachIndex(values, [&](const Opened& opened) {
    for (const RowSet* among : {static_cast<const RowSet*>(nullptr), &one}) {
      FakeClock clock;
      const CallContext expired(&clock, clock.Now());
      const CallContext cancelled(&clock, absl::InfiniteFuture());
      cancelled.cancellation()->Cancel();
      const SearchOptions options = opened.Options(10, among);
      REQUIRE(absl::IsDeadlineExceeded(opened.index.Search(queries, options, expired).status()));
      REQUIRE(absl::IsCancelled(opened.index.Search(queries, options, cancelled).status()));
    }
  });
}

TEST_CASE("what is no search is refused") {
  const EmbeddingMatrix values = ClusteredRows(300, kDimension, 24);
  const EmbeddingMatrix queries = QueriesNear(values, 2, 25);
  EmbeddingMatrix infinite = queries;
  infinite.mutable_row(1)[0] = kInfinity;
  const RowSet of_others = ListOf({5}, 299);
  ForEachIndex(values, [&](const Opened& opened) {
    const auto refused = [&](const EmbeddingMatrix& asked, const SearchOptions& options) {
      return absl::IsInvalidArgument(
          opened.index.Search(asked, options, CallContext::Unbounded()).status());
    };
    REQUIRE(refused(EmbeddingMatrix(1, kDimension + 1), opened.Options(10)));
    REQUIRE(refused(infinite, opened.Options(10)));
    REQUIRE(refused(queries, opened.Options(0)));
    REQUIRE(refused(queries, opened.Options(limits::kMaxNeighbors + 1)));
    REQUIRE(refused(queries, opened.Options(10, &of_others)));
    for (const int effort : {0, limits::kMaxEffort + 1}) {
      SearchOptions options = opened.Options(10);
      options.effort = effort;
      REQUIRE(refused(queries, options));
    }
  });
}

TEST_CASE("rows that cannot be read fail the search with the reason, and it is well again after") {
  const EmbeddingMatrix values = ClusteredRows(kRows, kDimension, 26);
  const EmbeddingMatrix queries = QueriesNear(values, 3, 27);
  ForEachIndex(values, [&](const Opened& opened) {
    if (opened.reader == nullptr) return;
    auto& reader = const_cast<MemoryReader&>(*opened.reader);
    for (const int calls : {0, 1}) {
      reader.FailAfter(calls);
      const auto lists = opened.index.Search(queries, opened.All(10), CallContext::Unbounded());
      REQUIRE(HasReason(lists.status(), reasons::kReadFailed));
    }
    reader.FailAfter(-1);
    CheckSearches(opened, queries, 10);
  });
}

TEST_CASE("rows on a disk are refused by a kind that needs them in memory") {
  const EmbeddingMatrix values = ClusteredRows(100, kDimension, 28);
  const GappedRows rows(values, Dtype::kFloat32);
  const MemoryReader reader(rows.view());
  for (const KindCase& kind_case : KindCases()) {
    KindShard shard(kind_case, rows.view());
    if (shard.kind().rows_on_disk(shard.manifest().index_spec()) || !shard.Fits()) continue;
    REQUIRE(shard.Build(&Pool()).ok());
    REQUIRE(absl::IsInvalidArgument(shard.Open(reader.view(), &Pool()).status()));
  }
}

}  // namespace
}  // namespace sightline
