// Byte pair encoding (Sennrich et al., "Neural machine translation of rare words with subword
// units", 2016): of all neighbours in all words the most frequent pair becomes one symbol, again
// and again.
#ifndef SIGHTLINE_COMMON_TOKENIZER_PAIR_MERGER_H_
#define SIGHTLINE_COMMON_TOKENIZER_PAIR_MERGER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/optional.h"

namespace sightline {

// Words as rows of symbols that grow together.  Not thread-safe.
class PairMerger {
 public:
  // How two neighbours are spelled when they are one.
  using Join = std::function<std::string(const std::string& left, const std::string& right)>;

  // `distinct`: a pair that would be spelled as a symbol that there is stays two, so that each
  // spelling is made in one way.
  PairMerger(Join join, bool distinct) : join_(std::move(join)), distinct_(distinct) {}

  // A word that counts `count` times, by its symbols.
  void AddWord(const std::vector<std::string>& symbols, int64_t count);

  struct Merged {
    std::string left, right, joined;
  };
  // Joins the most frequent pair wherever it is, of equally frequent ones that which is spelled
  // bytewise smaller; none when no pair is there `min_count` times.
  absl::optional<Merged> MergeMostFrequent(int64_t min_count);

 private:
  using Pair = std::pair<int, int>;
  struct Word {
    std::vector<int> symbols;
    int64_t count = 0;
  };
  struct Places {
    int64_t count = 0;
    std::set<int> words;
  };

  int SymbolId(const std::string& text);
  void CountPairs(int index, int sign);
  void Replace(const Pair& pair, int symbol);

  const Join join_;
  const bool distinct_;
  std::vector<std::string> symbols_;
  std::map<std::string, int> ids_;
  std::vector<Word> words_;
  std::map<Pair, Places> pairs_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_PAIR_MERGER_H_
