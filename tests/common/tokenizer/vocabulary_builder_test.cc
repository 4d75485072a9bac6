#include "common/tokenizer/vocabulary_builder.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "catch2/catch.hpp"
#include "common/tokenizer/wordpiece.h"

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

TEST_CASE("words seen twice are tokens, words seen once are not") {
  const Tokens tokens = Build({"fish bird", "fish"});
  REQUIRE(Has(tokens, "fish"));
  REQUIRE_FALSE(Has(tokens, "bird"));
}

TEST_CASE("pieces that several words share are tokens") {
  const Tokens tokens = Build({"walking talking", "reader readable"});
  REQUIRE(Has(tokens, "##alking"));
  REQUIRE(Has(tokens, "##ing"));
  REQUIRE(Has(tokens, "read"));
  REQUIRE_FALSE(Has(tokens, "walk"));
  REQUIRE_FALSE(Has(tokens, "ing"));
}

// The order, computed the slow and obvious way for every candidate on its own.
TEST_CASE("tokens after the characters are ranked by what they save") {
  const std::vector<std::string> words = {"abab", "abab", "abc", "abc", "xabab", "bc", "bc"};
  VocabularyOptions options;
  options.max_piece_length = 3;
  const Tokens tokens = Build({absl::StrJoin(words, " ")}, options);

  std::set<std::string> candidates;
  for (const std::string& word : words) {
    for (size_t from = 0; from < word.size(); ++from) {
      for (size_t n = 2; n <= 3 && from + n <= word.size(); ++n) {
        candidates.insert(absl::StrCat(from == 0 ? "" : "##", word.substr(from, n)));
      }
    }
    candidates.insert(word);
  }
  std::vector<std::pair<int, std::string>> ranked;
  for (const std::string& candidate : candidates) {
    const bool inner = candidate[0] == '#';
    const std::string text = inner ? candidate.substr(2) : candidate;
    int count = 0;
    for (const std::string& word : words) {
      if (!inner) {
        const bool piece = text.size() <= 3 && word.compare(0, text.size(), text) == 0;
        count += piece || word == text;
      } else {
        for (size_t at = word.find(text, 1); at != std::string::npos;
             at = word.find(text, at + 1)) {
          ++count;
        }
      }
    }
    if (count >= 2) ranked.emplace_back(-count * static_cast<int>(text.size() - 1), candidate);
  }
  std::sort(ranked.begin(), ranked.end());
  REQUIRE(ranked.size() > 6);
  const size_t start = 5 + 2 * 4;  // special tokens; a, b, c, x twice
  REQUIRE(tokens.size() == start + ranked.size());
  for (size_t i = 0; i < ranked.size(); ++i) REQUIRE(tokens[start + i] == ranked[i].second);
}

TEST_CASE("the order of the texts does not matter") {
  std::vector<std::string> texts = {"a red fish", "a fish that is red", "birds and fishes"};
  const Tokens tokens = Build(texts);
  std::reverse(texts.begin(), texts.end());
  REQUIRE(Build(texts) == tokens);
}

TEST_CASE("no token is there twice and the size is kept") {
  VocabularyOptions options;
  options.max_size = 60;
  const Tokens tokens =
      Build({"some words some words somewhere wordy", "every word everywhere"}, options);
  REQUIRE(tokens.size() == 60);
  REQUIRE(std::set<std::string>(tokens.begin(), tokens.end()).size() == 60);
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
