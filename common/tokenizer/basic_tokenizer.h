// The first half of BERT's tokenizer: from text to words.
//
// In order: control characters go; spaces become one kind; CJK ideographs become words
// of their own; the text splits at spaces; words are lower-cased and lose their accents
// if `lowercase`; words split around each punctuation character.
#ifndef SIGHTLINE_COMMON_TOKENIZER_BASIC_TOKENIZER_H_
#define SIGHTLINE_COMMON_TOKENIZER_BASIC_TOKENIZER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

// The words of `text` in order, none of them empty.  Special tokens are text like any
// other: "[CLS]" is three words, so that no caption can forge one.
//
// InvalidArgument if `text` is not UTF-8 or longer than 512 MiB.
absl::StatusOr<std::vector<std::string>> SplitIntoWords(absl::string_view text, bool lowercase);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_BASIC_TOKENIZER_H_
