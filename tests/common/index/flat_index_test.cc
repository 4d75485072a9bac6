#include "common/index/vector_index.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/limits.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {

// Beside Neighbor, where std::vector's comparison finds it.
inline bool operator==(const Neighbor& a, const Neighbor& b) {
  return a.row == b.row && a.score == b.score;
}

namespace {

using Lists = std::vector<std::vector<Neighbor>>;

// Rows with a gap behind each, filled with NaN so that reading it shows.
struct Stored {
  Stored(int64_t r, int d, int64_t s)
      : rows(r), dimension(d), stride(s), values(r * s, std::nanf("")) {}
  VectorView view() const { return {values.data(), rows, dimension, stride}; }
  float* row(int64_t i) { return values.data() + i * stride; }
  const float* row(int64_t i) const { return values.data() + i * stride; }

  int64_t rows;
  int dimension;
  int64_t stride;
  std::vector<float> values;
};

// Small integers: every product and every sum is exact in fp32, whatever the order of
// addition, and most scores occur many times.
void FillWithIntegers(std::mt19937& random, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(random() % 3) - 1;
}

void FillWithNormals(std::mt19937& random, float* out, int64_t count) {
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < count; ++i) out[i] = normal(random);
}

using Fill = void (*)(std::mt19937&, float*, int64_t);

Stored MakeStored(std::mt19937& random, int64_t rows, int dimension, int64_t stride, Fill fill) {
  Stored stored(rows, dimension, stride);
  for (int64_t i = 0; i < rows; ++i) fill(random, stored.row(i), dimension);
  return stored;
}

EmbeddingMatrix MakeQueries(std::mt19937& random, int64_t rows, int dimension, Fill fill) {
  EmbeddingMatrix queries(rows, dimension);
  fill(random, queries.mutable_data(), rows * dimension);
  return queries;
}

// The referee: all products, in double, sorted.
Lists SearchSlowly(const Stored& stored, const EmbeddingMatrix& queries, int top_k) {
  Lists lists(queries.rows());
  for (int64_t q = 0; q < queries.rows(); ++q) {
    for (int64_t r = 0; r < stored.rows; ++r) {
      double score = 0;
      for (int j = 0; j < stored.dimension; ++j) {
        score += static_cast<double>(queries.row(q)[j]) * stored.row(r)[j];
      }
      lists[q].push_back({r, static_cast<float>(score)});
    }
    std::stable_sort(lists[q].begin(), lists[q].end(),
                     [](const Neighbor& a, const Neighbor& b) { return a.score > b.score; });
    if (lists[q].size() > static_cast<size_t>(top_k)) lists[q].resize(top_k);
  }
  return lists;
}

std::unique_ptr<VectorIndex> Open(const Stored& stored, ComputePool* pool) {
  auto index = OpenFlatIndex(stored.view(), pool);
  REQUIRE(index.ok());
  return *std::move(index);
}

Lists Search(const VectorIndex& index, const EmbeddingMatrix& queries, int top_k) {
  auto lists = index.Search(queries, {top_k}, CallContext::Unbounded());
  REQUIRE(lists.ok());
  return *std::move(lists);
}

EmbeddingMatrix RowsOf(const EmbeddingMatrix& matrix, const std::vector<int64_t>& rows) {
  EmbeddingMatrix chosen(rows.size(), matrix.dimension());
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = matrix.row(rows[i]);
    std::copy(row.begin(), row.end(), chosen.mutable_row(i).begin());
  }
  return chosen;
}

TEST_CASE("exact ties and all: equal to the naive scan on integers") {
  std::mt19937 random(5);
  for (const int threads : {1, 2, 5}) {
    ComputePool pool(threads);
    for (const int dimension : {1, 3, 4, 7, 8, 13, 31, 64}) {
      for (const int64_t rows : {1, 2, 17, 1000}) {
        const Stored stored =
            MakeStored(random, rows, dimension, dimension + random() % 20, FillWithIntegers);
        const auto index = Open(stored, &pool);
        REQUIRE(index->size() == rows);
        REQUIRE(index->dimension() == dimension);
        const EmbeddingMatrix queries =
            MakeQueries(random, 1 + random() % 9, dimension, FillWithIntegers);
        for (const int top_k : {1, 2, 50, limits::kMaxNeighbors}) {
          REQUIRE(Search(*index, queries, top_k) == SearchSlowly(stored, queries, top_k));
        }
      }
    }
  }
}

