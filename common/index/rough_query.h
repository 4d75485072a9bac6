// A query as it is compared with rows in int8, and what the scores that codes tell may be off by.
#ifndef SIGHTLINE_COMMON_INDEX_ROUGH_QUERY_H_
#define SIGHTLINE_COMMON_INDEX_ROUGH_QUERY_H_

#include <cstdint>

#include "common/kernels/int8_rows.h"

namespace sightline {

// Immutable.
struct RoughQuery {
  // Products of vectors shorter than this, however they are summed, stay far from overflow; of
  // longer rows nothing is known.
  static constexpr float kMostLength = 0x1p60f;

  // Of `dimension` finite numbers.
  RoughQuery(const float* query, int64_t dimension);

  kernels::Int16Query query;
  // The product that a row's codes tell is off from the score of the row (row_scores.h) by at most
  // per_error * row.error + per_length * row.length + constant, unless that is no number.
  float per_error = 0;
  float per_length = 0;
  float constant = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_ROUGH_QUERY_H_
