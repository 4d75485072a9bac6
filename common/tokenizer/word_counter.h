// How often each word of many texts is there, in memory that does not grow with the texts.
#ifndef SIGHTLINE_COMMON_TOKENIZER_WORD_COUNTER_H_
#define SIGHTLINE_COMMON_TOKENIZER_WORD_COUNTER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace sightline {

// Different words, with what a map costs for each: some six million of a natural language, where a
// million captions have thirty thousand.
inline constexpr size_t kMaxDifferentWordBytes = size_t{512} << 20;

// Of so many bytes of different words pieces are learnt: half a million words.  What the rarer ones
// would add is below anything that a vocabulary holds, and learning takes a hundred times their
// bytes.
inline constexpr size_t kMaxLearntWordBytes = size_t{4} << 20;

// 100 characters have at most 400 bytes.
inline constexpr size_t kMaxWordBytes = 512;

struct CountedWord {
  std::string text;
  int64_t count = 0;
};

// Not thread-safe.
class WordCounter {
 public:
  explicit WordCounter(size_t max_bytes = kMaxDifferentWordBytes) : max_bytes_(max_bytes) {}

  // ResourceExhausted if it is one different word too many; then it is not counted.  One of more
  // than kMaxWordBytes is passed over: no language's, and no reader takes it whole.
  absl::Status Add(const std::string& word);

  // Counted so far, repetitions included.
  int64_t total() const { return total_; }

  // By word, bytewise.
  const std::map<std::string, int64_t>& counts() const { return counts_; }

 private:
  const size_t max_bytes_;
  size_t bytes_ = 0;
  int64_t total_ = 0;
  std::map<std::string, int64_t> counts_;
};

// Bytewise.
std::vector<CountedWord> CountedWordsOf(const WordCounter& words);

// Of `words` the most frequent ones that have `max_bytes` together, of equally frequent ones those
// that are bytewise smaller; in bytewise order.
std::vector<CountedWord> MostFrequentWords(std::vector<CountedWord> words,
                                           size_t max_bytes = kMaxLearntWordBytes);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_WORD_COUNTER_H_
