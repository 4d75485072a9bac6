// Codes of four bits a group, of residuals: a bit or two along each axis ("rabitq"), or product
// quantisation ("pq4").
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
// rabitq: s has a bit or two along each axis of a code space (code_space.h): the signs of r, or the
// nearest of four levels, those of Max ("Quantizing for minimum distortion", 1960) for numbers that
// are spread normally, as they are after a rotation drawn at random.  pq4: each part of s is that
// of 16 centroids which lies nearest to r's.
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

// --- rabitq, of vectors in a code space of `size` numbers, a multiple of four, by 1 or 2 bits ---

// r . r and c . r.
struct ResidualProducts {
  double residual_residual = 0;
  double centroid_residual = 0;
};
ResidualProducts ProductsOf(const float* row, const float* centroid, int64_t dimension);

// Writes the groups of a row, size * bits / 4 of them.  `placed_row` and `placed_centroid` lie in
// the space, `products` are of the vectors themselves.
NibbleScalars EncodeBits(const ResidualProducts& products, const float* placed_row,
                         const float* placed_centroid, int64_t size, int bits, uint8_t* groups);

// Writes 16 numbers a group: the products of a query in the space with what a code stands for.
void TablesOfBits(const float* query, int64_t size, int bits, float* values);

// --- pq4, with codebooks as the file has them ---

// Writes the groups of a row, a part each.
NibbleScalars EncodeParts(const float* row, const float* centroid, const IvfShape& shape,
                          const float* codebooks, uint8_t* groups);

// Writes 16 numbers a part: the products of a query with what a code stands for.
void TablesOfParts(const float* query, const IvfShape& shape, const float* codebooks,
                   float* values);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_NIBBLE_CODES_H_