TEST_CASE("many blocks and parts: equal to the naive scan where the pool splits the rows") {
  std::mt19937 random(6);
  // 16 floats a row make 4096 rows a block.
  const Stored stored = MakeStored(random, 40000, 15, 16, FillWithIntegers);
  for (const int threads : {1, 2, 3}) {
    ComputePool pool(threads);
    const auto index = Open(stored, &pool);
    for (const int64_t count : {1, 4}) {
      const EmbeddingMatrix queries = MakeQueries(random, count, 15, FillWithIntegers);
      for (const int top_k : {1, 300}) {
        REQUIRE(Search(*index, queries, top_k) == SearchSlowly(stored, queries, top_k));
      }
    }
  }
}

TEST_CASE("scores are inner products to the precision of fp32, best first") {
  std::mt19937 random(7);
  ComputePool pool(2);
  for (const int dimension : {5, 100, 768}) {
    const Stored stored = MakeStored(random, 3000, dimension, dimension, FillWithNormals);
    const EmbeddingMatrix queries = MakeQueries(random, 3, dimension, FillWithNormals);
    const Lists lists = Search(*Open(stored, &pool), queries, 20);
    const Lists expected = SearchSlowly(stored, queries, 20);
    for (size_t q = 0; q < lists.size(); ++q) {
      REQUIRE(lists[q].size() == 20);
      for (size_t i = 0; i < 20; ++i) {
        // The order of nearly equal scores may differ from that in double; scores not.
        REQUIRE(lists[q][i].score == Approx(expected[q][i].score).epsilon(1e-5));
        if (i > 0) REQUIRE(lists[q][i - 1].score >= lists[q][i].score);
      }
    }
  }
}

TEST_CASE("a query's answer has the same bits in any batch, pool and stride") {
  std::mt19937 random(8);
  constexpr int kDimension = 77;
  const Stored stored = MakeStored(random, 5000, kDimension, kDimension, FillWithNormals);
  Stored spread(5000, kDimension, kDimension + 19);
  for (int64_t i = 0; i < 5000; ++i) {
    std::copy(stored.row(i), stored.row(i) + kDimension, spread.row(i));
  }
  const EmbeddingMatrix queries = MakeQueries(random, 40, kDimension, FillWithNormals);
  ComputePool lone(1);
  const Lists reference = Search(*Open(stored, &lone), queries, 30);
  for (const int threads : {1, 2, 7, 16}) {
    ComputePool pool(threads);
    const auto index = Open(stored, &pool);
    REQUIRE(Search(*index, queries, 30) == reference);
    REQUIRE(Search(*Open(spread, &pool), queries, 30) == reference);
    for (int round = 0; round < 20; ++round) {
      std::vector<int64_t> rows(1 + random() % 5);
      for (int64_t& row : rows) row = static_cast<int64_t>(random() % 40);
      const Lists lists = Search(*index, RowsOf(queries, rows), 30);
      for (size_t i = 0; i < rows.size(); ++i) REQUIRE(lists[i] == reference[rows[i]]);
    }
  }
}

TEST_CASE("a smaller top_k gives the beginning of a larger one's list") {
  std::mt19937 random(9);
  ComputePool pool(3);
  const Stored stored = MakeStored(random, 9000, 6, 6, FillWithIntegers);
  const auto index = Open(stored, &pool);
  const EmbeddingMatrix queries = MakeQueries(random, 5, 6, FillWithIntegers);
  const Lists all = Search(*index, queries, limits::kMaxNeighbors);
  for (const int top_k : {1, 7, 99}) {
    Lists some = all;
    for (auto& list : some) list.resize(top_k);
    REQUIRE(Search(*index, queries, top_k) == some);
  }
}

