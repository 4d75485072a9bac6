#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/limits.h"
#include "common/index/row_scores.h"
#include "common/index/vector_index.h"
#include "tests/common/index/ivf_shard.h"
#include "tests/support/allocations.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace sightline {

// Beside Neighbor, where std::vector's comparison finds it.
inline bool operator==(const Neighbor& a, const Neighbor& b) {
  return a.row == b.row && a.score == b.score;
}

namespace {

using Lists = std::vector<std::vector<Neighbor>>;

// "rabitq/axes": of two bits along four axes for five dimensions.
const char* const kCodes[] = {"rows", "int8", "pq4", "rabitq", "rabitq/axes"};

// An index with all that it lies over.
struct Shard {
  Shard(IvfRows stored_rows, int dimension, const std::string& code, int lists, int threads = 1,
        bool on_disk = false, int refine = 8)
      : rows(std::move(stored_rows)),
        manifest(IvfManifest(rows.rows(), dimension, code, lists, refine)),
        pool(threads) {
    const VectorView view = on_disk ? rows.view_on_disk() : rows.view();
    const absl::Status built = BuildIvfShard(dir.path(), view, &pool, &manifest);
    if (!built.ok()) FAIL(built.ToString());
    auto opened = OpenIvfShard(dir.path(), manifest, view, &pool);
    if (!opened.ok()) FAIL(opened.status().ToString());
    index = *std::move(opened);
  }

  Lists Search(const EmbeddingMatrix& queries, const SearchOptions& options) const {
    auto lists = index->Search(queries, options, CallContext::Unbounded());
    if (!lists.ok()) FAIL(lists.status().ToString());
    return *std::move(lists);
  }

  TempDir dir;
  IvfRows rows;
  bundle::v1::GenerationManifest manifest;
  ComputePool pool;
  std::unique_ptr<VectorIndex> index;
};

// The referee: the best of all rows that may be found.
std::vector<Neighbor> SearchSlowly(const VectorView& rows, const float* query, int top_k,
                                   const RowSet* among = nullptr) {
  std::vector<Neighbor> all;
  for (int64_t row = 0; row < rows.rows; ++row) {
    if (among != nullptr && !among->Contains(row)) continue;
    const float score = RowScore(rows, query, row);
    if (!std::isnan(score)) all.push_back({row, score});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Neighbor& a, const Neighbor& b) { return a.score > b.score; });
  if (all.size() > static_cast<size_t>(top_k)) all.resize(top_k);
  return all;
}

Lists SearchSlowly(const VectorView& rows, const EmbeddingMatrix& queries, int top_k,
                   const RowSet* among = nullptr) {
  Lists lists;
  for (int64_t q = 0; q < queries.rows(); ++q) {
    lists.push_back(SearchSlowly(rows, queries.row(q).data(), top_k, among));
  }
  return lists;
}

double Recall(const Lists& found, const Lists& truth) {
  double hits = 0, wanted = 0;
  for (size_t q = 0; q < truth.size(); ++q) {
    for (const Neighbor& neighbor : truth[q]) {
      hits += static_cast<double>(std::count(found[q].begin(), found[q].end(), neighbor));
    }
    wanted += static_cast<double>(truth[q].size());
  }
  return hits / wanted;
}

// Every list is in order, of different rows, with the scores that the rows have.
void CheckLists(const Lists& lists, const VectorView& rows, const EmbeddingMatrix& queries,
                const RowSet* among = nullptr) {
  for (size_t q = 0; q < lists.size(); ++q) {
    std::vector<int64_t> seen;
    for (size_t i = 0; i < lists[q].size(); ++i) {
      const Neighbor& neighbor = lists[q][i];
      REQUIRE(neighbor.score == RowScore(rows, queries.row(q).data(), neighbor.row));
      if (among != nullptr) REQUIRE(among->Contains(neighbor.row));
      seen.push_back(neighbor.row);
      if (i == 0) continue;
      const Neighbor& before = lists[q][i - 1];
      REQUIRE((before.score > neighbor.score ||
               (before.score == neighbor.score && before.row < neighbor.row)));
    }
    std::sort(seen.begin(), seen.end());
    REQUIRE(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
  }
}

RowSet Some(int64_t universe, const std::vector<int64_t>& rows, bool as_list) {
  if (as_list) return RowSet::OfRows({rows.begin(), rows.end()}, universe);
  std::vector<uint64_t> words((universe + 63) / 64);
  for (const int64_t row : rows) words[row / 64] |= uint64_t{1} << row % 64;
  return RowSet::OfBits(std::move(words), universe);
}

std::vector<int64_t> Strewn(int64_t universe, int one_of, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < universe; ++row) {
    if (random() % one_of == 0) rows.push_back(row);
  }
  return rows;
}

