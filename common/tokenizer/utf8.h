// Whether bytes from strangers are UTF-8.
#ifndef SIGHTLINE_COMMON_TOKENIZER_UTF8_H_
#define SIGHTLINE_COMMON_TOKENIZER_UTF8_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sightline {

// InvalidArgument naming `what` and the offset of the first byte that is not UTF-8 as
// RFC 3629 has it: no surrogates, no overlong forms, nothing above U+10FFFF.
absl::Status CheckUtf8(absl::string_view bytes, absl::string_view what);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_UTF8_H_
