// Many queries at once against each alone: the lists must be the same to the bit.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "common/base/compute_pool.h"
#include "common/base/limits.h"
#include "common/index/vector_index.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Lists = std::vector<std::vector<Neighbor>>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Rows with a gap behind each, filled with NaN so that reading it shows.
struct Stored {
  Stored(int64_t r, int d, int64_t gap = 0)
      : rows(r), dimension(d), stride(d + gap), values(r * stride, std::nanf("")) {}
  VectorView view() const { return {values.data(), rows, dimension, stride}; }
  absl::Span<float> row(int64_t i) { return absl::MakeSpan(values).subspan(i * stride, dimension); }

  int64_t rows;
  int dimension;
  int64_t stride;
  std::vector<float> values;
};

void FillWithNormals(std::mt19937& random, absl::Span<float> row) {
  std::normal_distribution<float> normal;
  for (float& x : row) x = normal(random);
}

EmbeddingMatrix Queries(std::mt19937& random, int64_t count, int dimension) {
  EmbeddingMatrix queries(count, dimension);
  for (int64_t i = 0; i < count; ++i) FillWithNormals(random, queries.mutable_row(i));
  return queries;
}

Lists Search(const VectorIndex& index, const EmbeddingMatrix& queries, int top_k,
             ComputePool* pool) {
  auto lists = index.Search(queries, {top_k, pool}, CallContext::Unbounded());
  REQUIRE(lists.ok());
  return *std::move(lists);
}

// Each query alone.
Lists SearchEach(const VectorIndex& index, const EmbeddingMatrix& queries, int top_k,
                 ComputePool* pool) {
  Lists lists;
  for (int64_t i = 0; i < queries.rows(); ++i) {
    EmbeddingMatrix query(1, queries.dimension());
    const auto row = queries.row(i);
    std::copy(row.begin(), row.end(), query.mutable_data());
    lists.push_back(Search(index, query, top_k, pool)[0]);
  }
  return lists;
}

bool SameBits(const Neighbor& a, const Neighbor& b) {
  return a.row == b.row && std::memcmp(&a.score, &b.score, sizeof(float)) == 0;
}

void RequireSame(const Lists& lists, const Lists& expected) {
  REQUIRE(lists.size() == expected.size());
  for (size_t q = 0; q < lists.size(); ++q) {
    REQUIRE(lists[q].size() == expected[q].size());
    for (size_t i = 0; i < lists[q].size(); ++i) REQUIRE(SameBits(lists[q][i], expected[q][i]));
  }
}

// In batches of several sizes, with pools of several.
void CheckBatches(const Stored& stored, const EmbeddingMatrix& queries,
                  const std::vector<int>& top_ks) {
  ComputePool lone(1), two(2), seven(7);
  const auto index = OpenFlatIndex(stored.view(), &lone);
  REQUIRE(index.ok());
  for (const int top_k : top_ks) {
    const Lists expected = SearchEach(**index, queries, top_k, &two);
    for (const int64_t count : {int64_t{2}, int64_t{5}, int64_t{17}, queries.rows()}) {
      if (count > queries.rows()) continue;
      EmbeddingMatrix some(count, queries.dimension());
      std::copy_n(queries.data(), count * queries.dimension(), some.mutable_data());
      const Lists part(expected.begin(), expected.begin() + count);
      for (ComputePool* pool : {&lone, &two, &seven}) {
        RequireSame(Search(**index, some, top_k, pool), part);
      }
    }
  }
}

TEST_CASE("numbers of all kinds of shapes") {
  std::mt19937 random(1);
  for (const int dimension : {1, 3, 8, 31, 64, 257}) {
    for (const int64_t rows : {1, 2, 11, 12, 13, 97, 3000}) {
      Stored stored(rows, dimension, random() % 20);
      for (int64_t i = 0; i < rows; ++i) FillWithNormals(random, stored.row(i));
      CheckBatches(stored, Queries(random, 18, dimension), {1, 20, limits::kMaxNeighbors});
    }
  }
}

TEST_CASE("more queries than one group has, and many blocks and parts") {
  std::mt19937 random(2);
  Stored stored(20000, 24);
  for (int64_t i = 0; i < stored.rows; ++i) FillWithNormals(random, stored.row(i));
  CheckBatches(stored, Queries(random, 150, 24), {1, 10, 300});
}

