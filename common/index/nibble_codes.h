// Codes of four bits a group, of residuals: a bit a dimension ("rabitq"), or product quantisation
// ("pq4").
//
// A row x of a list with centroid c has the residual r = x - c, and its code stands for a vector s
// of about its direction.  For a query q,
//
//   q . x = q . c + c . r + (q - c) . r,   and   (q - c) . r ~ (q - c) . s  (r . r) / (r . s),
//
// which is right on average where what s leaves out of r has no direction of its own (Gao and Long,
// "RaBitQ", 2024, theorem 3.2), and off in proportion to |q - c|, not to |q|.  So with
//
//   slope = r . r / r . s     and     offset = c . r - slope (c . s)
//
// kept for each row, an estimate is q . c + offset + slope (q . s), and a query needs tables of
// q . s but once, for all lists.
//
// rabitq: s has the signs of r after a random rotation, a bit each.  pq4: each part of s is that of
// 16 centroids which lies nearest to r's.
#ifndef SIGHTLINE_COMMON_INDEX_NIBBLE_CODES_H_
#define SIGHTLINE_COMMON_INDEX_NIBBLE_CODES_H_

#include <cstdint>

#include "common/index/ivf_shape.h"

namespace sightline {

struct NibbleScalars {
  float slope = 0;
  float offset = 0;
};

// What stands beside a row that is not finite, or too large for its products to be: it comes behind
// all others, whatever the query.
inline constexpr NibbleScalars kLastOfAll = {0, -3e38f};

// --- rabitq, of rotated vectors of `size` numbers, a multiple of four ---

// Writes the groups of a row, size / 4 of them.
NibbleScalars EncodeSigns(const float* row, const float* centroid, int64_t size, uint8_t* groups);

// Writes 16 numbers a group: the products of a query with the signs that a group stands for.
void TablesOfSigns(const float* query, int64_t size, float* values);

// --- pq4, with codebooks as the file has them ---

// Writes the groups of a row, a part each.
NibbleScalars EncodeParts(const float* row, const float* centroid, const IvfShape& shape,
                          const float* codebooks, uint8_t* groups);

// Writes 16 numbers a part: the products of a query with what a code stands for.
void TablesOfParts(const float* query, const IvfShape& shape, const float* codebooks,
                   float* values);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_NIBBLE_CODES_H_
