// Arrays of numpy (.npy), from strangers: format versions 1 to 3, floats in little-endian.
#ifndef SIGHTLINE_COMMON_FORMATS_NPY_H_
#define SIGHTLINE_COMMON_FORMATS_NPY_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

enum class NpyType { kFloat16, kFloat32, kFloat64 };

// An array as it lies in bytes that must outlive it.
struct NpyArray {
  NpyType type = NpyType::kFloat32;
  bool fortran_order = false;  // of rank 2 only; the first index runs fastest
  std::vector<int64_t> shape;  // empty for a lone number
  absl::string_view data;      // as long as type and shape say

  // The product of the shape.
  int64_t element_count() const;
};

inline constexpr int kMaxNpyRank = 8;

// InvalidArgument: no npy file, a header that is malformed or longer than 64 KiB, a type that
// is no float of two, four or eight bytes in little-endian (Python objects, which would have
// to be unpickled, above all), Fortran order of another rank than 2, or data that is not
// exactly as long as the shape says.
absl::StatusOr<NpyArray> ParseNpy(absl::string_view bytes);

// `count` elements from `begin` on, as floats, in the order in which they lie.  Both within
// element_count().
void ReadNpyElements(const NpyArray& array, int64_t begin, int64_t count, float* to);

// All elements as floats, the last index running fastest.
std::vector<float> NpyValues(const NpyArray& array);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_FORMATS_NPY_H_