TEST_CASE("rows of length one that lie close together") {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Stored stored(6000, 96);
  std::vector<float> center(96);
  FillWithNormals(random, absl::MakeSpan(center));
  for (int64_t i = 0; i < stored.rows; ++i) {
    double squares = 0;
    for (int k = 0; k < 96; ++k) {
      stored.row(i)[k] = center[k] + 1e-6f * normal(random);
      squares += double{stored.row(i)[k]} * stored.row(i)[k];
    }
    for (float& x : stored.row(i)) x = static_cast<float>(x / std::sqrt(squares));
  }
  CheckBatches(stored, Queries(random, 20, 96), {1, 20, 100});
}

TEST_CASE("rows that occur many times, so that the last place is one of many equals") {
  std::mt19937 random(4);
  Stored stored(9000, 33, 7);
  for (int64_t i = 0; i < stored.rows; ++i) {
    std::mt19937 of_kind(static_cast<uint32_t>(random() % 5));
    FillWithNormals(of_kind, stored.row(i));
  }
  CheckBatches(stored, Queries(random, 20, 33), {1, 3, 50, 1000});
  for (int64_t i = 0; i < stored.rows; ++i) {
    std::mt19937 of_kind(1);
    FillWithNormals(of_kind, stored.row(i));
  }
  CheckBatches(stored, Queries(random, 20, 33), {1, 50});
}

TEST_CASE("huge and tiny rows and queries, side by side") {
  std::mt19937 random(5);
  constexpr int kDimension = 40;
  Stored stored(4000, kDimension);
  for (int64_t i = 0; i < stored.rows; ++i) {
    FillWithNormals(random, stored.row(i));
    // Some products overflow, some are denormal, most are neither.
    const int exponents[] = {0, 0, 0, 0, 3, -60, -120, -149, 60, 120, 126};
    const int exponent = exponents[random() % (i < 2000 ? 4 : 11)];
    for (float& x : stored.row(i)) x = std::ldexp(x, exponent);
  }
  EmbeddingMatrix queries = Queries(random, 24, kDimension);
  for (int64_t i = 0; i < queries.rows(); ++i) {
    const int exponents[] = {0, 10, -30, -100, 64, 120};
    for (float& x : queries.mutable_row(i)) x = std::ldexp(x, exponents[i % 6]);
  }
  std::fill_n(queries.mutable_row(7).begin(), kDimension, 0.0f);
  CheckBatches(stored, queries, {1, 20, 500, limits::kMaxNeighbors});
}

// 3e38 + 3e38 - 3e38 is infinite from the left and not from the right.
TEST_CASE("sums that overflow in one order and not in another") {
  std::mt19937 random(6);
  EmbeddingMatrix queries(5, 48);
  for (int64_t i = 0; i < queries.rows(); ++i) {
    for (float& x : queries.mutable_row(i)) x = i % 2 == 0 ? 10.0f : 1e-3f;
  }
  for (int round = 0; round < 20; ++round) {
    Stored stored(300, 48);
    for (int64_t i = 0; i < stored.rows; ++i) {
      for (float& x : stored.row(i)) x = (random() % 2 == 0 ? 1.0f : -1.0f) * 1e37f;
    }
    CheckBatches(stored, queries, {1, 3, 20});
  }
}

TEST_CASE("stored infinities are scores, and what is no number is never found") {
  std::mt19937 random(7);
  Stored stored(1000, 21, 3);
  for (int64_t i = 0; i < stored.rows; ++i) {
    FillWithNormals(random, stored.row(i));
    if (i % 50 == 3) stored.row(i)[i % 21] = std::nanf("");
    if (i % 40 == 5) stored.row(i)[i % 21] = i % 80 == 5 ? kInfinity : -kInfinity;
    if (i % 40 == 5 && i % 3 == 0) stored.row(i)[(i + 1) % 21] = kInfinity;
  }
  const EmbeddingMatrix queries = Queries(random, 20, 21);
  CheckBatches(stored, queries, {1, 5, 30, limits::kMaxNeighbors});
  ComputePool pool(2);
  const auto index = OpenFlatIndex(stored.view(), &pool);
  for (const auto& list : Search(**index, queries, limits::kMaxNeighbors, &pool)) {
    for (const Neighbor& neighbor : list) {
      REQUIRE(!std::isnan(neighbor.score));
      REQUIRE(neighbor.row % 50 != 3);
    }
  }
}

}  // namespace
}  // namespace sightline
