// English words as the Penn Treebank counts them: the rules of NLTK's word_tokenize (3.5 to
// 3.8), by which SGRAF's vocabularies were made.
#ifndef SIGHTLINE_COMMON_TOKENIZER_TREEBANK_WORDS_H_
#define SIGHTLINE_COMMON_TOKENIZER_TREEBANK_WORDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

// The words of `text`, lower-cased, none of them empty.  Punctuation is a word of its own,
// "n't", "'s" and the like are, "cannot" is two; a period is only at a sentence's end, and
// quotes become `` and ''.  The time is linear.
//
// Two things differ from NLTK.  It finds sentences with a trained model (punkt), which
// knows abbreviations; here a sentence ends at a word's period (with closing quotes and
// brackets) before white space, unless the word is one letter or has another period in it
// ("j.", "u.s."), so that "dr." within a text is two words.  And any white space counts as
// one space, where those releases take some rules after spaces only.
//
// InvalidArgument if `text` is not UTF-8 or longer than 512 MiB.
absl::StatusOr<std::vector<std::string>> SplitIntoTreebankWords(absl::string_view text);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_TREEBANK_WORDS_H_