TEST_CASE("an index with fewer rows than asked gives what it has, an empty one nothing") {
  ComputePool pool(2);
  std::mt19937 random(10);
  const EmbeddingMatrix queries = MakeQueries(random, 3, 4, FillWithIntegers);
  const Stored three = MakeStored(random, 3, 4, 4, FillWithIntegers);
  for (const auto& list : Search(*Open(three, &pool), queries, 10)) REQUIRE(list.size() == 3);
  auto empty = OpenFlatIndex({nullptr, 0, 4, 4}, &pool);
  REQUIRE(empty.ok());
  REQUIRE(Search(**empty, queries, 10) == Lists(3));
  REQUIRE(Search(**empty, EmbeddingMatrix(0, 4), 10).empty());
}

TEST_CASE("a stored NaN spoils its own row only") {
  ComputePool pool(2);
  Stored stored(4, 2, 2);
  for (int64_t i = 0; i < 4; ++i) {
    stored.row(i)[0] = static_cast<float>(i);
    stored.row(i)[1] = 0;
  }
  stored.row(1)[1] = std::nanf("");
  stored.row(2)[0] = std::numeric_limits<float>::infinity();
  EmbeddingMatrix query(1, 2);
  query.mutable_row(0)[0] = -1;
  const Lists lists = Search(*Open(stored, &pool), query, 10);
  REQUIRE(lists[0].size() == 3);
  REQUIRE(lists[0][0].row == 0);
  REQUIRE(lists[0][1].row == 3);
  REQUIRE(lists[0][2].row == 2);
  REQUIRE(lists[0][2].score == -std::numeric_limits<float>::infinity());
}

