// The pieces of a unigram model, learnt from words (Kudo, "Subword Regularization", 2018, section
// 3.2):
//
//  1. Seeds: every character, and of the substrings those of the highest count times length.
//  2. Twice: p(x_i) by a step of EM, which is the share that x_i has of all pieces that are
//     expected in the words; what is expected less than half a time goes.
//  3. Pruning: loss(x_i) says by how much the likelihood of all words falls without x_i, where each
//     word counts with its best cut, and x_i is replaced by the best cut of its own text:
//       loss(x_i) = uses(x_i) * (log p(x_i) - log P(best cut of x_i without x_i))
//     The quarter with the smallest losses goes, but never a character.
//  4. From 2 again, until little more than the size that is wanted is left; of that the most
//     probable stay, and two steps of EM give them their last probabilities.
//
// As SentencePiece has it a piece has at most 16 characters, U+2581 only at its start, and of
// letters, numbers and other signs, only one: punctuation is not learnt as part of a word.
#ifndef SIGHTLINE_COMMON_TOKENIZER_UNIGRAM_LEARNER_H_
#define SIGHTLINE_COMMON_TOKENIZER_UNIGRAM_LEARNER_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "common/tokenizer/unigram_model.h"
#include "common/tokenizer/word_counter.h"

namespace sightline {

struct UnigramOptions {
  // Pieces that stay at most, the characters among them.
  size_t size = 8000;
  // A substring that is there less often is no seed.
  int64_t min_count = 2;
  size_t max_seeds = 500'000;
};

// Step 1.  `words` are UTF-8, not empty, in bytewise order, each once, and `characters` has all of
// theirs and perhaps others.  First the characters bytewise, then substrings, the best first.
// Substrings that never stand without the same next character behind them are left out, as the
// longer one says the same, if it may be a piece.
std::vector<UnigramPiece> SeedPieces(const std::vector<CountedWord>& words,
                                     const std::set<std::string>& characters,
                                     const UnigramOptions& options);

// All of them, of the same words and characters; at least as many are wanted as there are
// characters.  The most probable first, then bytewise.  Equal arguments give equal pieces; time and
// memory are linear in the words for a given size of them.
std::vector<UnigramPiece> LearnUnigramPieces(const std::vector<CountedWord>& words,
                                             const std::set<std::string>& characters,
                                             const UnigramOptions& options);

// loss(x_i) of step 3 for each piece of `model`.  Of a piece that nothing else spells it is
// infinite.
std::vector<double> PruningLosses(const UnigramModel& model, const std::vector<CountedWord>& words);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_UNIGRAM_LEARNER_H_
