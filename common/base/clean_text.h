// Text that leaves the process (log lines, error messages, metric labels) has to be
// UTF-8 and of bounded length, whatever it was made of.
#ifndef SIGHTLINE_COMMON_BASE_CLEAN_TEXT_H_
#define SIGHTLINE_COMMON_BASE_CLEAN_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sightline {

// Length in bytes of the well-formed UTF-8 character that `text` begins with; 0 if it
// begins with none.
size_t Utf8CharacterLength(absl::string_view text);

// `text` with every byte that is not part of a well-formed character replaced by
// U+FFFD.
std::string ReplaceInvalidUtf8(absl::string_view text);

// `text` if it has at most `max_bytes` bytes, else a prefix that with "..." after it has
// at most so many and cuts no character.  `text` is UTF-8; `max_bytes` is at least 3.
std::string TruncateUtf8(absl::string_view text, size_t max_bytes);

// Both: replaced, then truncated.
std::string CleanText(absl::string_view text, size_t max_bytes);

// `bytes` if they are UTF-8 without control characters; else each byte that is none of ASCII's
// printable ones becomes \xNN.
std::string EscapeUnlessPrintable(absl::string_view bytes);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_CLEAN_TEXT_H_
