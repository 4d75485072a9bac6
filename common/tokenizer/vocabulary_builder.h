// A WordPiece vocabulary for a corpus, from nothing.
//
//   VocabularyBuilder builder({});
//   for (const std::string& caption : captions) RETURN_IF_ERROR(builder.Add(caption));
//   ASSIGN_OR_RETURN(std::vector<std::string> tokens, builder.Build());
//
// Tokens come in this order, until there are max_size: the special ones; every character
// that the texts and the alphabet have, at a word's start ("c") and inside it ("##c"), so
// that no word made of them is unknown; whole words, the most frequent first, and those that
// only the background has behind all others; then pieces, which spell the rare words and those
// that only queries will have.
//
// Pieces are found by byte pair encoding over characters (Sennrich et al., "Neural machine
// translation of rare words with subword units", 2016): of all neighbours in all words the
// most frequent pair becomes one piece, again and again.  Every distinct word counts once,
// since a word to come is one more kind of word, not one more use of a frequent one.  Ties
// go to the piece that is bytewise smaller.  Words too rare for MostFrequentWords teach none.
#ifndef SIGHTLINE_COMMON_TOKENIZER_VOCABULARY_BUILDER_H_
#define SIGHTLINE_COMMON_TOKENIZER_VOCABULARY_BUILDER_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/tokenizer/word_counter.h"

namespace sightline {

struct VocabularyOptions {
  // Must be what the tokenizer will be told.
  bool lowercase = true;
  // A token costs a row of the word table.
  int max_size = 8000;
  // Words and pairs seen less often become no token.
  int64_t min_count = 2;
  // How much of what the characters leave may go to whole words, from 0 to 1.
  double word_share = 0.75;
};

// Not thread-safe.
class VocabularyBuilder {
 public:
  explicit VocabularyBuilder(const VocabularyOptions& options) : options_(options) {}

  // Counts the words of `text`, split as WordPiece splits them.  InvalidArgument if it is
  // not UTF-8; then nothing of it is counted.  ResourceExhausted for too many different words
  // (word_counter.h).
  absl::Status Add(absl::string_view text);

  // The same of a text that is not the corpus's own, such as a dictionary's: its words become
  // whole tokens where the corpus's leave room.
  absl::Status AddBackground(absl::string_view text);

  // Makes tokens of the characters of `text`, as WordPiece sees them (in lower case and
  // without accents, if it is told so), though no text may have them: what queries will
  // be written in.  Counts no words.  InvalidArgument if it is not UTF-8.
  absl::Status AddAlphabet(absl::string_view text);

  // Words counted so far by Add, repetitions included.
  int64_t word_count() const { return own_.total(); }

  // Equal texts, in whatever order, give equal tokens.  InvalidArgument if not even the
  // special tokens and the characters fit into max_size.
  absl::StatusOr<std::vector<std::string>> Build() const;

 private:
  const VocabularyOptions options_;
  WordCounter own_, background_;
  std::set<std::string> alphabet_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_VOCABULARY_BUILDER_H_
