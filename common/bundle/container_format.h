// Numbers that reader and writer of the container share; common/bundle/container.h
// describes the layout.
#ifndef SIGHTLINE_COMMON_BUNDLE_CONTAINER_FORMAT_H_
#define SIGHTLINE_COMMON_BUNDLE_CONTAINER_FORMAT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace sightline::container_format {

inline constexpr uint32_t kVersion = 1;
inline constexpr int64_t kHeaderLength = 40;  // the CRC of the header included
inline constexpr int64_t kHeaderCrcOffset = 36;
inline constexpr int64_t kSectionAlignment = 4096;
inline constexpr int64_t kRowAlignment = 64;
inline constexpr int64_t kChecksumBlock = int64_t{1} << 20;
inline constexpr size_t kMaxNameLength = 200;
inline constexpr uint32_t kMaxSections = 4096;

// `value` >= 0 rounded up to a multiple of `alignment`; INT64_MAX when that is too large.
inline int64_t RoundUp(int64_t value, int64_t alignment) {
  int64_t sum = 0;
  if (__builtin_add_overflow(value, alignment - 1, &sum)) return INT64_MAX;
  return sum / alignment * alignment;
}

// How many CRCs a section of `length` bytes has.
inline int64_t ChecksumCount(int64_t length) {
  return length / kChecksumBlock + (length % kChecksumBlock != 0 ? 1 : 0);
}

inline bool IsSectionName(absl::string_view name) {
  return !name.empty() && name.size() <= kMaxNameLength &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '/' || c == '-';
         });
}

}  // namespace sightline::container_format

#endif  // SIGHTLINE_COMMON_BUNDLE_CONTAINER_FORMAT_H_
