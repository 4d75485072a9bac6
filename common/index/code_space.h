// Where codes of a bit or two a number are made: a rotation of vectors drawn at random, of all that
// they have or of the part that matters.
//
// Embeddings fill few of their dimensions.  Of axes along which the rows' residuals are spread the
// most, a third as many as dimensions may hold nearly all of them, and two bits along each of these
// tell more than a bit along each dimension, in two thirds of the bytes.  Axes are kept in
// int8; that they then are not quite of length one and at right angles is as good as another choice
// of axes.
#ifndef SIGHTLINE_COMMON_INDEX_CODE_SPACE_H_
#define SIGHTLINE_COMMON_INDEX_CODE_SPACE_H_

#include <cstdint>

#include "common/kernels/int8_rows.h"
#include "common/kernels/random_rotation.h"

namespace sightline {

// Immutable, thread-safe.  The same bits on every CPU.
class CodeSpace {
 public:
  // Of all numbers.
  CodeSpace(int64_t dimension, uint64_t seed) : rotation_(dimension, seed) {}
  // Of `axes` >= 1 axes, rows in int8 with a scale each, which outlive it.
  CodeSpace(const int8_t* axes, const float* scales, int64_t count, int64_t dimension,
            uint64_t seed)
      : rotation_(count, seed),
        axes_(axes),
        scales_(scales),
        count_(count),
        axis_bytes_(kernels::Int8RowBytes(dimension)) {}

  // Numbers of a placed vector.
  int64_t size() const { return rotation_.size(); }
  // Kept beside the axes.
  int64_t byte_count() const { return rotation_.byte_count(); }

  // Writes the place of a vector, whose codes are those of its numbers.
  void Place(const float* vector, const kernels::Int16Query& codes, float* placed) const;
  void Place(const float* vector, int64_t dimension, float* placed) const;

 private:
  kernels::RandomRotation rotation_;
  const int8_t* axes_ = nullptr;
  const float* scales_ = nullptr;
  int64_t count_ = 0;
  int64_t axis_bytes_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_CODE_SPACE_H_
