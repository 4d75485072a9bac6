#include "common/tokenizer/vocabulary_builder.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/tokenizer/wordpiece.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Tokens = std::vector<std::string>;

Tokens Build(const std::vector<std::string>& texts, VocabularyOptions options = {}) {
  VocabularyBuilder builder(options);
  for (const std::string& text : texts) REQUIRE(builder.Add(text).ok());
  const auto tokens = builder.Build();
  REQUIRE(tokens.ok());
  return *tokens;
}

bool Has(const Tokens& tokens, const std::string& token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

TEST_CASE("special tokens come first, then every character in both places") {
  const Tokens tokens = Build({"ba"});
  REQUIRE(tokens == Tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##a", "##b"});
}

TEST_CASE("an alphabet's characters are tokens though no text has them") {
  VocabularyBuilder builder({});
  REQUIRE(builder.Add("ba").ok());
  REQUIRE(builder.AddAlphabet("É b \u00DF?").ok());
  REQUIRE(builder.word_count() == 1);
  REQUIRE(*builder.Build() == Tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]",  //
                                     "?", "a", "b", "e", "\u00DF",                  //
                                     "##?", "##a", "##b", "##e", "##\u00DF"});
  REQUIRE(builder.AddAlphabet("\xFF").code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("words seen twice are tokens, words seen once are not") {
  const Tokens tokens = Build({"fish bird", "fish"});
  REQUIRE(Has(tokens, "fish"));
  REQUIRE_FALSE(Has(tokens, "bird"));
}

TEST_CASE("words of the background come behind all of the corpus's own") {
  VocabularyOptions options;
  options.max_size = 5 + 2 * 10 + 4;  // for two words and two pieces
  options.word_share = 0.5;
  VocabularyBuilder builder(options);
  REQUIRE(builder.Add("red red fish").ok());
  REQUIRE(builder.AddBackground("dog dog dog dog fish ox ox").ok());
  REQUIRE(builder.word_count() == 3);
  auto tokens = builder.Build();
  REQUIRE(tokens.ok());
  const Tokens words(tokens->begin() + 25, tokens->begin() + 27);
  REQUIRE(words == Tokens{"red", "dog"});
  REQUIRE(builder.AddBackground("\xFF").code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("pieces that several words share are tokens, whole rare words are not") {
  const Tokens tokens = Build({"walking talking", "reader readable"});
  REQUIRE(Has(tokens, "##alking"));
  REQUIRE(Has(tokens, "read"));
  REQUIRE_FALSE(Has(tokens, "walking"));
  REQUIRE_FALSE(Has(tokens, "##able"));
}

// Byte pair encoding as slowly as it can be said: count everything again at each step.
Tokens SlowPieces(std::vector<Tokens> words, size_t limit) {
  Tokens pieces;
  while (pieces.size() < limit) {
    std::map<std::string, int> counts;
    const auto join = [](const std::string& a, const std::string& b) { return a + b.substr(2); };
    std::map<std::string, std::pair<std::string, std::string>> parts;
    for (const Tokens& word : words) {
      for (size_t i = 0; i + 1 < word.size(); ++i) {
        // The parts belong to the key: "ab" may come from two different pairs.
        const std::string key = join(word[i], word[i + 1]) + '\0' + word[i] + '\0' + word[i + 1];
        ++counts[key];
        parts[key] = {word[i], word[i + 1]};
      }
    }
    std::string best;
    for (const auto& [key, count] : counts) {
      if (count >= 2 && (best.empty() || count > counts[best])) best = key;
    }
    if (best.empty()) break;
    const auto [left, right] = parts[best];
    pieces.push_back(join(left, right));
    for (Tokens& word : words) {
      for (size_t i = 0; i + 1 < word.size(); ++i) {
        if (word[i] != left || word[i + 1] != right) continue;
        word[i] = join(left, right);
        word.erase(word.begin() + i + 1);
      }
    }
  }
  return pieces;
}

TEST_CASE("pieces are those of byte pair encoding done slowly") {
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    std::set<std::string> distinct;
    while (distinct.size() < 40) {
      std::string word;
      for (size_t n = 1 + random() % 9; n > 0; --n) word += static_cast<char>('a' + random() % 3);
      distinct.insert(word);
    }
    std::vector<Tokens> words;
    for (const std::string& word : distinct) {
      Tokens characters;
      for (char c : word)
        characters.push_back(absl::StrCat(characters.empty() ? "" : "##", std::string(1, c)));
      words.push_back(characters);
    }
    const Tokens tokens = Build({absl::StrJoin(distinct, " ")});
    const Tokens pieces = SlowPieces(words, 10000);
    REQUIRE(pieces.size() > 10);
    const Tokens found(tokens.begin() + 5 + 2 * 3, tokens.end());
    // The same piece may be made twice, of different parts; it is one token.
    Tokens unique;
    for (const std::string& piece : pieces) {
      if (!Has(unique, piece)) unique.push_back(piece);
    }
    REQUIRE(found == unique);
  }
}

TEST_CASE("words come by count and leave their share to pieces") {
  VocabularyOptions options;
  options.max_size = 5 + 2 * 4 + 4;
  options.word_share = 0.5;
  const Tokens tokens = Build({"aa aa bb bb bb cc cc cd cd cd cd abd abc"}, options);
  REQUIRE(Tokens(tokens.begin() + 13, tokens.begin() + 15) == Tokens{"cd", "bb"});
  REQUIRE(tokens[15] == "ab");
}

TEST_CASE("the order of the texts does not matter") {
  std::vector<std::string> texts = {"a red fish", "a fish that is red", "birds and fishes"};
  const Tokens tokens = Build(texts);
  std::reverse(texts.begin(), texts.end());
  REQUIRE(Build(texts) == tokens);
}

TEST_CASE("no token is there twice and the size is kept") {
  VocabularyOptions options;
  options.max_size = 36;
  const Tokens tokens =
      Build({"some words some words somewhere wordy", "every word everywhere"}, options);
  REQUIRE(tokens.size() == 36);
  REQUIRE(std::set<std::string>(tokens.begin(), tokens.end()).size() == 36);
}

TEST_CASE("a vocabulary too small for the characters is refused") {
  VocabularyOptions options;
  options.max_size = 8;
  VocabularyBuilder builder(options);
  REQUIRE(builder.Add("ab").ok());
  REQUIRE(builder.Build().status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("text that is not UTF-8 is refused and counts for nothing") {
  VocabularyBuilder builder({});
  REQUIRE(builder.Add("fine \xFF").code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(builder.word_count() == 0);
  REQUIRE(builder.Build()->size() == 5);
}

TEST_CASE("the tokenizer takes the vocabulary and knows every word it was made of") {
  const std::vector<std::string> texts = {"Größe, naïve café!", "小さな 魚 fish", "fish & chips",
                                          "ünïcödé \xF0\x9F\x90\x9F"};
  for (bool lowercase : {true, false}) {
    VocabularyOptions options;
    options.lowercase = lowercase;
    const Tokens tokens = Build(texts, options);
    const auto tokenizer = WordPieceTokenizer::Create(absl::StrJoin(tokens, "\n"), {lowercase});
    REQUIRE(tokenizer.ok());
    for (const std::string& text : texts) {
      const auto ids = (*tokenizer)->Encode(text);
      REQUIRE(ids.ok());
      REQUIRE_FALSE(ids->empty());
      REQUIRE(std::count(ids->begin(), ids->end(), (*tokenizer)->unk_id()) == 0);
    }
  }
}

}  // namespace
}  // namespace sightline
