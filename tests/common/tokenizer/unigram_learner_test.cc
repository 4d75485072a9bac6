#include "common/tokenizer/unigram_learner.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/match.h"
#include "tests/common/tokenizer/all_cuts.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr char kStart[] = "\u2581";

// As many words of random letters, with their counts, bytewise.
std::vector<CountedWord> RandomWords(unsigned seed, int count, int most_characters) {
  std::mt19937 random(seed);
  std::map<std::string, int64_t> words;
  for (int i = 0; i < count; ++i) {
    words[kStart + RandomWord(&random, most_characters)] += 1 + random() % 3;
  }
  std::vector<CountedWord> counted;
  for (const auto& [text, n] : words) counted.push_back({text, n});
  return counted;
}

const std::set<std::string> kCharacters = {kStart, "a", "b", "\u00e9", "z"};

std::vector<std::string> CharactersOf(const std::string& text) {
  std::vector<std::string> characters;
  for (const char byte : text) {
    if ((byte & 0xC0) != 0x80) characters.emplace_back();
    characters.back() += byte;
  }
  return characters;
}

// How often every substring is there.
std::map<std::string, int64_t> SlowCounts(const std::vector<CountedWord>& words) {
  std::map<std::string, int64_t> counts;
  for (const CountedWord& word : words) {
    const std::vector<std::string> characters = CharactersOf(word.text);
    for (size_t begin = 0; begin < characters.size(); ++begin) {
      std::string text;
      for (size_t end = begin; end < characters.size(); ++end) {
        text += characters[end];
        counts[text] += word.count;
      }
    }
  }
  return counts;
}

TEST_CASE("seeds are the characters and the substrings that say more than a longer one") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::vector<CountedWord> words = RandomWords(seed, 30, 20);
    const std::map<std::string, int64_t> counts = SlowCounts(words);
    std::map<std::string, double> expected = {{"z", 1}};  // which no word has
    double sum = 1;
    for (const auto& entry : counts) {
      const std::string& text = entry.first;
      const int64_t count = entry.second;
      const auto length = static_cast<int64_t>(CharactersOf(text).size());
      const bool longer = std::any_of(kCharacters.begin(), kCharacters.end(), [&](const auto& c) {
        return counts.count(text + c) > 0 && counts.at(text + c) == count;
      });
      if (length > 1 && (count < 2 || length > 16 || (longer && length < 16))) continue;
      expected[text] = static_cast<double>(count * length);
      sum += static_cast<double>(count * length);
    }
    UnigramOptions options;
    const std::vector<UnigramPiece> seeds = SeedPieces(words, kCharacters, options);
    REQUIRE(seeds.size() == expected.size());
    for (const UnigramPiece& piece : seeds) {
      CAPTURE(piece.text);
      REQUIRE(expected.count(piece.text) == 1);
      REQUIRE(piece.log_probability == Approx(std::log(expected[piece.text] / sum)));
    }
    // The best come first behind the characters, so that fewer are the first ones.
    options.max_seeds = 7;
    const std::vector<UnigramPiece> fewer = SeedPieces(words, kCharacters, options);
    REQUIRE(fewer.size() == kCharacters.size() + 7);
    for (size_t i = 0; i < fewer.size(); ++i) REQUIRE(fewer[i].text == seeds[i].text);
  }
}

TEST_CASE("a word that always has a comma behind it is a seed, with the comma it is none") {
  const std::vector<CountedWord> words = {{"\u2581fish,", 5}};
  std::set<std::string> seeds;
  for (const UnigramPiece& piece : SeedPieces(words, {}, {})) seeds.insert(piece.text);
  REQUIRE(seeds == std::set<std::string>{"\u2581", "f", "i", "s", "h", ",", "\u2581fish", "fish",
                                         "ish", "sh"});
}

TEST_CASE("what a piece is worth is how much less probable the best cuts are without it") {
  std::mt19937 random(21);
  for (int round = 0; round < 50; ++round) {
    const UnigramModel model(RandomPieces(&random));
    std::vector<CountedWord> words;
    for (int i = 0; i < 20; ++i) {
      words.push_back({RandomWord(&random, 7), 1 + static_cast<int64_t>(random() % 4)});
    }
    std::vector<double> uses(model.pieces().size());
    for (const CountedWord& word : words) {
      for (const int piece : BestOf(AllCuts(model.pieces(), word.text)).pieces) {
        uses[piece] += static_cast<double>(word.count);
      }
    }
    const std::vector<double> losses = PruningLosses(model, words);
    for (size_t i = 0; i < losses.size(); ++i) {
      const UnigramPiece& piece = model.pieces()[i];
      const SlowCut instead = BestOf(AllCuts(model.pieces(), piece.text, static_cast<int>(i)));
      CAPTURE(round, piece.text);
      if (instead.pieces.empty()) {
        REQUIRE(std::isinf(losses[i]));
        continue;
      }
      REQUIRE(losses[i] ==
              Approx(uses[i] * (piece.log_probability - instead.log_probability)).margin(1e-9));
    }
  }
}

