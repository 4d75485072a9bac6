// The slow way to everything that a unigram model says: every cut of a word, one by one.
#ifndef SIGHTLINE_TESTS_COMMON_TOKENIZER_ALL_CUTS_H_
#define SIGHTLINE_TESTS_COMMON_TOKENIZER_ALL_CUTS_H_

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "common/tokenizer/unigram_model.h"

namespace sightline {

struct SlowCut {
  std::vector<int> pieces;
  double log_probability = 0;
};

// Those that begin as `begun`.
inline std::vector<SlowCut> AllCuts(const std::vector<UnigramPiece>& pieces, absl::string_view word,
                                    int without = -1, const SlowCut& begun = {}) {
  if (word.empty()) return {begun};
  std::vector<SlowCut> all;
  for (int i = 0; i < static_cast<int>(pieces.size()); ++i) {
    if (i == without || !absl::StartsWith(word, pieces[i].text)) continue;
    SlowCut longer = begun;
    longer.pieces.push_back(i);
    longer.log_probability += pieces[i].log_probability;
    for (SlowCut& cut : AllCuts(pieces, word.substr(pieces[i].text.size()), without, longer)) {
      all.push_back(std::move(cut));
    }
  }
  return all;
}

// That of the highest probability; of no cuts, one of no pieces that is impossible.
inline SlowCut BestOf(const std::vector<SlowCut>& cuts) {
  SlowCut best = {{}, -std::numeric_limits<double>::infinity()};
  for (const SlowCut& cut : cuts) {
    if (cut.log_probability > best.log_probability) best = cut;
  }
  return best;
}

// Up to `most` characters of three, of which one has two bytes.
inline std::string RandomWord(std::mt19937* random, int most) {
  const char* const kCharacters[] = {"a", "b", "\u00e9"};
  std::string word;
  for (unsigned n = 1 + (*random)() % most; n > 0; --n) word += kCharacters[(*random)() % 3];
  return word;
}

// The characters, but for `lacking` ones, and some longer pieces, of random probabilities.
inline std::vector<UnigramPiece> RandomPieces(std::mt19937* random, int lacking = 0) {
  std::vector<std::string> texts = {"a", "b", "\u00e9"};
  texts.resize(texts.size() - lacking);
  for (int i = 0; i < 8; ++i) texts.push_back(RandomWord(random, 4));
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  std::vector<UnigramPiece> pieces;
  for (const std::string& text : texts) {
    pieces.push_back({text, -0.001 * static_cast<double>(1 + (*random)() % 5000)});
  }
  return pieces;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_TOKENIZER_ALL_CUTS_H_