TEST_CASE("more effort finds more, and all effort finds everything, in every code") {
  constexpr int kDimension = 96;
  const std::vector<float> values = ClusteredRows(6000, kDimension, 2);
  const EmbeddingMatrix queries = QueriesOf(ClusteredRows(40, kDimension, 3), kDimension);
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16}) {
    const IvfRows rows(values, kDimension, dtype);
    const Lists truth = SearchSlowly(rows.view(), queries, 10);
    for (const std::string code : kCodes) {
      const Shard shard(rows, kDimension, code, 64);
      double before = 0;
      for (const int effort : {1, 8, 40}) {
        const Lists found = shard.Search(queries, {10, nullptr, effort});
        CheckLists(found, rows.view(), queries);
        const double recall = Recall(found, truth);
        REQUIRE(recall >= before);
        before = recall;
        REQUIRE(!shard.index->IsExact({10, nullptr, effort}));
      }
      REQUIRE(before > 0.95);
      for (const int effort : {64, 65, limits::kMaxEffort}) {
        REQUIRE(shard.index->IsExact({10, nullptr, effort}));
        REQUIRE(shard.Search(queries, {10, nullptr, effort}) == truth);
      }
      REQUIRE(shard.Search(queries, {1000, nullptr, 64}) ==
              SearchSlowly(rows.view(), queries, 1000));
    }
  }
}

TEST_CASE("a query has the same answer alone, in any batch and on any number of threads") {
  constexpr int kDimension = 48;
  const std::vector<float> values = ClusteredRows(40000, kDimension, 4);
  const EmbeddingMatrix queries = QueriesOf(ClusteredRows(9, kDimension, 5), kDimension);
  const RowSet among = Some(40000, Strewn(40000, 3, 6), false);
  for (const std::string code : kCodes) {
    // Of 32 lists those of one query are more than one thread's work.
    const Shard shard(IvfRows(values, kDimension), kDimension, code, 32);
    for (const RowSet* filter : {static_cast<const RowSet*>(nullptr), &among}) {
      SearchOptions options = {20, nullptr, 31, filter};
      const Lists together = shard.Search(queries, options);
      for (const int threads : {1, 2, 3}) {
        ComputePool pool(threads);
        options.pool = &pool;
        REQUIRE(shard.Search(queries, options) == together);
        for (int64_t q = 0; q < queries.rows(); ++q) {
          EmbeddingMatrix one(1, kDimension);
          std::copy(queries.row(q).begin(), queries.row(q).end(), one.mutable_row(0).begin());
          REQUIRE(shard.Search(one, options)[0] == together[q]);
        }
      }
    }
  }
}

TEST_CASE("rows on a disk are found like rows in memory") {
  constexpr int kDimension = 64;
  const std::vector<float> values = ClusteredRows(3000, kDimension, 7);
  const EmbeddingMatrix queries = QueriesOf(ClusteredRows(20, kDimension, 8), kDimension);
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16}) {
    const IvfRows rows(values, kDimension, dtype);
    for (const std::string code : {"int8", "pq4", "rabitq", "rabitq/axes"}) {
      const Shard memory(rows, kDimension, code, 20);
      const Shard disk(rows, kDimension, code, 20, 1, /*on_disk=*/true);
      for (const int effort : {3, 20}) {
        REQUIRE(disk.Search(queries, {10, nullptr, effort}) ==
                memory.Search(queries, {10, nullptr, effort}));
      }
    }
  }
}

TEST_CASE("code rows refuses rows on a disk, in the spec and when it is opened") {
  const IvfRows rows(ClusteredRows(100, 8, 1), 8);
  auto manifest = IvfManifest(100, 8, "rows", 4);
  REQUIRE(IvfKind().check(manifest.index_spec(), 8).ok());
  const TempDir dir;
  ComputePool pool(1);
  REQUIRE(BuildIvfShard(dir.path(), rows.view(), &pool, &manifest).ok());
  REQUIRE(absl::IsInvalidArgument(
      OpenIvfShard(dir.path(), manifest, rows.view_on_disk(), &pool).status()));
  manifest.mutable_index_spec()->set_rows_on_disk(true);
  REQUIRE(absl::IsInvalidArgument(IvfKind().check(manifest.index_spec(), 8)));
}