// The likelihood of the words by `pieces` with their best probabilities.
double LikelihoodOf(const std::vector<CountedWord>& words, std::vector<UnigramPiece> pieces) {
  double likelihood = 0;
  for (int step = 0; step < 20; ++step) {
    const UnigramModel model(pieces);
    std::vector<double> uses(pieces.size(), 1e-9);
    double sum = 0;
    likelihood = 0;
    for (const CountedWord& word : words) {
      likelihood += static_cast<double>(word.count) *
                    model.AddExpectedUses(word.text, static_cast<double>(word.count), &uses);
    }
    for (const double used : uses) sum += used;
    for (size_t i = 0; i < uses.size(); ++i) pieces[i].log_probability = std::log(uses[i] / sum);
  }
  return likelihood;
}

TEST_CASE("as many pieces are learnt as are wanted, every character among them, summing up to 1") {
  const std::vector<CountedWord> words = RandomWords(5, 400, 12);
  for (const size_t size : {5, 6, 20, 60}) {
    UnigramOptions options;
    options.size = size;
    const std::vector<UnigramPiece> pieces = LearnUnigramPieces(words, kCharacters, options);
    REQUIRE(pieces.size() == size);
    std::set<std::string> texts;
    double sum = 0;
    for (size_t i = 0; i < pieces.size(); ++i) {
      texts.insert(pieces[i].text);
      sum += std::exp(pieces[i].log_probability);
      if (i > 0) REQUIRE(pieces[i].log_probability <= pieces[i - 1].log_probability);
    }
    REQUIRE(texts.size() == size);
    REQUIRE(std::includes(texts.begin(), texts.end(), kCharacters.begin(), kCharacters.end()));
    REQUIRE(sum == Approx(1));
    const std::vector<UnigramPiece> again = LearnUnigramPieces(words, kCharacters, options);
    for (size_t i = 0; i < size; ++i) {
      REQUIRE(again[i].text == pieces[i].text);
      REQUIRE(again[i].log_probability == pieces[i].log_probability);
    }
  }
}

TEST_CASE("what was learnt says the words better than the most frequent substrings do") {
  for (unsigned seed = 0; seed < 5; ++seed) {
    // Words of few parts, as a language has them.
    std::mt19937 random(seed);
    std::vector<std::string> parts;
    for (int i = 0; i < 25; ++i) parts.push_back(RandomWord(&random, 5));
    std::map<std::string, int64_t> counts;
    for (int i = 0; i < 500; ++i) {
      std::string word = kStart;
      for (unsigned n = 1 + random() % 3; n > 0; --n) word += parts[random() % parts.size()];
      ++counts[word];
    }
    std::vector<CountedWord> words;
    for (const auto& [text, count] : counts) words.push_back({text, count});
    UnigramOptions options;
    options.size = 40;
    std::vector<UnigramPiece> frequent = SeedPieces(words, kCharacters, options);
    frequent.resize(options.size);
    REQUIRE(LikelihoodOf(words, LearnUnigramPieces(words, kCharacters, options)) >
            LikelihoodOf(words, frequent));
  }
}

TEST_CASE("a frequent word is a piece, and punctuation is none of it") {
  const std::vector<CountedWord> words = {
      {"\u2581(2)", 3},   {"\u2581a", 90},     {"\u2581a1b2", 20},
      {"\u2581fish", 40}, {"\u2581fish.", 60}, {"\u2581red", 30},
      {"\u2581red.", 20}, {"\u2581redder", 5}, {"\u2581wombat", 1}};
  std::set<std::string> characters;
  for (const CountedWord& word : words) {
    for (const std::string& character : CharactersOf(word.text)) characters.insert(character);
  }
  UnigramOptions options;
  options.size = characters.size() + 4;
  std::set<std::string> texts;
  for (const UnigramPiece& piece : LearnUnigramPieces(words, characters, options)) {
    texts.insert(piece.text);
  }
  REQUIRE(texts.count("\u2581fish") == 1);
  REQUIRE(texts.count("\u2581red") == 1);
  options.size = 1000;
  for (const UnigramPiece& piece : LearnUnigramPieces(words, characters, options)) {
    const std::vector<std::string> of_piece = CharactersOf(piece.text);
    CAPTURE(piece.text);
    const auto has = [&](const char* signs) {
      return piece.text.find_first_of(signs) != std::string::npos;
    };
    REQUIRE(has("abdefhimorstw") + has("12") + has("().") <= 1);
  }
}

}  // namespace
}  // namespace sightline
