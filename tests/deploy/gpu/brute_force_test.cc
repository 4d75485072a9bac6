#include "deploy/gpu/brute_force.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/float16.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int kDimension = 8;
constexpr int kTopK = 5;

// Row i's product with a query of ones is i % 1000, more or less.
struct MadeUp {
  explicit MadeUp(int64_t count) : numbers(count * kDimension), queries(1, kDimension) {
    for (int64_t i = 0; i < count; ++i) {
      std::vector<float> row(kDimension, static_cast<float>(i % 1000) / kDimension);
      Float32ToFloat16(row.data(), row.size(),
                       reinterpret_cast<char*>(numbers.data() + i * kDimension));
    }
    for (float& number : queries.mutable_row(0)) number = 1;
    rows = {numbers.data(), count, kDimension, kDimension, Dtype::kFloat16};
  }

  std::vector<uint16_t> numbers;
  EmbeddingMatrix queries;
  VectorView rows;
};

std::vector<Neighbor> Found(const PlainList& list) {
  std::vector<Neighbor> found;
  for (size_t i = 0; i < list.rows.size() && i < kTopK; ++i) {
    found.push_back({list.rows[i], static_cast<float>(list.scores[i])});
  }
  return found;
}

TEST_CASE("a brute force finds the best of all rows, ties by row, whoever looks at them") {
  const MadeUp made(20000);
  for (const int threads : {1, 3}) {
    ComputePool pool(threads);
    const std::vector<PlainList> lists = BruteForce(made.rows, made.queries, kTopK, &pool);
    REQUIRE(lists.size() == 1);
    for (int i = 0; i < kTopK; ++i) {
      REQUIRE(lists[0].rows[i] == 999 + i * 1000);
      REQUIRE(lists[0].scores[i] == lists[0].scores[0]);
    }
  }
}

TEST_CASE("it finds what the CPU's index finds") {
  const MadeUp made(3000);
  ComputePool pool(2);
  const auto index = OpenFlatIndex(made.rows, &pool);
  REQUIRE(index.ok());
  SearchOptions options;
  options.top_k = kTopK;
  const auto found = (*index)->Search(made.queries, options, CallContext::Unbounded());
  REQUIRE(found.ok());
  const std::vector<PlainList> lists = BruteForce(made.rows, made.queries, kTopK, &pool);
  REQUIRE(DifferenceFrom(lists[0], (*found)[0], kTopK).empty());
}

TEST_CASE("a wrong row, score or number of rows is told; rows that are as good may change places") {
  const MadeUp made(3000);
  ComputePool pool(1);
  const PlainList list = BruteForce(made.rows, made.queries, kTopK, &pool)[0];
  std::vector<Neighbor> found = Found(list);
  REQUIRE(DifferenceFrom(list, found, kTopK).empty());
  std::swap(found[0], found[1]);
  REQUIRE(DifferenceFrom(list, found, kTopK).empty());
  // Of three that are equally good the others are worse.
  std::swap(found[0].row, found[4].row);
  REQUIRE(absl::StrContains(DifferenceFrom(list, found, kTopK), "place 0 has row"));
  found = Found(list);
  found[1].row = found[0].row;
  REQUIRE(absl::StrContains(DifferenceFrom(list, found, kTopK), "place 1 has row"));
  found = Found(list);
  found[2].score += 0.01f;
  REQUIRE(absl::StrContains(DifferenceFrom(list, found, kTopK), "place 2 has score"));
  found.pop_back();
  REQUIRE(DifferenceFrom(list, found, kTopK) == "there are 4 rows, and should be 5");
}

}  // namespace
}  // namespace sightline
