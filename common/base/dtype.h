// Element types of stored and transported tensors.
#ifndef SIGHTLINE_COMMON_BASE_DTYPE_H_
#define SIGHTLINE_COMMON_BASE_DTYPE_H_

#include <cstddef>
#include <cstdint>

namespace sightline {

// The values are written to disk; never renumber.
enum class Dtype : uint32_t {
  kBytes = 1,
  kFloat32 = 2,
  kFloat16 = 3,
  kInt8 = 4,
  kInt32 = 5,
  kInt64 = 6,
};

// Bytes of one element; 0 for a value that is none of the above.
constexpr size_t DtypeSize(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBytes:
    case Dtype::kInt8:
      return 1;
    case Dtype::kFloat16:
      return 2;
    case Dtype::kFloat32:
    case Dtype::kInt32:
      return 4;
    case Dtype::kInt64:
      return 8;
  }
  return 0;
}

// "float32" and so on; "unknown" for a value that is none of the above.
constexpr const char* DtypeName(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBytes:
      return "bytes";
    case Dtype::kFloat32:
      return "float32";
    case Dtype::kFloat16:
      return "float16";
    case Dtype::kInt8:
      return "int8";
    case Dtype::kInt32:
      return "int32";
    case Dtype::kInt64:
      return "int64";
  }
  return "unknown";
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_DTYPE_H_
