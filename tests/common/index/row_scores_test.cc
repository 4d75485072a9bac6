#include "common/index/row_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/float16.h"
#include "tests/common/index/kind_harness.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr Dtype kDtypes[] = {Dtype::kFloat32, Dtype::kFloat16};

// What the rows of `view`, in memory, hold, number by number.
std::vector<double> RowOf(const VectorView& view, int64_t row) {
  std::vector<float> numbers(view.dimension);
  if (view.dtype == Dtype::kFloat16) {
    Float16ToFloat32(view.row(row), numbers.size(), numbers.data());
  } else {
    std::copy_n(view.float_row(row), view.dimension, numbers.begin());
  }
  return {numbers.begin(), numbers.end()};
}

double TrueScore(const VectorView& view, absl::Span<const float> query, int64_t row) {
  const std::vector<double> numbers = RowOf(view, row);
  double score = 0;
  for (size_t i = 0; i < numbers.size(); ++i) score += numbers[i] * query[i];
  return score;
}

TEST_CASE("a score is the product of query and stored row, whatever the dimension") {
  for (const int dimension : {1, 3, 7, 8, 9, 31, 32, 33, 40, 71, 768, 4096}) {
    const EmbeddingMatrix values = ClusteredRows(10, dimension, 1);
    const EmbeddingMatrix queries = QueriesNear(values, 3, 2);
    for (const Dtype dtype : kDtypes) {
      const GappedRows rows(values, dtype);
      for (int64_t row = 0; row < 10; ++row) {
        for (int64_t query = 0; query < 3; ++query) {
          REQUIRE(RowScore(rows.view(), queries.row(query).data(), row) ==
                  Approx(TrueScore(rows.view(), queries.row(query), row)).margin(1e-5));
        }
      }
    }
  }
}

TEST_CASE("halves count as what they are: tiny, infinite, no number") {
  EmbeddingMatrix values(4, 9);
  values.mutable_row(0)[8] = 0x1p-24f;  // the least that there is
  values.mutable_row(1)[0] = 65504;
  values.mutable_row(2)[3] = std::numeric_limits<float>::infinity();
  values.mutable_row(3)[8] = std::nanf("");
  const GappedRows rows(values, Dtype::kFloat16);
  const std::vector<float> query(9, 2);
  REQUIRE(RowScore(rows.view(), query.data(), 0) == 0x1p-23f);
  REQUIRE(RowScore(rows.view(), query.data(), 1) == 2 * 65504.0f);
  REQUIRE(RowScore(rows.view(), query.data(), 2) == std::numeric_limits<float>::infinity());
  REQUIRE(std::isnan(RowScore(rows.view(), query.data(), 3)));
}

TEST_CASE("rows score the same one by one, many at once, and from a disk") {
  const EmbeddingMatrix values = ClusteredRows(700, 45, 3);
  const EmbeddingMatrix query = QueriesNear(values, 1, 4);
  std::mt19937 random(5);
  for (const Dtype dtype : kDtypes) {
    const GappedRows rows(values, dtype);
    const MemoryReader reader(rows.view());
    for (const int64_t count : {0, 1, 2, 255, 256, 257, 600}) {
      std::vector<int64_t> some(count);
      for (int64_t& row : some) row = static_cast<int64_t>(random() % 700);
      std::vector<float> scores(count), read(count);
      const CallContext call = CallContext::Unbounded();
      REQUIRE(ScoreRows(rows.view(), query.data(), some, absl::MakeSpan(scores), call).ok());
      REQUIRE(ScoreRows(reader.view(), query.data(), some, absl::MakeSpan(read), call).ok());
      REQUIRE(scores == read);
      for (int64_t i = 0; i < count; ++i) {
        REQUIRE(scores[i] == RowScore(rows.view(), query.data(), some[i]));
      }
    }
  }
}

TEST_CASE("the best of some rows: each once, ties by row, without those that are no number") {
  EmbeddingMatrix values(6, 1);
  const float numbers[] = {1, 3, std::nanf(""), 3, 2, -1};
  std::copy_n(numbers, 6, values.mutable_data());
  const float query = 1;
  for (const Dtype dtype : kDtypes) {
    const GappedRows rows(values, dtype);
    const MemoryReader reader(rows.view());
    for (const VectorView& view : {rows.view(), reader.view()}) {
      const auto best_of = [&](const std::vector<int64_t>& some, int top_k) {
        return *BestOfRows(view, &query, some, top_k, CallContext::Unbounded());
      };
      const std::vector<std::vector<Neighbor>> all = {{{1, 3}, {3, 3}, {4, 2}, {0, 1}, {5, -1}}};
      REQUIRE(SameLists({best_of({5, 4, 3, 2, 1, 0, 3, 3}, 10)}, all));
      REQUIRE(SameLists({best_of({3, 1, 0}, 2)}, {{{1, 3}, {3, 3}}}));
      REQUIRE(best_of({2}, 1).empty());
      REQUIRE(best_of({}, 1).empty());
    }
  }
}

TEST_CASE("rows are copied as float32 without their padding, from memory and from a disk") {
  const EmbeddingMatrix values = ClusteredRows(20, 13, 6);
  for (const Dtype dtype : kDtypes) {
    const GappedRows rows(values, dtype);
    const MemoryReader reader(rows.view());
    for (const VectorView& view : {rows.view(), reader.view()}) {
      std::vector<float> copy(5 * 13);
      REQUIRE(CopyRows(view, 7, 5, copy.data()).ok());
      for (int64_t i = 0; i < 5; ++i) {
        const std::vector<double> row = RowOf(rows.view(), 7 + i);
        REQUIRE(std::equal(row.begin(), row.end(), copy.begin() + i * 13));
      }
      REQUIRE(CopyRows(view, 20, 0, nullptr).ok());
    }
  }
}

TEST_CASE("a call that is over, and rows that cannot be read, end it") {
  const GappedRows rows(ClusteredRows(600, 5, 7), Dtype::kFloat16);
  MemoryReader reader(rows.view());
  const std::vector<float> query(5, 1);
  std::vector<int64_t> all(600);
  std::iota(all.begin(), all.end(), 0);
  std::vector<float> scores(600);
  const CallContext cancelled = CallContext::Unbounded();
  cancelled.cancellation()->Cancel();
  const auto score = [&](const VectorView& view, const CallContext& call) {
    return ScoreRows(view, query.data(), all, absl::MakeSpan(scores), call);
  };
  REQUIRE(absl::IsCancelled(score(rows.view(), cancelled)));
  REQUIRE(absl::IsCancelled(BestOfRows(rows.view(), query.data(), all, 3, cancelled).status()));
  for (const int calls : {0, 1}) {
    reader.FailAfter(calls);
    REQUIRE(HasReason(score(reader.view(), CallContext::Unbounded()), reasons::kReadFailed));
  }
  reader.FailAfter(0);
  REQUIRE(HasReason(CopyRows(reader.view(), 0, 2, scores.data()), reasons::kReadFailed));
}

}  // namespace
}  // namespace sightline
