#include "common/index/hnsw_scan.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/index/hnsw_spaces.h"
#include "common/index/rough_best.h"
#include "common/index/rough_query.h"
#include "common/index/row_scores.h"
#include "common/kernels/cpu.h"

namespace sightline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// Rows between two looks at the call.
constexpr size_t kRowsAtOnce = 1024;
// Rows that lie anywhere are on their way from memory while those before are multiplied.
constexpr size_t kRowsAhead = 4;

// The next rows, at most kRowsAtOnce; none at the end.
void TakeRows(RowSetCursor* cursor, std::vector<int64_t>* rows) {
  rows->clear();
  for (int64_t row; rows->size() < kRowsAtOnce && (row = cursor->Next()) >= 0;) {
    rows->push_back(row);
  }
}

// The rough score of a row, and what it may be off by.
class RoughScores {
 public:
  RoughScores(const HnswGraph& graph, const float* query)
      : graph_(graph),
        query_(query, graph.shape.dimension),
        product_(kernels::Int8RowKernelFor(kernels::ThisCpu()).product) {}

  RoughNeighbor Of(int64_t row) const {
    const auto number = static_cast<uint32_t>(row);
    const kernels::Int8RowScale& code = graph_.code(number);
    if (!(code.length + code.error < RoughQuery::kMostLength)) return {row, 0, kInfinity};
    const int32_t sum =
        product_(query_.query.codes.data(), graph_.codes(number), graph_.shape.code_bytes());
    const float score = kernels::Int8Product(query_.query, code, sum);
    const float error =
        query_.per_error * code.error + query_.per_length * code.length + query_.constant;
    const bool known = std::isfinite(score) && std::isfinite(error);
    return {row, known ? score : 0, known ? error : kInfinity};
  }

  void Prefetch(int64_t row) const {
    PrefetchStart(graph_.node(static_cast<uint32_t>(row)), graph_.shape.links_at());
  }

 private:
  const HnswGraph& graph_;
  const RoughQuery query_;
  int32_t (*const product_)(const int16_t*, const int8_t*, int64_t);
};

absl::StatusOr<std::vector<Neighbor>> ScanCodes(const HnswGraph& graph, const VectorView& vectors,
                                                const float* query, const RowSet* among, int top_k,
                                                const CallContext& call) {
  // Of rows that cannot be told apart.
  constexpr int64_t kMostRough = 16384;
  const auto exact = [&](absl::Span<const int64_t> rows, absl::Span<float> scores) {
    return ScoreRows(vectors, query, rows, scores, call);
  };
  const RoughScores scores(graph, query);
  RoughBest best(top_k, kMostRough);
  RowSetCursor cursor(among, 0, vectors.rows);
  std::vector<int64_t> rows;
  for (TakeRows(&cursor, &rows); !rows.empty(); TakeRows(&cursor, &rows)) {
    RETURN_IF_ERROR(call.Check("index search"));
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i + kRowsAhead < rows.size()) scores.Prefetch(rows[i + kRowsAhead]);
      const RoughNeighbor row = scores.Of(rows[i]);
      if (row.most() < best.floor()) continue;
      best.Add(row);
      if (best.full()) RETURN_IF_ERROR(best.MakeRoom(exact));
    }
  }
  return best.Take(exact);
}

}  // namespace

absl::StatusOr<std::vector<Neighbor>> ScanRows(const HnswGraph& graph, const VectorView& vectors,
                                               const float* query, const RowSet* among, int top_k,
                                               const CallContext& call) {
  return graph.shape.coded ? ScanCodes(graph, vectors, query, among, top_k, call)
                           : BestOfRange(vectors, query, among, {0, vectors.rows}, top_k, call);
}

}  // namespace sightline
