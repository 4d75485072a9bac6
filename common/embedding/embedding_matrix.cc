#include "common/embedding/embedding_matrix.h"

#include <cmath>
#include <cstring>

namespace sightline {

void NormalizeRows(EmbeddingMatrix& matrix) {
  for (int64_t i = 0; i < matrix.rows(); ++i) {
    const absl::Span<float> row = matrix.mutable_row(i);
    // In double the squares of all finite floats, tiny and huge, neither vanish nor
    // overflow.
    double squares = 0;
    for (const float value : row) squares += static_cast<double>(value) * value;
    if (squares == 0) continue;
    const double scale = 1 / std::sqrt(squares);
    for (float& value : row) value = static_cast<float>(value * scale);
  }
}

bool AllFinite(absl::Span<const float> values) {
  // All ones in the exponent is NaN or infinity.  Looked at as integers, so that the loop
  // vectorises and no compiler flag about NaNs can change its meaning.
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t found = 0;
  for (const float value : values) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    found |= (bits & kExponent) == kExponent;
  }
  return found == 0;
}

}  // namespace sightline
