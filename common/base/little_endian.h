// Numbers as they lie on disk: little-endian, at any address.
#ifndef SIGHTLINE_COMMON_BASE_LITTLE_ENDIAN_H_
#define SIGHTLINE_COMMON_BASE_LITTLE_ENDIAN_H_

#include <cstring>
#include <string>
#include <type_traits>

namespace sightline {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "files are used as they are, so the CPU must be little-endian");

// Reads the T at `bytes`, which need not be aligned.
template <typename T>
T LoadLittleEndian(const char* bytes) {
  static_assert(std::is_arithmetic<T>::value, "a number");
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <typename T>
void AppendLittleEndian(T value, std::string* bytes) {
  static_assert(std::is_arithmetic<T>::value, "a number");
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  bytes->append(raw, sizeof(T));
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_LITTLE_ENDIAN_H_
