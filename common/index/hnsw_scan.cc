#include "common/index/hnsw_scan.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "common/base/status_macros.h"
#include "common/index/row_scores.h"
#include "common/kernels/cpu.h"
#include "common/kernels/int8_rows.h"

namespace sightline {
namespace {

// Rows between two looks at the call.
constexpr size_t kRowsAtOnce = 4096;

// Calls `visit` with all rows, or those of `among`, some at once, until it fails.
template <typename Visit>
absl::Status ForRows(int64_t rows, const RowSet* among, Visit visit) {
  absl::Status status;
  std::vector<int64_t> some;
  some.reserve(kRowsAtOnce);
  const auto take = [&](int64_t row) {
    some.push_back(row);
    if (some.size() < kRowsAtOnce || !status.ok()) return;
    status = visit(some);
    some.clear();
  };
  if (among != nullptr) {
    among->ForEach([&](int64_t row) {
      if (status.ok()) take(row);
    });
  } else {
    for (int64_t row = 0; row < rows && status.ok(); ++row) take(row);
  }
  RETURN_IF_ERROR(status);
  return visit(some);
}

bool RanksBefore(const Neighbor& a, const Neighbor& b) {
  return a.score != b.score ? a.score > b.score : a.row < b.row;
}

absl::StatusOr<std::vector<Neighbor>> ScanExactly(const VectorView& vectors, const float* query,
                                                  const RowSet* among, int top_k,
                                                  const CallContext& call) {
  std::vector<Neighbor> best;
  RETURN_IF_ERROR(ForRows(vectors.rows, among, [&](const std::vector<int64_t>& rows) {
    ASSIGN_OR_RETURN(const std::vector<Neighbor> some,
                     BestOfRows(vectors, query, rows, top_k, call));
    const auto middle = static_cast<std::ptrdiff_t>(best.size());
    best.insert(best.end(), some.begin(), some.end());
    std::inplace_merge(best.begin(), best.begin() + middle, best.end(), RanksBefore);
    best.resize(std::min(best.size(), static_cast<size_t>(top_k)));
    return absl::OkStatus();
  }));
  return best;
}

// Rows whose scores are known to lie below what `top_k` others have at least are left out.
class RoughScan {
 public:
  RoughScan(const HnswGraph& graph, const float* query, int top_k)
      : graph_(graph),
        query_(query, graph.shape.dimension),
        product_(kernels::Int8RowKernelFor(kernels::ThisCpu()).product),
        top_k_(static_cast<size_t>(top_k)) {}

  void Look(int64_t row) {
    const auto number = static_cast<uint32_t>(row);
    const kernels::Int8RowScale& scale = graph_.code(number).row;
    const int32_t sum =
        product_(query_.codes.data(), graph_.codes(number), graph_.shape.code_bytes());
    const float rough = kernels::Int8Product(query_, scale, sum);
    const float error = kernels::Int8ProductError(query_, scale);
    const float most = rough + error;
    if (most < floor()) return;
    kept_.push_back({row, most});
    // Of a row of which nothing is known the least is no number or minus infinity.
    const float least = rough - error;
    if (least > floor()) RaiseFloor(least);
    if (kept_.size() >= room_) DropBeaten();
  }

  std::vector<int64_t> TakeRows() {
    DropBeaten();
    std::vector<int64_t> rows;
    for (const Neighbor& one : kept_) rows.push_back(one.row);
    return rows;
  }

 private:
  float floor() const {
    return least_.size() < top_k_ ? -std::numeric_limits<float>::infinity() : least_.front();
  }

  void RaiseFloor(float least) {
    if (least_.size() == top_k_) {
      std::pop_heap(least_.begin(), least_.end(), std::greater<float>());
      least_.pop_back();
    }
    least_.push_back(least);
    std::push_heap(least_.begin(), least_.end(), std::greater<float>());
  }

  void DropBeaten() {
    const float limit = floor();
    kept_.erase(std::remove_if(kept_.begin(), kept_.end(),
                               [limit](const Neighbor& one) { return one.score < limit; }),
                kept_.end());
    room_ = std::max(room_, 2 * kept_.size());
  }

  const HnswGraph& graph_;
  const kernels::Int16Query query_;
  int32_t (*const product_)(const int16_t*, const int8_t*, int64_t);
  const size_t top_k_;
  std::vector<float> least_;    // the greatest ones, the least of them on top
  std::vector<Neighbor> kept_;  // with what their scores are at most
  size_t room_ = 4096;
};

}  // namespace

absl::StatusOr<std::vector<Neighbor>> ScanRows(const HnswGraph& graph, const VectorView& vectors,
                                               const float* query, const RowSet* among, int top_k,
                                               const CallContext& call) {
  if (!graph.shape.coded) return ScanExactly(vectors, query, among, top_k, call);
  RoughScan scan(graph, query, top_k);
  RETURN_IF_ERROR(ForRows(vectors.rows, among, [&](const std::vector<int64_t>& rows) {
    for (const int64_t row : rows) scan.Look(row);
    return call.Check("index search");
  }));
  return BestOfRows(vectors, query, scan.TakeRows(), top_k, call);
}

}  // namespace sightline
