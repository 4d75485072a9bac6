// Text as a model reads it: a first special token, the tokens, a last special token, cut
// to the model's limit.  `[CLS]` and `[SEP]` with WordPiece; `<s>` and `</s>` and so on with
// the others.
#ifndef SIGHTLINE_COMMON_MODELS_INPUTS_TEXT_INPUT_H_
#define SIGHTLINE_COMMON_MODELS_INPUTS_TEXT_INPUT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/bundle/item_features.h"
#include "common/bundle/model_bundle.h"
#include "common/models/model.h"
#include "common/tokenizer/tokenizer.h"

namespace sightline {

// Immutable, thread-safe.
class TextInput {
 public:
  // Reads the bundle's vocabulary.  InvalidArgument if it is malformed or its length
  // differs from the rows of the word table: a wrong vocabulary of the right length cannot
  // be told from the right one, but one of the wrong length can.
  static absl::StatusOr<std::unique_ptr<TextInput>> Create(const ModelBundle& bundle);

  // See Model::Tokenize.
  absl::StatusOr<Tokens> Tokenize(absl::string_view text) const;

  // The first `max_count` tokens of `words`, which are tokenized as the text that they make
  // with spaces between them; none if there are no words.  InvalidArgument if one is not
  // UTF-8.
  absl::StatusOr<std::vector<int32_t>> TokensOf(const std::vector<std::string>& words,
                                                int64_t max_count) const;

  // InvalidArgument unless there are 1 to `max_count` ids, each in the vocabulary.
  absl::Status Check(absl::Span<const int32_t> ids, int64_t max_count) const;
  absl::Status Check(absl::Span<const int32_t> ids) const { return Check(ids, max_token_count_); }

  // Tokens as item features and back, as the tensor `name`, int32, rows x 1.  FromFeatures:
  // InvalidArgument for features that lack the tensor, or whose numbers contradict each other
  // or fail Check.
  static ItemFeatures ToFeatures(const Tokens& tokens, absl::string_view name);
  absl::StatusOr<Tokens> FromFeatures(const ItemFeatures& features, absl::string_view name) const;

  int32_t cls_id() const { return tokenizer_->cls_id(); }
  int32_t sep_id() const { return tokenizer_->sep_id(); }
  int64_t max_token_count() const { return max_token_count_; }

 private:
  TextInput(std::unique_ptr<Tokenizer> tokenizer, int64_t max_token_count)
      : tokenizer_(std::move(tokenizer)), max_token_count_(max_token_count) {}

  const std::unique_ptr<Tokenizer> tokenizer_;
  const int64_t max_token_count_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_INPUTS_TEXT_INPUT_H_