TEST_CASE("a filter's rows alone are found, broad or narrow, as bits or as a list") {
  constexpr int kDimension = 64;
  constexpr int64_t kRows = 20000;
  const IvfRows rows(ClusteredRows(kRows, kDimension, 9), kDimension);
  const EmbeddingMatrix queries = QueriesOf(ClusteredRows(30, kDimension, 10), kDimension);
  for (const std::string code : kCodes) {
    const Shard shard(rows, kDimension, code, 100);
    for (const int one_of : {2, 10, 100, 3000}) {
      const std::vector<int64_t> chosen = Strewn(kRows, one_of, one_of);
      const RowSet bits = Some(kRows, chosen, false), list = Some(kRows, chosen, true);
      const SearchOptions options = {10, nullptr, 20, &bits};
      const Lists found = shard.Search(queries, options);
      CheckLists(found, rows.view(), queries, &bits);
      const Lists truth = SearchSlowly(rows.view(), queries, 10, &bits);
      REQUIRE(Recall(found, truth) > 0.9);
      if (shard.index->IsExact(options)) REQUIRE(found == truth);
      REQUIRE(shard.Search(queries, {10, nullptr, 20, &list}) == found);
    }
    // Of a thousandth, all are scored.
    const RowSet few = Some(kRows, Strewn(kRows, 3000, 1), true);
    REQUIRE(few.count() > 0);
    REQUIRE(few.count() <= kRows / 1000);
    REQUIRE(shard.index->IsExact({10, nullptr, 1, &few}));
    const RowSet none = Some(kRows, {}, true);
    for (const auto& neighbors : shard.Search(queries, {10, nullptr, 1, &none})) {
      REQUIRE(neighbors.empty());
    }
  }
}

TEST_CASE("the rows of a filter that are all scored are not copied") {
  constexpr int kDimension = 2;
  constexpr int64_t kRows = 300000;
  const Shard shard(IvfRows(ClusteredRows(kRows, kDimension, 2), kDimension), kDimension, "rows",
                    /*lists=*/4, /*threads=*/2);
  const EmbeddingMatrix query = QueriesOf(ClusteredRows(1, kDimension, 3), kDimension);
  const RowSet bits = Some(kRows, Strewn(kRows, 2, 4), false);
  for (const RowSet* among : {&bits, static_cast<const RowSet*>(nullptr)}) {
    const SearchOptions options = {10, nullptr, /*effort=*/4, among};
    REQUIRE(shard.index->IsExact(options));
    const PeakAllocation peak;
    const Lists found = shard.Search(query, options);
    REQUIRE(peak.bytes() < kRows * int64_t{sizeof(int64_t)} / 2);
    REQUIRE(found[0] == SearchSlowly(shard.rows.view(), query.row(0).data(), 10, among));
  }
}

// Tags that lie all where a query does not look first: it has to go on until it has found enough.
TEST_CASE("a filter whose rows lie far from the query is searched as far as they are") {
  constexpr int kDimension = 32;
  constexpr int64_t kRows = 20000;
  const IvfRows rows(ClusteredRows(kRows, kDimension, 12), kDimension);
  const EmbeddingMatrix queries = QueriesOf(ClusteredRows(10, kDimension, 13), kDimension);
  for (const std::string code : kCodes) {
    const Shard shard(rows, kDimension, code, 100, 1, false,
                      /*refine=*/40);
    double recall = 0;
    for (int64_t q = 0; q < queries.rows(); ++q) {
      EmbeddingMatrix query(1, kDimension);
      std::copy(queries.row(q).begin(), queries.row(q).end(), query.mutable_row(0).begin());
      // A tenth of all rows, around one that is among the worst.
      const auto ranked = SearchSlowly(rows.view(), query.row(0).data(), kRows);
      const float* const worst = rows.view().float_row(ranked[kRows - 100].row);
      std::vector<int64_t> far;
      for (const Neighbor& neighbor : SearchSlowly(rows.view(), worst, kRows / 10)) {
        far.push_back(neighbor.row);
      }
      std::sort(far.begin(), far.end());
      const RowSet among = Some(kRows, far, false);
      const SearchOptions options = {10, nullptr, 25, &among};
      const Lists found = shard.Search(query, options);
      CheckLists(found, rows.view(), query, &among);
      REQUIRE(found[0].size() == 10);
      recall += Recall(found, {SearchSlowly(rows.view(), query.row(0).data(), 10, &among)});
      // How long the query is tells nothing of how far to look.
      for (float& number : query.mutable_row(0)) number /= 1024;
      const Lists scaled = shard.Search(query, options);
      for (size_t i = 0; i < 10; ++i) REQUIRE(scaled[0][i].row == found[0][i].row);
    }
    REQUIRE(recall / 10 > 0.9);
  }
}

