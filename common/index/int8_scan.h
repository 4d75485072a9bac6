// Which rows of int8 codes may be among the best of some queries.
#ifndef SIGHTLINE_COMMON_INDEX_INT8_SCAN_H_
#define SIGHTLINE_COMMON_INDEX_INT8_SCAN_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/embedding/row_set.h"
#include "common/index/int8_codes.h"
#include "common/index/rough_query.h"
#include "common/kernels/int8_rows.h"

namespace sightline {

// Rows of a chunk, at most kMostRows of them, with what stands beside their codes.
class Int8Chunk {
 public:
  static constexpr int64_t kMostRows = 256;

  // Of codes that outlive it.
  explicit Int8Chunk(const Int8Codes& codes);

  // How many rows of codes make a chunk that the L2 cache holds.
  int64_t most_rows() const { return most_rows_; }

  // Takes the rows from `begin` to before `end`, or those of `cursor`, as many as fit.
  void Take(int64_t begin, int64_t end);
  void Take(RowSetCursor* cursor);

  int64_t count() const { return count_; }

  // A row whose score with a query is within `error` of `score`; an infinite error says nothing.
  struct Found {
    int64_t row = 0;
    float score = 0;
    float error = 0;
  };
  // Those whose score may reach `floor`, ascending; valid until the next call.
  absl::Span<const Found> Find(const RoughQuery& query, float floor);

 private:
  void TakeNumbers(int64_t place, int64_t row);
  void Multiply(const kernels::Int16Query& query);

  const Int8Codes& codes_;
  const kernels::Int8RowKernel& kernel_;
  const int64_t most_rows_;
  int64_t count_ = 0;
  bool side_by_side_ = true;
  // Of each row; beyond count() whatever was there before.
  alignas(32) int64_t rows_[kMostRows] = {};
  alignas(32) float scales_[kMostRows] = {};
  alignas(32) float errors_[kMostRows] = {};
  alignas(32) float lengths_[kMostRows] = {};
  alignas(32) int32_t sums_[kMostRows] = {};
  std::vector<Found> found_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_INT8_SCAN_H_
