#include "common/tokenizer/make_tokenizer.h"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/tokenizer/byte_level_bpe.h"
#include "common/tokenizer/gunzip.h"
#include "common/tokenizer/sentencepiece_tokenizer.h"
#include "common/tokenizer/word_list.h"
#include "common/tokenizer/wordpiece.h"

namespace sightline {
namespace {

constexpr TokenizerKind kKinds[] = {TokenizerKind::kWordPiece, TokenizerKind::kByteLevelBpe,
                                    TokenizerKind::kSentencePiece, TokenizerKind::kWordList};

}  // namespace

absl::string_view TokenizerKindName(TokenizerKind kind) {
  switch (kind) {
    case TokenizerKind::kWordPiece:
      return "wordpiece";
    case TokenizerKind::kByteLevelBpe:
      return "clip_bpe";
    case TokenizerKind::kSentencePiece:
      return "sentencepiece";
    case TokenizerKind::kWordList:
      return "word_list";
  }
  return "";
}

absl::StatusOr<TokenizerKind> ParseTokenizerKind(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const TokenizerKind kind : kKinds) {
    if (TokenizerKindName(kind) == name) return kind;
    names.push_back(TokenizerKindName(kind));
  }
  return absl::InvalidArgumentError(absl::StrCat("the kind of tokenizer is \"", name,
                                                 "\"; there are: ", absl::StrJoin(names, ", ")));
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
