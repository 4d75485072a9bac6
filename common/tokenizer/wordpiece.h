// BERT's tokenizer: whitespace and punctuation first, then the longest pieces that the
// vocabulary has, from left to right ("Devlin et al., BERT", tokenization.py of the
// authors' release).
//
//   ASSIGN_OR_RETURN(auto tokenizer, WordPieceTokenizer::Create(vocab_txt, {/*lowercase=*/true}));
//   ASSIGN_OR_RETURN(std::vector<int32_t> ids, tokenizer->Encode("a red fish"));
#ifndef SIGHTLINE_COMMON_TOKENIZER_WORDPIECE_H_
#define SIGHTLINE_COMMON_TOKENIZER_WORDPIECE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/tokenizer/tokenizer.h"

namespace sightline {

struct WordPieceOptions {
  // For the "uncased" vocabularies: lower-case, and take accents off.
  bool lowercase = true;
};

// Thread-safe.
class WordPieceTokenizer : public Tokenizer {
 public:
  // `vocabulary` is the text of a vocab.txt: one token a line, the line's number (from
  // zero) is its id; lines end in \n or \r\n.  It is copied.
  //
  // InvalidArgument, with the line's number from one, for a token that is there twice,
  // an empty line, one of more than 512 bytes or that is not UTF-8, and more than a
  // million tokens; and if [PAD], [UNK], [CLS], [SEP] or [MASK] is missing.
  static absl::StatusOr<std::unique_ptr<WordPieceTokenizer>> Create(
      absl::string_view vocabulary, const WordPieceOptions& options);

  absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text) const override;
  absl::string_view Spelling(int32_t id) const override { return tokens_[id]; }

  int32_t vocabulary_size() const override { return static_cast<int32_t>(tokens_.size()); }

 private:
  // Pieces of one kind (at a word's start, or inside it, the "##" taken off).
  struct Pieces {
    absl::flat_hash_map<absl::string_view, int32_t> ids;  // views into vocabulary_
    size_t longest = 0;                                   // bytes
  };

  WordPieceTokenizer(absl::string_view vocabulary, const WordPieceOptions& options);
  absl::Status IndexVocabulary();
  absl::Status AddToken(absl::string_view token, size_t line);
  absl::Status FindSpecialTokens();
  void AppendPieces(absl::string_view word, std::vector<int32_t>* ids) const;

  const WordPieceOptions options_;
  const std::string vocabulary_;
  std::vector<absl::string_view> tokens_;  // by id; views into vocabulary_
  Pieces first_;
  Pieces inner_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_WORDPIECE_H_
