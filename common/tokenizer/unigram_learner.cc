#include "common/tokenizer/unigram_learner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace sightline {
namespace {

constexpr int kStepsBetweenPrunings = 2;
constexpr double kKeptShare = 0.75;
// The last pruning leaves so much more than is wanted, for the most probable to be chosen from.
constexpr double kSpareShare = 1.1;
// Expected less often, a piece explains no word.
constexpr double kLeastUses = 0.5;

using Pieces = std::vector<UnigramPiece>;

// The steps of one learning, which all know what must stay.
class UnigramLearner {
 public:
  UnigramLearner(const std::vector<CountedWord>& words, const std::set<std::string>& characters,
                 const UnigramOptions& options)
      : words_(words), characters_(characters), options_(options) {}

  Pieces Learn() const {
    Pieces pieces = SeedPieces(words_, characters_, options_);
    const auto enough = static_cast<size_t>(kSpareShare * static_cast<double>(options_.size));
    while (true) {
      for (int i = 0; i < kStepsBetweenPrunings; ++i) {
        pieces = Maximized(std::move(pieces), /*drop=*/true);
      }
      if (pieces.size() <= enough) break;
      const auto share = static_cast<size_t>(kKeptShare * static_cast<double>(pieces.size()));
      pieces = Pruned(std::move(pieces), std::max(enough, share));
    }
    pieces = MostProbable(std::move(pieces));
    for (int i = 0; i < kStepsBetweenPrunings; ++i) {
      pieces = Maximized(std::move(pieces), /*drop=*/false);
    }
    std::sort(pieces.begin(), pieces.end(), IsMoreProbable);
    return pieces;
  }

 private:
  static bool IsMoreProbable(const UnigramPiece& a, const UnigramPiece& b) {
    if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
    return a.text < b.text;
  }

  bool MustStay(const UnigramPiece& piece) const { return characters_.count(piece.text) > 0; }

  // A step of EM.  With `drop` what is hardly used goes.
  Pieces Maximized(Pieces pieces, bool drop) const {
    const UnigramModel model(std::move(pieces));
    std::vector<double> uses(model.pieces().size());
    for (const CountedWord& word : words_) {
      model.AddExpectedUses(word.text, static_cast<double>(word.count), &uses);
    }
    Pieces kept;
    double sum = 0;
    for (size_t i = 0; i < uses.size(); ++i) {
      const UnigramPiece& piece = model.pieces()[i];
      if (drop && uses[i] < kLeastUses && !MustStay(piece)) continue;
      const double used = std::max(uses[i], kLeastUses);
      sum += used;
      kept.push_back({piece.text, std::log(used)});
    }
    for (UnigramPiece& piece : kept) piece.log_probability -= std::log(sum);
    return kept;
  }

  // The `most` pieces with the largest losses, in the order that they had.  What must stay is among
  // them: nothing else spells a character, so that its loss is infinite.
  Pieces Pruned(Pieces pieces, size_t most) const {
    const UnigramModel model(std::move(pieces));
    const std::vector<double> losses = PruningLosses(model, words_);
    std::vector<size_t> order(losses.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      if (losses[a] != losses[b]) return losses[a] > losses[b];
      return model.pieces()[a].text < model.pieces()[b].text;
    });
    order.resize(std::min(order.size(), most));
    std::sort(order.begin(), order.end());
    Pieces kept;
    for (const size_t i : order) kept.push_back(model.pieces()[i]);
    return kept;
  }

  // What must stay, and of the rest the most probable as far as there is room.
  Pieces MostProbable(Pieces pieces) const {
    std::sort(pieces.begin(), pieces.end(), [this](const auto& a, const auto& b) {
      if (MustStay(a) != MustStay(b)) return MustStay(a);
      return IsMoreProbable(a, b);
    });
    if (pieces.size() > options_.size) pieces.resize(options_.size);
    return pieces;
  }

  const std::vector<CountedWord>& words_;
  const std::set<std::string>& characters_;
  const UnigramOptions& options_;
};

}  // namespace

std::vector<UnigramPiece> LearnUnigramPieces(const std::vector<CountedWord>& words,
                                             const std::set<std::string>& characters,
                                             const UnigramOptions& options) {
  return UnigramLearner(words, characters, options).Learn();
}

std::vector<double> PruningLosses(const UnigramModel& model,
                                  const std::vector<CountedWord>& words) {
  std::vector<double> uses(model.pieces().size());
  for (const CountedWord& word : words) {
    for (const int piece : model.BestCut(word.text)) uses[piece] += static_cast<double>(word.count);
  }
  std::vector<double> losses(uses.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    const UnigramPiece& piece = model.pieces()[i];
    const std::vector<int> instead = model.BestCut(piece.text, static_cast<int>(i));
    if (instead.empty()) {
      losses[i] = std::numeric_limits<double>::infinity();
      continue;
    }
    double gained = piece.log_probability;
    for (const int part : instead) gained -= model.pieces()[part].log_probability;
    losses[i] = uses[i] * gained;
  }
  return losses;
}

}  // namespace sightline
