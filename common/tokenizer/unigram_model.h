// The unigram language model of pieces (Kudo, "Subword Regularization: Improving Neural Network
// Translation Models with Multiple Subword Candidates", 2018, section 3.2).
//
// A word is cut into pieces that come independently of each other, so that of all cuts S(word)
//
//   P(x_1 .. x_M) = p(x_1) * ... * p(x_M)       P(word) = sum over S(word) of P(x_1 .. x_M)
//
// Cuts are between characters.  All numbers are natural logarithms.
#ifndef SIGHTLINE_COMMON_TOKENIZER_UNIGRAM_MODEL_H_
#define SIGHTLINE_COMMON_TOKENIZER_UNIGRAM_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace sightline {

struct UnigramPiece {
  std::string text;
  double log_probability = 0;
};

// Immutable, thread-safe.
class UnigramModel {
 public:
  // `pieces` are UTF-8, not empty, and no two have one text.
  explicit UnigramModel(std::vector<UnigramPiece> pieces);
  UnigramModel(const UnigramModel&) = delete;
  UnigramModel& operator=(const UnigramModel&) = delete;

  const std::vector<UnigramPiece>& pieces() const { return pieces_; }

  // log P(word); minus infinity if the pieces do not spell it.  Adds to uses[i], of which there
  // are as many as pieces, `count` times how often piece i is expected in a cut of `word`:
  //
  //   sum over S(word) of P(x_1 .. x_M) / P(word) * (how many of x_1 .. x_M are piece i)
  //
  // by the forward and the backward algorithm, in time linear in the word.
  double AddExpectedUses(absl::string_view word, double count, std::vector<double>* uses) const;

  // The indices of the pieces of a cut of the highest probability (Viterbi) that does not have the
  // piece `without`; none if there is no cut.  The same words have the same cut.
  static constexpr int kNoPiece = -1;
  std::vector<int> BestCut(absl::string_view word, int without = kNoPiece) const;

 private:
  // A piece at a place of a word, in bytes.
  struct Edge {
    size_t begin = 0;
    size_t end = 0;
    int piece = 0;
  };

  std::vector<Edge> EdgesOf(absl::string_view word) const;

  const std::vector<UnigramPiece> pieces_;
  absl::flat_hash_map<absl::string_view, int> ids_;  // views into pieces_
  size_t longest_ = 0;                               // bytes
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TOKENIZER_UNIGRAM_MODEL_H_
