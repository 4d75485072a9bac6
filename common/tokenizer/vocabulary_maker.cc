#include "common/tokenizer/vocabulary_maker.h"

#include "common/tokenizer/vocabulary_kinds.h"

namespace sightline {

absl::StatusOr<std::unique_ptr<VocabularyMaker>> NewVocabularyMaker(
    TokenizerKind kind, const VocabularyOptions& options) {
  switch (kind) {
    case TokenizerKind::kWordPiece:
      return NewWordPieceMaker(options);
    case TokenizerKind::kByteLevelBpe:
      return NewByteLevelBpeMaker(options);
    case TokenizerKind::kSentencePiece:
      return NewSentencePieceMaker(options);
    case TokenizerKind::kWordList:
      return NewWordListMaker(options);
  }
  return absl::InvalidArgumentError("no such kind of tokenizer");
}

int64_t UsualMinCount(TokenizerKind kind) {
  return kind == TokenizerKind::kWordList ? 4 : 2;
}

}  // namespace sightline
