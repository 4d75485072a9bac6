#include "common/index/index_checks.h"

#include <cmath>
#include <limits>
#include <vector>

#include "common/base/limits.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("a view is a matrix or is refused") {
  const std::vector<float> data(16);
  const VectorView good = {data.data(), 2, 4, 8};
  CHECK(CheckView(good).ok());
  CHECK(CheckView({nullptr, 0, 4, 4}).ok());
  std::vector<VectorView> bad(7, good);
  bad[0].data = nullptr;
  bad[1].rows = -1;
  bad[2].dimension = 0;
  bad[3].stride = 3;
  bad[4].rows = std::numeric_limits<int64_t>::max() / 8;
  bad[5].data = reinterpret_cast<const float*>(reinterpret_cast<const char*>(data.data()) + 1);
  bad[6].dtype = Dtype::kInt8;
  for (const VectorView& view : bad) CHECK(absl::IsInvalidArgument(CheckView(view)));
}

TEST_CASE("a search is of the index's dimension, finite, in bounds and not over") {
  const CallContext call = CallContext::Unbounded();
  EmbeddingMatrix queries(2, 4);
  const std::vector<float> data(12);
  const VectorView rows = {data.data(), 3, 4, 4};
  for (const int top_k : {1, limits::kMaxNeighbors}) {
    CHECK(CheckSearch(queries, {top_k}, rows, call).ok());
  }
  for (const int top_k : {-1, 0, limits::kMaxNeighbors + 1}) {
    CHECK(absl::IsInvalidArgument(CheckSearch(queries, {top_k}, rows, call)));
  }
  const VectorView wider = {data.data(), 2, 5, 5};
  CHECK(absl::IsInvalidArgument(CheckSearch(queries, {1}, wider, call)));
  for (const int effort : {-1, 0, limits::kMaxEffort + 1}) {
    SearchOptions options;
    options.effort = effort;
    CHECK(absl::IsInvalidArgument(CheckSearch(queries, options, rows, call)));
  }
  for (const int64_t universe : {2, 3}) {
    const RowSet among = RowSet::OfRows({0, 1}, universe);
    SearchOptions options;
    options.among = &among;
    CHECK(CheckSearch(queries, options, rows, call).ok() == (universe == 3));
  }
  const CallContext over = CallContext::Unbounded();
  over.cancellation()->Cancel();
  CHECK(absl::IsCancelled(CheckSearch(queries, {1}, rows, over)));
  queries.mutable_row(1)[3] = std::nanf("");
  CHECK(absl::IsInvalidArgument(CheckSearch(queries, {1}, rows, call)));
}

}  // namespace
}  // namespace sightline
