// In how many captions words stand, of those that a model was or was not shown.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_SHOWN_WORDS_H_
#define SIGHTLINE_SERVICES_EVALUATOR_SHOWN_WORDS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/dataset/corpus.h"
#include "common/dataset/splits.h"
#include "common/training/training_set.h"
#include "services/evaluator/word_tokenizer.h"

namespace sightline {

struct WordCounts {
  std::map<std::pair<Split, std::string>, int64_t> captions;  // by split and language
  int64_t texts = 0;  // without pictures, from which words are learnt too (--learn-texts)

  int64_t CaptionsOf(Split split) const;
  // In training, whatever the language.
  bool Shown() const { return texts > 0 || CaptionsOf(Split::kTrain) > 0; }
};

// Counts some words and passes over all others, so that it takes no more memory for more captions.
class ShownWords {
 public:
  explicit ShownWords(const std::set<std::string>& keys) {
    for (const std::string& key : keys) counts_[key];
  }

  // All captions and texts of the set, cut as training reads them: a word that is cut in two is the
  // shorter one.  FailedPrecondition if its vocabulary is not the tokenizer's.
  absl::Status AddSet(const TrainingSet& set, const WordTokenizer& tokenizer);
  // Of items that their source puts in no split it is the one that follows from the id; near
  // duplicates are not looked for.  A caption that is not UTF-8 is passed over.
  void AddListing(const CorpusListing& listing, const WordTokenizer& tokenizer);

  // `key` is one of those that are counted.
  const WordCounts& of(const std::string& key) const { return counts_.at(key); }
  // Of all captions and texts.
  const WordCounts& total() const { return total_; }

 private:
  // The counts of each word among `keys` that is counted, once.
  std::vector<WordCounts*> CountsOf(std::vector<std::string> keys);
  void AddCaption(Split split, const std::string& language, std::vector<std::string> keys);

  std::map<std::string, WordCounts> counts_;
  WordCounts total_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_SHOWN_WORDS_H_
