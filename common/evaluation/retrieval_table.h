// Rows of the papers' tables: means over queries, folds and languages, and how sure they are.
//
// What is resampled are families of images (bootstrap.h): an image's captions stay together, and so
// do images that were made from one another; languages and methods see the same draws.
#ifndef SIGHTLINE_COMMON_EVALUATION_RETRIEVAL_TABLE_H_
#define SIGHTLINE_COMMON_EVALUATION_RETRIEVAL_TABLE_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/base/compute_pool.h"
#include "common/evaluation/bootstrap.h"
#include "common/evaluation/evaluation_pool.h"
#include "common/evaluation/matrix_items.h"
#include "common/evaluation/query_measures.h"

namespace sightline {

// Which R@K make AR (also mR), their mean over both directions, and rsum, their sum.
enum class RecallTriple {
  k1To10,  // R@1, R@5, R@10
  k5To20,  // R@5, R@10, R@20: LightningDOT's full pools
};
// The place in kRecallCutoffs of the first of three.
int FirstCutoff(RecallTriple triple);

// A row's numbers: those of each direction, by TableIndex, then AR and rsum.  Shares are fractions,
// so rsum is at most 6.
inline constexpr int kAverageRecall = 2 * kQueryMeasureCount;
inline constexpr int kRecallSum = kAverageRecall + 1;
inline constexpr int kTableValueCount = kRecallSum + 1;
using TableValues = std::array<double, kTableValueCount>;

inline int TableIndex(Direction direction, int measure) {
  return measure + (direction == Direction::kTextToImage ? 0 : kQueryMeasureCount);
}

// What is summed up apart: the captions of one language, or all.
struct TablePart {
  std::string language;               // empty: all
  std::vector<EvaluationPool> pools;  // one, or folds
};

// Of one method and one pool: for each query of the pool, in its order.
struct PoolOutcome {
  std::array<std::vector<QueryMeasures>, 2> by_direction;

  std::vector<QueryMeasures>& of(Direction direction) {
    return by_direction[static_cast<int>(direction)];
  }
  const std::vector<QueryMeasures>& of(Direction direction) const {
    return by_direction[static_cast<int>(direction)];
  }
};
using MethodOutcome = std::vector<std::vector<PoolOutcome>>;  // [part][pool]

struct PartRow {
  std::array<int64_t, 2> queries = {};  // by direction, over all pools
  TableValues values = {};              // means over queries, then over folds
  std::vector<Interval> intervals;      // of each of `values`
  std::vector<Interval> minus_first;    // of its difference to the first method; empty for that
  // Median of the best right candidate's (expected) rank, by direction, mean over folds, or over
  // those of which families were drawn.  SGRAF's code drops the half of a median between two ranks;
  // here it stays.
  std::array<Interval, 2> median_rank = {};
  std::array<Interval, 2> median_minus_first = {};  // its difference likewise; 0 for the first
};

struct MethodRow {
  std::vector<PartRow> parts;
  Interval meta_average;  // mean of AR over the parts: Meta-Ave over languages
  absl::optional<Interval> meta_minus_first;
};

// One row for each of `methods`, of which each has the outcomes of all `parts`.
std::vector<MethodRow> MakeTable(absl::Span<const TablePart> parts,
                                 absl::Span<const MethodOutcome> methods, const MatrixItems& items,
                                 RecallTriple triple, const BootstrapOptions& options,
                                 ComputePool* threads);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_RETRIEVAL_TABLE_H_
