// The vocabulary of a model that is trained from nothing.
#ifndef SIGHTLINE_SERVICES_TRAINER_CAPTION_VOCABULARY_H_
#define SIGHTLINE_SERVICES_TRAINER_CAPTION_VOCABULARY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

// What a query in a Latin script may be written with, whatever the captions are: the
// visible characters of ASCII and Latin-1, the letters of Latin Extended-A, -B and
// Additional and of the IPA Extensions, and the punctuation of typesetters.  UTF-8, one
// space between two.
std::string LatinAlphabet();

// The text of a vocab.txt of at most `size` tokens, made of `captions` as
// VocabularyBuilder makes it, of the words of `background` as far as there is room, and of
// LatinAlphabet: no query in a Latin script has an
// unknown token.  `lowercase` is what the tokenizer will be told.
//
// InvalidArgument for a caption that is not UTF-8, or if `size` does not hold the
// characters.
absl::StatusOr<std::string> MakeCaptionVocabulary(const std::vector<absl::string_view>& captions,
                                                  const std::vector<absl::string_view>& background,
                                                  bool lowercase, int size);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_CAPTION_VOCABULARY_H_
