// Text that came from outside, and whether it is text.
#ifndef SIGHTLINE_COMMON_BASE_UTF8_H_
#define SIGHTLINE_COMMON_BASE_UTF8_H_

#include "absl/strings/string_view.h"

namespace sightline {

// Whether `bytes` is well-formed UTF-8 (Unicode 15, table 3-7): no overlong forms, no
// surrogates, nothing above U+10FFFF.  What is not must never enter a proto3 string,
// where only the receiver would notice.
bool IsValidUtf8(absl::string_view bytes);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_UTF8_H_
