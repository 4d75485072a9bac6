// A query as an inverted file compares it with centroids and codes.
#ifndef SIGHTLINE_COMMON_INDEX_IVF_QUERY_H_
#define SIGHTLINE_COMMON_INDEX_IVF_QUERY_H_

#include <cstdint>
#include <vector>

#include "common/index/code_space.h"
#include "common/index/ivf_shape.h"
#include "common/kernels/int8_rows.h"
#include "common/kernels/nibble_scan.h"

namespace sightline {

// Immutable.  Estimates are of the query scaled to length one, which orders rows alike and is never
// too large or too small to be multiplied.
struct IvfQuery {
  // Of finite numbers, which outlive it.
  IvfQuery(const float* numbers, const IvfShape& shape, const CodeSpace& space);

  const float* numbers;        // as asked
  double length;               // Euclid's
  std::vector<float> unit;     // of length one; zero if the query is
  kernels::Int16Query codes;   // of unit
  kernels::NibbleTables bits;  // of unit, placed in the space
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_IVF_QUERY_H_
