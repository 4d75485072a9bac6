// What an inverted file of a shard is made of, and how large each part is, as its manifest says.
//
// Rows lie in lists, each in that of its nearest centroid.  A row's place in the order of lists is
// its position; codes lie in that order.  The file is a container with these sections, of n rows
// of d numbers in L lists:
//
//   centroids        int8     L x d, each row padded to a multiple of 32 (int8_rows.h)
//   centroid_scales  float32  L: a centroid is its codes times its scale, and exactly that
//   reaches          float32  L: how much larger a product with a row may be than its centroid's
//   offsets          int64    L + 1: list l has the positions from offset l up to offset l + 1
//   rows             int32    n: the row at each position; ascending within a list
//   codes            int8     n x d, padded likewise ("int8")
//                    bytes    of blocks of 32 positions ("pq4", "rabitq": nibble_scan_kernels.h)
//   code_scales      float32  n ("int8"); negative for a row that is not finite
//   codebooks        float32  d x 16 ("pq4"): of each number what the codes of its part stand for
//   axes             int8     of axes that codes are along x d, padded likewise ("rabitq")
//   axis_scales      float32  one of each axis
//
// A shard without rows has no file.
#ifndef SIGHTLINE_COMMON_INDEX_IVF_SHAPE_H_
#define SIGHTLINE_COMMON_INDEX_IVF_SHAPE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

enum class IvfCode { kRows, kInt8, kPq4, kRabitq };

struct IvfShape {
  int64_t rows = 0;  // at most 2^31 - 1
  int dimension = 0;
  int64_t lists = 0;  // at most as many as rows
  IvfCode code = IvfCode::kRows;
  int parts = 0;     // of pq4
  int bits = 1;      // along each axis of a code space: of rabitq, and of centroids in any code
  int64_t axes = 0;  // of it; 0: all that there are
  int refine = 1;
  uint64_t seed = 0;

  // Whether codes are groups of four bits in blocks, each row with a slope and an offset.
  bool has_nibbles() const { return code == IvfCode::kPq4 || code == IvfCode::kRabitq; }
  int64_t group_count() const;  // of such a code
  int64_t block_bytes() const;  // of 32 such codes
  // Of the code space (code_space.h): its numbers, and groups of a code.
  int64_t space_size() const;
  int64_t space_groups() const;

  int64_t centroid_bytes() const;  // of one
  int64_t code_bytes() const;      // of all rows
  // Numbers of a part of pq4 from the first on: part p has those of [PartBegin(p), PartBegin(p+1)).
  int64_t PartBegin(int64_t part) const { return part * dimension / parts; }
};

// InvalidArgument, saying what to change, for parameters that are none of kind "ivf" or do not fit
// the dimension.
absl::Status CheckIvfSpec(const bundle::v1::IndexSpec& spec, int dimension);

// Of shard `shard` of `manifest`.  InvalidArgument as CheckIvfSpec, and for a shard of more rows
// than there are numbers for.
absl::StatusOr<IvfShape> IvfShapeOf(const bundle::v1::GenerationManifest& manifest, int shard);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_IVF_SHAPE_H_
