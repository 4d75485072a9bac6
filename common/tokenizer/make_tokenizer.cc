#include "common/tokenizer/make_tokenizer.h"

#include <string>

#include "absl/status/status.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/tokenizer/byte_level_bpe.h"
#include "common/tokenizer/gunzip.h"
#include "common/tokenizer/sentencepiece_tokenizer.h"
#include "common/tokenizer/word_list.h"
#include "common/tokenizer/wordpiece.h"

namespace sightline {
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