TEST_CASE("any dimension, any number of lists, shards of no row, one row and few rows") {
  std::mt19937 random(14);
  for (const std::string code : kCodes) {
    for (const int dimension : {1, 2, 3, 7, 31, 33, 65, 100, 257}) {
      for (const int64_t count : {0, 1, 2, 5, 70}) {
        const Shard shard(IvfRows(ClusteredRows(count, dimension, 15), dimension), dimension, code,
                          1 + static_cast<int>(random() % 40), 1 + random() % 2);
        REQUIRE(shard.index->size() == count);
        REQUIRE(shard.index->dimension() == dimension);
        REQUIRE(shard.manifest.shards(0).index_files_size() == (count == 0 ? 0 : 1));
        const EmbeddingMatrix queries = QueriesOf(ClusteredRows(3, dimension, 16), dimension);
        const Lists truth = SearchSlowly(shard.rows.view(), queries, 100);
        REQUIRE(shard.Search(queries, {100, nullptr, 40}) == truth);
        const Lists found = shard.Search(queries, {3, nullptr, 1});
        CheckLists(found, shard.rows.view(), queries);
      }
    }
  }
}

TEST_CASE("thousands of equal rows: the first ones are found, in order") {
  constexpr int kDimension = 24;
  std::vector<float> values;
  const std::vector<float> row = ClusteredRows(1, kDimension, 17);
  for (int i = 0; i < 3000; ++i) values.insert(values.end(), row.begin(), row.end());
  const EmbeddingMatrix queries = QueriesOf(row, kDimension);
  for (const std::string code : kCodes) {
    const Shard shard(IvfRows(values, kDimension), kDimension, code, 10);
    const Lists found = shard.Search(queries, {20, nullptr, 1});
    REQUIRE(found == SearchSlowly(shard.rows.view(), queries, 20));
  }
}

TEST_CASE("longer lists and filters are told to take longer, most where rows lie on a disk") {
  constexpr int kDimension = 16;
  const IvfRows rows(ClusteredRows(3000, kDimension, 8), kDimension);
  const Shard memory(rows, kDimension, "int8", 30);
  const Shard disk(rows, kDimension, "int8", 30, 1, /*on_disk=*/true);
  const auto work = [](const Shard& shard, int top_k, const RowSet* among = nullptr) {
    SearchOptions options;
    options.top_k = top_k;
    options.effort = 10;
    options.among = among;
    return shard.index->WorkOf(options);
  };
  CHECK(work(memory, 10) == Approx(1));
  CHECK(work(memory, 1000) > 2);
  CHECK(work(disk, 10) == Approx(1));
  CHECK(work(disk, 1000) > 50);
  std::vector<uint64_t> words((3000 + 63) / 64, 0x1111111111111111);
  words.back() &= (uint64_t{1} << 3000 % 64) - 1;
  const RowSet quarter = RowSet::OfBits(words, 3000);
  CHECK(work(memory, 10, &quarter) > 1.2);
  CHECK(work(memory, 10, &quarter) < 3);
  // Lists of rows are scored as they are looked into.
  CHECK(work(Shard(rows, kDimension, "rows", 30), 1000) == Approx(1));
}

