// The words of WordNet (Miller, 1995), as its release and Debian's package wordnet-base have them:
// which kind of word each is, what it is a form of, and what means the opposite.
//
//   ASSIGN_OR_RETURN(const WordNet wordnet, WordNet::Read("/usr/share/wordnet"));
//   const std::vector<CaptionWord> words = wordnet.WordsOf("Two tall girls are laughing.");
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_WORDNET_H_
#define SIGHTLINE_COMMON_TRAINING_WORDNET_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/training/objectives/bimodal_negatives.h"

namespace sightline {

// Immutable, thread-safe.
class WordNet {
 public:
  // `folder` has cntlist.rev, and index.*, data.* and *.exc of nouns, verbs, adjectives and adverbs
  // (wndb(5WN)). NotFound and so on from reading; InvalidArgument, with file and line, for what is
  // not in WordNet's form.
  static absl::StatusOr<WordNet> Read(absl::string_view folder);

  // The words of a caption (SplitCaption), each with its kind: that in which WordNet's texts have
  // it most often (cntlist.rev), then in the most senses, nouns before verbs before adjectives
  // before adverbs where that is equal, too.  Its lemma is the form of the dictionary, by WordNet's
  // exceptions and rules of detachment.  Articles, prepositions, pronouns, numbers and auxiliaries
  // are kOther, though WordNet has "in" as a noun (inch).
  std::vector<CaptionWord> WordsOf(absl::string_view caption) const;

  // Of all that was read: 64 hex digits.
  const std::string& digest() const { return digest_; }

  // By lemma, with spaces where WordNet has underscores; of verbs, adjectives and adverbs.
  const Antonyms& antonyms() const { return antonyms_; }

 private:
  // Of nouns, verbs, adjectives and adverbs, in this order.
  struct Kind {
    absl::flat_hash_map<std::string, int> tagged_senses;  // by lemma
    absl::flat_hash_map<std::string, int64_t> counts;     // by lemma, in WordNet's texts
    absl::flat_hash_map<std::string, std::string> exceptions;
  };

  absl::Status ReadIndex(absl::string_view folder, int kind);
  absl::Status ReadCounts(absl::string_view folder);
  absl::Status ReadExceptions(absl::string_view folder, int kind);
  absl::Status ReadAntonyms(absl::string_view folder, int kind);
  // The lemma of this kind that `word` is a form of, "" if there is none.
  std::string LemmaOf(const std::string& word, int kind) const;
  void Understand(CaptionWord* word) const;

  std::array<Kind, 4> kinds_;
  Antonyms antonyms_;
  std::string digest_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_WORDNET_H_
