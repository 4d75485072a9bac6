// The makers that NewVocabularyMaker chooses from, each in a file of its name, and what they have
// to say alike.
#ifndef SIGHTLINE_COMMON_TOKENIZER_VOCABULARY_KINDS_H_
#define SIGHTLINE_COMMON_TOKENIZER_VOCABULARY_KINDS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/tokenizer/vocabulary_maker.h"

namespace sightline {

using NewMaker = absl::StatusOr<std::unique_ptr<VocabularyMaker>>;

NewMaker NewWordPieceMaker(const VocabularyOptions& options);
NewMaker NewByteLevelBpeMaker(const VocabularyOptions& options);
NewMaker NewWordListMaker(const VocabularyOptions& options);
// Internal if ICU has no data.
NewMaker NewSentencePieceMaker(const VocabularyOptions& options);

inline absl::Status VocabularyTooSmall(int max_size, size_t least, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      "a vocabulary of at most ", max_size, " tokens does not hold ", what, ", which are ", least));
}

inline absl::Status NothingFrequent(int64_t min_count) {
  return absl::InvalidArgumentError(
      absl::StrCat("nothing is in the texts ", min_count, " times; are there any?"));
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_VOCABULARY_KINDS_H_
