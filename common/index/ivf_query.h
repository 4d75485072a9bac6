// A query as an inverted file compares it with centroids and codes.
#ifndef SIGHTLINE_COMMON_INDEX_IVF_QUERY_H_
#define SIGHTLINE_COMMON_INDEX_IVF_QUERY_H_

#include <cstdint>
#include <vector>

#include "common/kernels/int8_rows.h"
#include "common/kernels/nibble_scan.h"
#include "common/kernels/random_rotation.h"

namespace sightline {

// Immutable.  Estimates are of the query scaled to length one, which orders rows alike and is never
// too large or too small to be multiplied.
struct IvfQuery {
  // Of `dimension` finite numbers, which outlive it.
  IvfQuery(const float* numbers, int64_t dimension, const kernels::RandomRotation& rotation);

  const float* numbers;         // as asked
  double length;                // Euclid's
  std::vector<float> unit;      // of length one; zero if the query is
  kernels::Int16Query codes;    // of unit
  kernels::NibbleTables signs;  // of unit, rotated (nibble_codes.h)
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_IVF_QUERY_H_