TEST_CASE("rows with a NaN, an infinity or huge numbers spoil no other") {
  constexpr int kDimension = 40;
  constexpr int64_t kRows = 2000;
  std::vector<float> values = ClusteredRows(kRows, kDimension, 18);
  const float bad[] = {std::nanf(""),
                       std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity(),
                       3e38f,
                       -3e38f,
                       1e30f};
  std::vector<bool> spoilt(kRows);
  for (int64_t row = 0; row < kRows; row += 9) {
    values[row * kDimension + row % kDimension] = bad[row / 9 % 6];
    spoilt[row] = true;
  }
  const EmbeddingMatrix queries = QueriesOf(ClusteredRows(20, kDimension, 19), kDimension);
  std::vector<int64_t> sound;
  for (int64_t row = 0; row < kRows; ++row) {
    if (!spoilt[row]) sound.push_back(row);
  }
  const RowSet among = Some(kRows, sound, false);
  for (const std::string code : kCodes) {
    const Shard shard(IvfRows(values, kDimension), kDimension, code, 16);
    // With all effort every row is scored as it is.
    REQUIRE(shard.Search(queries, {50, nullptr, 16}) ==
            SearchSlowly(shard.rows.view(), queries, 50));
    const SearchOptions options = {10, nullptr, 12, &among};
    const Lists found = shard.Search(queries, options);
    CheckLists(found, shard.rows.view(), queries, &among);
    REQUIRE(Recall(found, SearchSlowly(shard.rows.view(), queries, 10, &among)) > 0.9);
    for (const auto& neighbors : shard.Search(queries, {10, nullptr, 12})) {
      REQUIRE(neighbors.size() == 10);
      for (const Neighbor& neighbor : neighbors) REQUIRE(!std::isnan(neighbor.score));
    }
  }
}

TEST_CASE("queries of any length: their scores are long or short, and their rows the same") {
  constexpr int kDimension = 64;
  const IvfRows rows(ClusteredRows(3000, kDimension, 20), kDimension);
  const EmbeddingMatrix queries = QueriesOf(ClusteredRows(10, kDimension, 21), kDimension);
  for (const std::string code : kCodes) {
    const Shard shard(rows, kDimension, code, 30);
    const Lists found = shard.Search(queries, {5, nullptr, 10});
    for (const float factor : {0x1p60f, 0x1p-40f}) {
      EmbeddingMatrix scaled = queries;
      for (int64_t i = 0; i < 10 * kDimension; ++i) scaled.mutable_data()[i] *= factor;
      const Lists again = shard.Search(scaled, {5, nullptr, 10});
      for (size_t q = 0; q < found.size(); ++q) {
        for (size_t i = 0; i < found[q].size(); ++i) {
          REQUIRE(again[q][i].row == found[q][i].row);
          REQUIRE(again[q][i].score == found[q][i].score * factor);
        }
      }
    }
    // All scores of a query of zeros are equal.
    EmbeddingMatrix zero(1, kDimension);
    const Lists nothing = shard.Search(zero, {5, nullptr, 10});
    REQUIRE(nothing[0].size() == 5);
    CheckLists(nothing, rows.view(), zero);
  }
}

TEST_CASE("what it keeps in memory is told before it is opened") {
  for (const std::string code : kCodes) {
    for (const int lists : {7, 600}) {
      const Shard shard(IvfRows(ClusteredRows(2000, 50, 22), 50), 50, code, lists);
      REQUIRE(shard.index->byte_count() == IvfKind().footprint(shard.manifest, 0));
      REQUIRE(shard.index->byte_count() > 0);
      REQUIRE(IvfKind().build_memory(shard.manifest, 0, 1) > shard.index->byte_count());
    }
  }
  auto manifest = IvfManifest(std::numeric_limits<int64_t>::max(), 4096, "int8", 100);
  REQUIRE(IvfKind().footprint(manifest, 0) == std::numeric_limits<int64_t>::max());
  REQUIRE(IvfKind().build_memory(manifest, 0, 1) == std::numeric_limits<int64_t>::max());
}

TEST_CASE("many lists are ranked by codes first, and few of the nearest are missed") {
  constexpr int kDimension = 64;
  const IvfRows rows(ClusteredRows(12000, kDimension, 23, /*clusters=*/500), kDimension);
  const EmbeddingMatrix queries = QueriesOf(ClusteredRows(40, kDimension, 24, 500), kDimension);
  const Shard shard(rows, kDimension, "rows", 1500);
  const Lists truth = SearchSlowly(rows.view(), queries, 10);
  REQUIRE(Recall(shard.Search(queries, {10, nullptr, 60}), truth) > 0.95);
}

