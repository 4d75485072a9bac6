// Text as a BERT-like model reads it: `[CLS] wordpieces [SEP]`, cut to the model's
// limit.  Shared by every family whose bundle has a WordPiece vocabulary.
#ifndef SIGHTLINE_COMMON_MODELS_TEXT_INPUT_H_
#define SIGHTLINE_COMMON_MODELS_TEXT_INPUT_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/bundle/item_features.h"
#include "common/bundle/model_bundle.h"
#include "common/models/model.h"
#include "common/tokenizer/wordpiece.h"

namespace sightline {

// Longest text that is looked at, in bytes.  Ten times what 512 tokens of prose need;
// what is longer is no query.
inline constexpr int64_t kMaxTextBytes = 16 << 10;

// Name of a text's only feature tensor: its token ids, int32, rows x 1.
inline constexpr absl::string_view kIdsTensor = "ids";

// Immutable, thread-safe.
class TextInput {
 public:
  // Reads the bundle's vocabulary.  InvalidArgument if it is malformed or its length
  // differs from transformer.vocabulary_size: a wrong vocabulary of the right length
  // cannot be told from the right one, but one of the wrong length can.
  static absl::StatusOr<std::unique_ptr<TextInput>> Create(const ModelBundle& bundle);

  // See TextEncoder::Tokenize.
  absl::StatusOr<Tokens> Tokenize(absl::string_view text) const;

  // InvalidArgument unless there are 1 to max_token_count ids, each in the vocabulary.
  absl::Status Check(absl::Span<const int32_t> ids) const;

  // Tokens as item features and back.  FromFeatures: InvalidArgument for features that
  // lack the tensor, or whose numbers contradict each other or fail Check.
  static ItemFeatures ToFeatures(const Tokens& tokens);
  absl::StatusOr<Tokens> FromFeatures(const ItemFeatures& features) const;

  int32_t cls_id() const { return tokenizer_->cls_id(); }

 private:
  TextInput(std::unique_ptr<WordPieceTokenizer> tokenizer, int64_t max_token_count)
      : tokenizer_(std::move(tokenizer)), max_token_count_(max_token_count) {}

  const std::unique_ptr<WordPieceTokenizer> tokenizer_;
  const int64_t max_token_count_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_TEXT_INPUT_H_
