// What the codes of a build are made with, and how.
#ifndef SIGHTLINE_COMMON_INDEX_IVF_ENCODER_H_
#define SIGHTLINE_COMMON_INDEX_IVF_ENCODER_H_

#include <cstdint>
#include <vector>

#include "common/index/code_space.h"
#include "common/index/ivf_shape.h"

namespace sightline {

// Rows in int8, one after another, each padded as IvfShape::centroid_bytes says.
struct Int8Matrix {
  std::vector<int8_t> codes;
  std::vector<float> scales;
};

Int8Matrix EncodeInt8(const std::vector<float>& rows, const IvfShape& shape);
// What the codes stand for.
std::vector<float> DecodeInt8(const Int8Matrix& matrix, const IvfShape& shape);

// What was learned of a sample.
struct IvfTrained {
  Int8Matrix centroids;
  std::vector<float> reaches;    // of lists
  Int8Matrix axes;               // of rabitq along some
  std::vector<float> codebooks;  // of pq4
};

// Immutable, thread-safe.
class RowEncoder {
 public:
  // `trained` outlives it.
  RowEncoder(const IvfShape& shape, const IvfTrained& trained);

  // Writes the code of a row of `list` as the `place`-th of `codes`, which were zero, no byte of
  // which is another's; of int8 its scale, too.  A row that is not `usable` comes last in searches.
  void Encode(const float* row, bool usable, int64_t list, int64_t place, uint8_t* codes,
              float* scale) const;

 private:
  const IvfShape shape_;
  const IvfTrained& trained_;
  const std::vector<float> centroids_;
  const CodeSpace space_;
  std::vector<float> placed_centroids_;  // of rabitq
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_IVF_ENCODER_H_
