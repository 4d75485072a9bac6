// Kinds of tokenizers by the names that golden cases know them by.
#ifndef SIGHTLINE_TESTS_COMMON_TOKENIZER_TOKENIZER_KINDS_H_
#define SIGHTLINE_TESTS_COMMON_TOKENIZER_TOKENIZER_KINDS_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/tokenizer/make_tokenizer.h"

namespace sightline {

// InvalidArgument, naming those there are, for any other name.
inline absl::StatusOr<TokenizerKind> ParseTokenizerKind(absl::string_view name) {
  constexpr std::pair<absl::string_view, TokenizerKind> kKinds[] = {
      {"wordpiece", TokenizerKind::kWordPiece},
      {"clip_bpe", TokenizerKind::kByteLevelBpe},
      {"sentencepiece", TokenizerKind::kSentencePiece},
      {"word_list", TokenizerKind::kWordList},
  };
  std::string names;
  for (const auto& [known, kind] : kKinds) {
    if (known == name) return kind;
    absl::StrAppend(&names, names.empty() ? "" : ", ", known);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the kind of tokenizer is \"", name, "\"; there are: ", names));
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_TOKENIZER_TOKENIZER_KINDS_H_
