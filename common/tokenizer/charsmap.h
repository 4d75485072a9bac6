// The form in which SentencePiece's model files carry their rules of normalisation, a "precompiled
// charsmap"; sentencepiece_normalizer.h says what it is made of, and reads it.
#ifndef SIGHTLINE_COMMON_TOKENIZER_CHARSMAP_H_
#define SIGHTLINE_COMMON_TOKENIZER_CHARSMAP_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace sightline {

// By what a text may have, what is put in its place: UTF-8 without zero bytes, the former not
// empty.
using NormalizationRules = std::map<std::string, std::string>;

// The bytes of `rules`, in units whose number is a multiple of 256, as SentencePiece's library
// demands it.  The same rules give the same bytes.  InvalidArgument for rules that it cannot have,
// or too many of them: the units of a trie are at most two million.
absl::StatusOr<std::string> CompileCharsmap(const NormalizationRules& rules);

// What a text is changed by before it is cut into pieces that were learnt here, which is near to
// SentencePiece's nmt_nfkc, XLM-R's:
//  - Normal form KC of every character, and of every character that marks compose with the one
//    before them, partly composed or not.  Syllables of Hangul that are spelled by their parts stay
//    so, and marks in another order than the standard's.
//  - White space and U+200B are a space; so are U+FFFD and U+2581, the mark of a word's start, so
//    that nobody writes it into a text.
//  - Control characters are nothing, but for zero bytes, for which there can be no rule.
// Only of what Unicode 15.0 has, and for that the standard promises that it stays: the bytes are
// the same with every later ICU.  Internal if ICU has no data.
absl::StatusOr<NormalizationRules> NfkcRules();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_CHARSMAP_H_
