// A WordPiece vocabulary for a corpus, from nothing.
//
//   VocabularyBuilder builder({});
//   for (const std::string& caption : captions) RETURN_IF_ERROR(builder.Add(caption));
//   ASSIGN_OR_RETURN(std::vector<std::string> tokens, builder.Build());
//
// Tokens come in this order, until there are max_size: the special ones; every character
// that the texts have, at a word's start ("c") and inside it ("##c"), so that no word of
// theirs is unknown; then whole words and pieces, most useful first.
//
// How useful a token is: the tokens that it saves where it stands, which is its count
// times the characters it covers less one.  Pieces are beginnings and inner parts
// of words, of 2 to max_piece_length characters; words and pieces must occur min_count
// times.  Ties go to the bytewise smaller token.  This is the greedy first step of what
// WordPiece's own trainer does by likelihood, and good enough for a corpus whose words
// mostly fit as a whole.
#ifndef SIGHTLINE_COMMON_TOKENIZER_VOCABULARY_BUILDER_H_
#define SIGHTLINE_COMMON_TOKENIZER_VOCABULARY_BUILDER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

struct VocabularyOptions {
  // Must be what the tokenizer will be told.
  bool lowercase = true;
  // A token costs a row of the word table.
  int max_size = 8000;
  // Words and pieces seen less often are spelled with smaller ones.
  int64_t min_count = 2;
  int max_piece_length = 6;
};

// Not thread-safe.
class VocabularyBuilder {
 public:
  explicit VocabularyBuilder(const VocabularyOptions& options) : options_(options) {}

  // Counts the words of `text`, split as WordPiece splits them.  InvalidArgument if it is
  // not UTF-8; then nothing of it is counted.
  absl::Status Add(absl::string_view text);

  // Words counted so far, repetitions included.
  int64_t word_count() const { return word_count_; }

  // Equal texts, in whatever order, give equal tokens.  InvalidArgument if not even the
  // special tokens and the characters fit into max_size.
  absl::StatusOr<std::vector<std::string>> Build() const;

 private:
  const VocabularyOptions options_;
  std::map<std::string, int64_t> words_;
  int64_t word_count_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_VOCABULARY_BUILDER_H_
