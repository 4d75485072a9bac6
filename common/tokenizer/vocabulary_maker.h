// A vocabulary's file for a corpus that has none, of any kind that is made here.
//
//   ASSIGN_OR_RETURN(auto maker, NewVocabularyMaker(TokenizerKind::kWordList, options));
//   for (const std::string& caption : captions) RETURN_IF_ERROR(maker->Add(caption));
//   ASSIGN_OR_RETURN(const std::string file, maker->Make());
//
// WordPiece: as vocabulary_builder.h says.
//
// Byte-level BPE: a list of merges, the most frequent pair first, as CLIP's was made: each word
// counts as often as it is there, bytes are symbols, and the last one of a word is marked.  Every
// text has ids, whatever it was made of.
//
// Word list: the words that are there often enough, the most frequent first, behind SCAN's four
// special ones (vocab.py of its release takes those of at least four occurrences).  Words that are
// as frequent come bytewise.
//
// SentencePiece: a unigram model of the texts' words (unigram_learner.h), normalised as charsmap.h
// says, with XLM-R's special pieces.  SentencePiece's library reads it, too.
//
// Words are counted in bounded memory (word_counter.h).  A new kind is a file that implements
// VocabularyMaker, a line in vocabulary_kinds.h and one in vocabulary_maker.cc.
#ifndef SIGHTLINE_COMMON_TOKENIZER_VOCABULARY_MAKER_H_
#define SIGHTLINE_COMMON_TOKENIZER_VOCABULARY_MAKER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/tokenizer/make_tokenizer.h"
#include "common/tokenizer/vocabulary_builder.h"

namespace sightline {

// What is in a file that was made.
struct MadeVocabulary {
  std::string file;  // as MakeTokenizer takes it
  int size = 0;      // of the tokenizer that it makes
};

// Not thread-safe.
class VocabularyMaker {
 public:
  virtual ~VocabularyMaker() = default;

  // Counts the words of `text`.  InvalidArgument if it is not UTF-8; then nothing is counted.
  // ResourceExhausted if the texts have too many different words; then nothing can be made.
  virtual absl::Status Add(absl::string_view text) = 0;

  // Makes tokens of the characters of `text`, though no text may have them: what queries will be
  // written with.  Bytes and whole words spell nothing by characters: there it does nothing.
  // InvalidArgument if it is not UTF-8.
  virtual absl::Status AddAlphabet(absl::string_view text) = 0;

  // Words counted so far, repetitions included.
  virtual int64_t word_count() const = 0;

  // Equal texts, in whatever order, give equal bytes.  InvalidArgument if max_size does not hold
  // what every vocabulary of the kind has, or nothing is frequent enough.
  virtual absl::StatusOr<MadeVocabulary> Make() const = 0;
};

// By `options.max_size` and `min_count`, and for WordPiece all of them.  InvalidArgument for a kind
// that there is not; otherwise as the kind's own.
absl::StatusOr<std::unique_ptr<VocabularyMaker>> NewVocabularyMaker(
    TokenizerKind kind, const VocabularyOptions& options);

// `min_count` where nobody says another: 2, and of word lists the 4 of SCAN's release.
int64_t UsualMinCount(TokenizerKind kind);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_VOCABULARY_MAKER_H_
