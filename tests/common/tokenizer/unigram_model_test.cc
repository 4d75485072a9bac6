#include "common/tokenizer/unigram_model.h"

#include <cmath>

#include "tests/common/tokenizer/all_cuts.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("a word's probability and the uses of pieces are sums over all of its cuts") {
  std::mt19937 random(11);
  int without_cut = 0;
  for (int round = 0; round < 300; ++round) {
    const UnigramModel model(RandomPieces(&random, /*lacking=*/round % 2));
    const std::string word = RandomWord(&random, 8);
    double sum = 0;
    std::vector<double> expected(model.pieces().size());
    const std::vector<SlowCut> cuts = AllCuts(model.pieces(), word);
    for (const SlowCut& cut : cuts) sum += std::exp(cut.log_probability);
    for (const SlowCut& cut : cuts) {
      for (const int piece : cut.pieces) expected[piece] += std::exp(cut.log_probability) / sum;
    }
    CAPTURE(round, word);
    std::vector<double> uses(model.pieces().size(), 100);
    const double found = model.AddExpectedUses(word, 3, &uses);
    if (cuts.empty()) {
      ++without_cut;
      REQUIRE(std::isinf(found));
      REQUIRE(uses == std::vector<double>(uses.size(), 100));
      continue;
    }
    REQUIRE(found == Approx(std::log(sum)).epsilon(1e-9).margin(1e-12));
    for (size_t i = 0; i < uses.size(); ++i) {
      REQUIRE(uses[i] == Approx(100 + 3 * expected[i]).epsilon(1e-9));
    }
  }
  REQUIRE(without_cut > 10);
}

TEST_CASE("the best cut is the best of all, with and without a piece") {
  std::mt19937 random(12);
  int none = 0;
  for (int round = 0; round < 300; ++round) {
    const UnigramModel model(RandomPieces(&random, /*lacking=*/round % 3));
    const std::string word = RandomWord(&random, 8);
    const int without = static_cast<int>(random() % (model.pieces().size() + 1)) - 1;
    const SlowCut best = BestOf(AllCuts(model.pieces(), word, without));
    const std::vector<int> found = model.BestCut(word, without);
    CAPTURE(round, word, without);
    // Of two equally good ones either will do.
    double probability = found.empty() ? -INFINITY : 0;
    std::string spelled;
    for (const int piece : found) {
      REQUIRE(piece != without);
      probability += model.pieces()[piece].log_probability;
      spelled += model.pieces()[piece].text;
    }
    none += found.empty();
    REQUIRE(found.empty() == best.pieces.empty());
    if (found.empty()) continue;
    REQUIRE(spelled == word);
    REQUIRE(probability == Approx(best.log_probability).epsilon(1e-12));
  }
  REQUIRE(none > 10);
}

TEST_CASE("a long word's probability is too small for a number, its logarithm is not") {
  const UnigramModel model({{"a", -20}, {"aa", -45}});
  std::vector<double> uses(2);
  const double found = model.AddExpectedUses(std::string(300, 'a'), 2, &uses);
  REQUIRE(found == Approx(-6000).margin(3));
  REQUIRE(uses[0] + 2 * uses[1] == Approx(600));
  REQUIRE(model.BestCut(std::string(300, 'a')) == std::vector<int>(300, 0));
}

TEST_CASE("no step of EM makes the words less probable") {
  std::mt19937 random(13);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::string> words;
    for (int i = 0; i < 30; ++i) words.push_back(RandomWord(&random, 9));
    std::vector<UnigramPiece> pieces = RandomPieces(&random);
    double before = -INFINITY;
    for (int step = 0; step < 10; ++step) {
      const UnigramModel model(pieces);
      std::vector<double> uses(pieces.size());
      double likelihood = 0, sum = 0;
      for (const std::string& word : words) likelihood += model.AddExpectedUses(word, 1, &uses);
      // The first one is of numbers that are no probabilities.
      if (step > 1) REQUIRE(likelihood >= before - 1e-9);
      before = likelihood;
      for (const double used : uses) sum += used;
      for (size_t i = 0; i < uses.size(); ++i) pieces[i].log_probability = std::log(uses[i] / sum);
    }
  }
}

}  // namespace
}  // namespace sightline
