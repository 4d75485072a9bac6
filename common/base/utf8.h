// Text that came from outside, and whether it is text.
#ifndef SIGHTLINE_COMMON_BASE_UTF8_H_
#define SIGHTLINE_COMMON_BASE_UTF8_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sightline {

// Whether `bytes` is well-formed UTF-8 (Unicode 15, table 3-7): no overlong forms, no
// surrogates, nothing above U+10FFFF.  What is not must never enter a proto3 string,
// where only the receiver would notice.
bool IsValidUtf8(absl::string_view bytes);

// InvalidArgument, naming `what` and the offset of the first byte that is at fault, unless
// IsValidUtf8.
absl::Status CheckUtf8(absl::string_view bytes, absl::string_view what);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_UTF8_H_
