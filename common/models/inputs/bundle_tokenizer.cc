#include "common/models/inputs/bundle_tokenizer.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sightline {

using bundle::v1::TokenizerSpec;

absl::StatusOr<TokenizerKind> TokenizerKindOf(const TokenizerSpec& spec) {
  switch (spec.kind()) {
    case TokenizerSpec::WORDPIECE:
      return TokenizerKind::kWordPiece;
    case TokenizerSpec::BYTE_LEVEL_BPE:
      return TokenizerKind::kByteLevelBpe;
    case TokenizerSpec::SENTENCEPIECE:
      return TokenizerKind::kSentencePiece;
    case TokenizerSpec::WORD_LIST:
      return TokenizerKind::kWordList;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("tokenizer.kind is ", spec.kind(), ", which is none"));
  }
}

absl::StatusOr<std::unique_ptr<Tokenizer>> NewTokenizer(const TokenizerSpec& spec,
                                                        absl::string_view vocabulary) {
  ASSIGN_OR_RETURN(const TokenizerKind kind, TokenizerKindOf(spec));
  return MakeTokenizer(kind, vocabulary, spec.lowercase());
}

int64_t VocabularySizeOf(const bundle::v1::ModelBundleManifest& manifest) {
  if (manifest.has_sgraf()) return manifest.sgraf().vocabulary_size();
  if (manifest.has_torch_script()) return manifest.torch_script().vocabulary_size();
  return manifest.transformer().vocabulary_size();
}

void SetVocabularySize(int64_t size, bundle::v1::ModelBundleManifest* manifest) {
  if (manifest->has_sgraf()) {
    manifest->mutable_sgraf()->set_vocabulary_size(size);
  } else if (manifest->has_torch_script()) {
    manifest->mutable_torch_script()->set_vocabulary_size(size);
  } else {
    manifest->mutable_transformer()->set_vocabulary_size(size);
  }
}

}  // namespace sightline
