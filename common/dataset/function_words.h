// English words of closed classes: nobody who reads them thinks of a thing, a deed or a property.
#ifndef SIGHTLINE_COMMON_DATASET_FUNCTION_WORDS_H_
#define SIGHTLINE_COMMON_DATASET_FUNCTION_WORDS_H_

#include "absl/strings/string_view.h"

namespace sightline {

// Articles, pronouns, prepositions, conjunctions, auxiliaries, quantifiers, numerals to ten, and
// adverbs that only point or deny; `word` in lower case.
bool IsFunctionWord(absl::string_view word);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_FUNCTION_WORDS_H_
