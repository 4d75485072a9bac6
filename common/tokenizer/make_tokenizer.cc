#include "common/tokenizer/make_tokenizer.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/tokenizer/byte_level_bpe.h"
#include "common/tokenizer/gunzip.h"
#include "common/tokenizer/sentencepiece_tokenizer.h"
#include "common/tokenizer/word_list.h"
#include "common/tokenizer/wordpiece.h"

namespace sightline {

absl::StatusOr<TokenizerKind> ParseTokenizerKind(absl::string_view name) {
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

absl::StatusOr<std::unique_ptr<Tokenizer>> MakeTokenizer(TokenizerKind kind,
                                                         absl::string_view vocabulary,
                                                         bool lowercase) {
  ASSIGN_OR_RETURN(const std::string unpacked,
                   GunzipIfGzipped(vocabulary, limits::kMaxVocabularyBytes));
  switch (kind) {
    case TokenizerKind::kWordPiece:
      return WordPieceTokenizer::Create(unpacked, {lowercase});
    case TokenizerKind::kByteLevelBpe:
      return ByteLevelBpeTokenizer::Create(unpacked);
    case TokenizerKind::kSentencePiece:
      return SentencePieceTokenizer::Create(unpacked);
    case TokenizerKind::kWordList:
      return WordListTokenizer::Create(unpacked);
  }
  return absl::InvalidArgumentError("no such kind of tokenizer");
}

}  // namespace sightline
