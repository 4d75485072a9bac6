// What several tokenizers need of Unicode.  The functions below CheckText take text that it
// has passed.
#ifndef SIGHTLINE_COMMON_TOKENIZER_UNICODE_H_
#define SIGHTLINE_COMMON_TOKENIZER_UNICODE_H_

#include <unicode/umachine.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

// InvalidArgument if `text` is not UTF-8, with the offset of the first bad byte, or longer
// than 512 MiB.
absl::Status CheckText(absl::string_view text);

bool IsAscii(absl::string_view text);

// The code point at `offset`, which moves behind it.
UChar32 NextCodePoint(absl::string_view text, int64_t* offset);

void AppendCodePoint(UChar32 code_point, std::string* text);

// White space as Python's str.isspace and the \s of its regular expressions have it.
bool IsPythonSpace(UChar32 c);

// The full mapping of the Unicode standard, final sigma included, of no language.
absl::StatusOr<std::string> LowerCase(absl::string_view text);

// Normal form C.  Takes time n log n at worst, where ICU's normalizer takes quadratic time
// for a long run of marks in the worst order: such a text is easily sent.
absl::StatusOr<std::string> ComposeCanonically(absl::string_view text);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_UNICODE_H_