TEST_CASE("bad searches and calls that are over are refused") {
  const Shard shard(IvfRows(ClusteredRows(500, 16, 25), 16), 16, "rabitq", 10);
  const EmbeddingMatrix queries(2, 16);
  const auto status = [&](const EmbeddingMatrix& asked, const SearchOptions& options) {
    return shard.index->Search(asked, options, CallContext::Unbounded()).status();
  };
  REQUIRE(absl::IsInvalidArgument(status(EmbeddingMatrix(1, 15), {10, nullptr, 2})));
  REQUIRE(absl::IsInvalidArgument(status(queries, {0, nullptr, 2})));
  REQUIRE(absl::IsInvalidArgument(status(queries, {10, nullptr, 0})));
  const RowSet other = Some(499, {1}, true);
  REQUIRE(absl::IsInvalidArgument(status(queries, {10, nullptr, 2, &other})));
  REQUIRE(status(EmbeddingMatrix(0, 16), {10, nullptr, 2}).ok());
  FakeClock clock;
  const CallContext over(&clock, clock.Now());
  for (const int effort : {2, 10}) {
    REQUIRE(absl::IsDeadlineExceeded(
        shard.index->Search(queries, {10, nullptr, effort}, over).status()));
  }
}

TEST_CASE("many threads may search one index") {
  constexpr int kDimension = 32;
  const EmbeddingMatrix queries = QueriesOf(ClusteredRows(8, kDimension, 26), kDimension);
  for (const std::string code : kCodes) {
    const Shard shard(IvfRows(ClusteredRows(4000, kDimension, 27), kDimension), kDimension, code,
                      40, 2);
    const Lists expected = shard.Search(queries, {10, nullptr, 9});
    std::vector<Lists> found(4);
    std::vector<std::thread> callers;
    for (Lists& own : found) {
      callers.emplace_back([&] {
        auto lists = shard.index->Search(queries, {10, nullptr, 9}, CallContext::Unbounded());
        if (lists.ok()) own = *std::move(lists);
      });
    }
    for (auto& caller : callers) caller.join();
    for (const Lists& own : found) REQUIRE(own == expected);
  }
}

TEST_CASE("parameters that are none are refused with what to change") {
  const auto good = IvfManifest(100, 32, "pq4", 8).index_spec();
  REQUIRE(IvfKind().check(good, 32).ok());
  std::vector<bundle::v1::IndexSpec> bad(8, good);
  bad[0].clear_ivf();
  bad[1].mutable_ivf()->set_list_count(0);
  bad[2].mutable_ivf()->set_list_count(limits::kMaxIndexLists + 1);
  bad[3].mutable_ivf()->set_code("pq8");
  bad[4].mutable_ivf()->set_pq_parts(33);
  bad[5].mutable_ivf()->set_pq_parts(0);
  bad[6].mutable_ivf()->set_refine(1001);
  bad[7].mutable_ivf()->set_code("int8");  // which has no parts
  for (const auto& spec : bad) REQUIRE(absl::IsInvalidArgument(IvfKind().check(spec, 32)));
  auto rows = IvfManifest(100, 32, "rows", 8, 0).index_spec();
  REQUIRE(IvfKind().check(rows, 32).ok());
  auto bits = good;
  bits.mutable_ivf()->set_code("rabitq");
  bits.mutable_ivf()->set_pq_parts(0);
  REQUIRE(IvfKind().check(bits, 32).ok());
  // More than two bits a number would be the same index.
  for (const int dimension : {1, 2, 31, 32}) {
    const int most = (dimension + 1) / 2;
    bits.mutable_ivf()->set_pq_parts(most);
    REQUIRE(IvfKind().check(bits, dimension).ok());
    bits.mutable_ivf()->set_pq_parts(most + 1);
    const absl::Status refused = IvfKind().check(bits, dimension);
    REQUIRE(absl::IsInvalidArgument(refused));
    REQUIRE_THAT(std::string(refused.message()),
                 Catch::Contains("of rabitq from 0 to " + std::to_string(most)));
  }
  rows.mutable_ivf()->set_refine(1);
  REQUIRE(IvfKind().check(rows, 32).ok());
  rows.mutable_ivf()->set_refine(2);
  REQUIRE_THAT(std::string(IvfKind().check(rows, 32).message()),
               Catch::Contains("leave refine out"));
  rows.mutable_ivf()->set_refine(0);
  rows.mutable_ivf()->set_code("int8");
  REQUIRE(absl::IsInvalidArgument(IvfKind().check(rows, 32)));
}

}  // namespace
}  // namespace sightline
