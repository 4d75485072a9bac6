// A tokenizer of any kind, from the bytes of its vocabulary file.
#ifndef SIGHTLINE_COMMON_TOKENIZER_MAKE_TOKENIZER_H_
#define SIGHTLINE_COMMON_TOKENIZER_MAKE_TOKENIZER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/tokenizer/tokenizer.h"

namespace sightline {

enum class TokenizerKind { kWordPiece, kByteLevelBpe, kSentencePiece, kWordList };

// "wordpiece", "clip_bpe", "sentencepiece", "word_list".  InvalidArgument, with all of them, for
// another.
absl::StatusOr<TokenizerKind> ParseTokenizerKind(absl::string_view name);

// `vocabulary`, gzipped or not, is what the kind's Create takes, at most 64 MiB unpacked.
// `lowercase` is WordPiece's; the other kinds have one way.
//
// InvalidArgument for a vocabulary that cannot be unpacked or that Create refuses.
absl::StatusOr<std::unique_ptr<Tokenizer>> MakeTokenizer(TokenizerKind kind,
                                                         absl::string_view vocabulary,
                                                         bool lowercase);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_MAKE_TOKENIZER_H_
