// What CLIP's byte-level BPE joins: words of a cleaned text, and how their bytes are spelled.
// byte_level_bpe.h has the rules.
#ifndef SIGHTLINE_COMMON_TOKENIZER_BYTE_LEVEL_WORDS_H_
#define SIGHTLINE_COMMON_TOKENIZER_BYTE_LEVEL_WORDS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sightline {

// Stands behind the symbol that ends a word.
inline constexpr absl::string_view kWordEnd = "</w>";

// The 256 bytes in the order of the release, which is that of their ids: first those that are
// printed as themselves.
std::vector<int> BytesInOrder();

// How a list of merges spells a byte: as a character.
std::string ByteSpelling(int byte);

// Calls `take` with the bytes of each word of `text`, in order.  InvalidArgument as
// Tokenizer::Encode.
absl::Status ForEachByteLevelWord(absl::string_view text,
                                  const std::function<void(absl::string_view word)>& take);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_BYTE_LEVEL_WORDS_H_
