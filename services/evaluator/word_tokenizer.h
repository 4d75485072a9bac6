// Words as a tokenizer tells them apart: two are one word if it makes the same tokens of them, so
// that case and accents count where they count for the model.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_WORD_TOKENIZER_H_
#define SIGHTLINE_SERVICES_EVALUATOR_WORD_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/bundle/model_bundle.h"
#include "common/tokenizer/tokenizer.h"

namespace sightline {

struct TokenizedWord {
  std::string text;                 // as the text has it; in lower case, if the tokenizer does that
  std::vector<std::string> tokens;  // as the vocabulary spells them
  bool unknown = false;             // one of them is the unknown token
  // Equal for equal words.  Words with unknown tokens are told apart by their letters.
  std::string key;
};

// Immutable, thread-safe.
class WordTokenizer {
 public:
  // That of a bundle.  Errors of reading; InvalidArgument for a vocabulary that its kind refuses.
  static absl::StatusOr<WordTokenizer> OfBundle(const ModelBundle& bundle);
  // WordPiece of a vocab.txt.  Likewise.
  static absl::StatusOr<WordTokenizer> OfVocabulary(const std::string& path, bool lowercase);

  // The words of `text` in order: what stands between spaces and punctuation, and each punctuation
  // mark (basic_tokenizer.h).  InvalidArgument if it is not UTF-8.
  absl::StatusOr<std::vector<TokenizedWord>> Words(absl::string_view text) const;

  // The keys of the words that WordPiece has made `ids` of; special tokens are none.
  std::vector<std::string> KeysOf(absl::Span<const int32_t> ids) const;

  bool is_wordpiece() const { return wordpiece_; }
  const std::string& vocabulary_sha256() const { return vocabulary_sha256_; }
  int32_t vocabulary_size() const { return tokenizer_->vocabulary_size(); }

 private:
  WordTokenizer(std::unique_ptr<Tokenizer> tokenizer, bool wordpiece, bool lowercase,
                std::string vocabulary_sha256)
      : tokenizer_(std::move(tokenizer)),
        wordpiece_(wordpiece),
        lowercase_(lowercase),
        vocabulary_sha256_(std::move(vocabulary_sha256)) {}

  absl::StatusOr<TokenizedWord> Tokenized(std::string word) const;

  std::unique_ptr<Tokenizer> tokenizer_;
  bool wordpiece_;
  bool lowercase_;
  std::string vocabulary_sha256_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_WORD_TOKENIZER_H_