TEST_CASE("bad queries are refused with the numbers that are wrong") {
  ComputePool pool(1);
  const Stored stored(2, 4, 4);
  const auto index = Open(stored, &pool);
  const CallContext call = CallContext::Unbounded();
  const absl::Status dimension = index->Search(EmbeddingMatrix(1, 5), {10}, call).status();
  REQUIRE(dimension.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(std::string(dimension.message()).find("dimension 5, the index has 4") !=
          std::string::npos);
  for (const int top_k : {-1, 0, limits::kMaxNeighbors + 1}) {
    REQUIRE(index->Search(EmbeddingMatrix(1, 4), {top_k}, call).status().code() ==
            absl::StatusCode::kInvalidArgument);
  }
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    EmbeddingMatrix queries(2, 4);
    queries.mutable_row(1)[3] = bad;
    REQUIRE(index->Search(queries, {10}, call).status().code() ==
            absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("a view that is not a matrix is refused") {
  ComputePool pool(1);
  const std::vector<float> data(16);
  const VectorView good = {data.data(), 2, 4, 8};
  REQUIRE(OpenFlatIndex(good, &pool).ok());
  std::vector<VectorView> bad(7, good);
  bad[0].data = nullptr;
  bad[1].rows = -1;
  bad[2].dimension = 0;
  bad[3].dimension = -4;
  bad[4].stride = 3;
  bad[5].rows = std::numeric_limits<int64_t>::max() / 8;
  bad[6].data = reinterpret_cast<const float*>(reinterpret_cast<const char*>(data.data()) + 1);
  for (const VectorView& view : bad) {
    REQUIRE(OpenFlatIndex(view, &pool).status().code() == absl::StatusCode::kInvalidArgument);
  }
  REQUIRE(OpenFlatIndex(good, nullptr).status().code() == absl::StatusCode::kInvalidArgument);
}

// Every look at it lets a millisecond pass and may cancel the call.
class TickingClock : public FakeClock {
 public:
  absl::Time Now() override {
    const int tick = ++ticks_;
    if (tick == cancel_at) cancellation->Cancel();
    return absl::UnixEpoch() + absl::Milliseconds(tick);
  }

  int cancel_at = 0;
  std::shared_ptr<Cancellation> cancellation = std::make_shared<Cancellation>();

  int ticks() const { return ticks_; }

 private:
  std::atomic<int> ticks_{0};
};

TEST_CASE("no index is opened under a limit of the CPU that there is not") {
  ComputePool pool(1);
  const float number = 1;
  const char* const found = std::getenv("SIGHTLINE_CPU");
  const std::string before = found == nullptr ? "" : found;
  setenv("SIGHTLINE_CPU", "avx3", /*overwrite=*/1);
  const absl::Status status = OpenFlatIndex({&number, 1, 1, 1}, &pool).status();
  setenv("SIGHTLINE_CPU", before.c_str(), /*overwrite=*/1);
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(OpenFlatIndex({&number, 1, 1, 1}, &pool).ok());
}

TEST_CASE("a call that ends stops the scan between blocks") {
  std::mt19937 random(12);
  const Stored stored =
      MakeStored(random, 100, 1 << 16, 1 << 16, FillWithIntegers);  // one row a block
  const EmbeddingMatrix queries = MakeQueries(random, 2, 1 << 16, FillWithIntegers);
  for (const int threads : {1, 3}) {
    ComputePool pool(threads);
    const auto index = Open(stored, &pool);
    TickingClock expiring;
    const CallContext late(&expiring, absl::UnixEpoch() + absl::Milliseconds(20));
    REQUIRE(index->Search(queries, {5}, late).status().code() ==
            absl::StatusCode::kDeadlineExceeded);
    REQUIRE(expiring.ticks() < 50);
    TickingClock cancelling;
    cancelling.cancel_at = 20;
    const CallContext gone(&cancelling, absl::InfiniteFuture(), cancelling.cancellation);
    REQUIRE(index->Search(queries, {5}, gone).status().code() == absl::StatusCode::kCancelled);
    REQUIRE(cancelling.ticks() < 50);
  }
}

TEST_CASE("a call that has ended is not begun") {
  ComputePool pool(1);
  const Stored stored(2, 4, 4);
  const auto index = Open(stored, &pool);
  FakeClock clock;
  REQUIRE(
      index->Search(EmbeddingMatrix(1, 4), {1}, CallContext(&clock, clock.Now())).status().code() ==
      absl::StatusCode::kDeadlineExceeded);
}

TEST_CASE("many threads may search one index") {
  std::mt19937 random(13);
  ComputePool pool(3);
  const Stored stored = MakeStored(random, 20000, 12, 16, FillWithNormals);
  const auto index = Open(stored, &pool);
  const EmbeddingMatrix queries = MakeQueries(random, 8, 12, FillWithNormals);
  const Lists expected = Search(*index, queries, 40);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&, c] {
      for (int round = 0; round < 10; ++round) {
        const std::vector<int64_t> rows = {c, (c + round) % 8};
        const auto lists = index->Search(RowsOf(queries, rows), {40}, CallContext::Unbounded());
        if (!lists.ok() || !((*lists)[0] == expected[rows[0]]) ||
            !((*lists)[1] == expected[rows[1]])) {
          ++wrong;
        }
      }
    });
  }
  for (auto& caller : callers) caller.join();
  REQUIRE(wrong == 0);
}

TEST_CASE("many threads may search one index from its first batch on") {
  std::mt19937 random(14);
  ComputePool pool(3);
  const Stored stored = MakeStored(random, 8000, 24, 24, FillWithNormals);
  const auto index = Open(stored, &pool);
  const EmbeddingMatrix queries = MakeQueries(random, 6, 24, FillWithNormals);
  std::vector<Lists> found(4);
  std::vector<std::thread> callers;
  for (Lists& own : found) {
    callers.emplace_back([&] {
      auto lists = index->Search(queries, {30}, CallContext::Unbounded());
      if (lists.ok()) own = *std::move(lists);
    });
  }
  for (auto& caller : callers) caller.join();
  for (size_t q = 0; q < 6; ++q) {
    const Lists alone = Search(*index, RowsOf(queries, {static_cast<int64_t>(q)}), 30);
    for (const Lists& own : found) REQUIRE(own.at(q) == alone[0]);
  }
}

}  // namespace
}  // namespace sightline
