#include "common/tokenizer/treebank_words.h"

#include <random>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

std::string Words(absl::string_view text) {
  return absl::StrJoin(SplitIntoTreebankWords(text).value(), " ");
}

TEST_CASE("captions") {
  REQUIRE(Words("A dog runs.") == "a dog runs .");
  REQUIRE(Words("Two men, one with a hat, sit.") == "two men , one with a hat , sit .");
  REQUIRE(Words("A man's dog isn't here") == "a man 's dog is n't here");
  REQUIRE(Words("They'll say we've won") == "they 'll say we 've won");
  REQUIRE(Words("the dogs' bowl") == "the dogs ' bowl");
  REQUIRE(Words("He cannot; gonna, wanna go") == "he can not ; gon na , wan na go");
  REQUIRE(Words("It costs $3.50 (1,000 yen)") == "it costs $ 3.50 ( 1,000 yen )");
  REQUIRE(Words("a t-shirt -- red") == "a t-shirt -- red");
  REQUIRE(Words("wait... what?!") == "wait ... what ? !");
}

TEST_CASE("quotes") {
  REQUIRE(Words("a sign says \"stop\".") == "a sign says `` stop '' .");
  REQUIRE(Words("\"stop\" it says") == "`` stop '' it says");
  REQUIRE(Words("a \u201cnice\u201d \u00abhat\u00bb") == "a \u201c nice \u201d \u00ab hat \u00bb");
  REQUIRE(Words("(\"go\")") == "( `` go '' )");
}

TEST_CASE("a period is a word at a sentence's end only") {
  REQUIRE(Words("A dog. A cat.") == "a dog . a cat .");
  REQUIRE(Words("(a dog.) a cat") == "( a dog . ) a cat");
  REQUIRE(Words("in the u.s. army") == "in the u.s. army");
  REQUIRE(Words("in the u.s.") == "in the u.s .");
  REQUIRE(Words("by j. doe") == "by j. doe");
  REQUIRE(Words("etc.. end") == "etc .. end");
}

TEST_CASE("white space of any kind separates, and none makes no word") {
  REQUIRE(Words(" a\tb\nc\u00a0d\u3000") == "a b c d");
  REQUIRE(SplitIntoTreebankWords(" \n").value().empty());
  REQUIRE(SplitIntoTreebankWords("").value().empty());
}

TEST_CASE("letters outside ASCII are lower-cased and stay in their word") {
  REQUIRE(Words("CAF\u00c9 \u4e00\u4e8c") == "caf\u00e9 \u4e00\u4e8c");
  REQUIRE(Words("\u00c9cannot") == "\u00e9cannot");
}

TEST_CASE("text that is not UTF-8 is refused") {
  REQUIRE(absl::StrContains(SplitIntoTreebankWords("a \xff").status().message(), "offset 2"));
}

// The rules as NLTK writes them, for one sentence of ASCII.
std::string SlowWords(std::string text) {
  static const std::vector<std::pair<std::regex, std::string>>* const kRules = [] {
    const std::pair<const char*, const char*> rules[] = {
        {"(`+)", " $1 "},
        {"^\"", "``"},
        {"(``)", " $1 "},
        {"([ (\\[{<])(\"|'{2})", "$1 `` "},
        {"(')(?!re|ve|ll|m|t|s|d|n)(\\w)\\b", "$1 $2"},
        {"([^.])(\\.)([\\])}>\"' ]*)\\s*$", "$1 $2 $3 "},
        {"([:,])([^\\d])", " $1 $2"},
        {"([:,])$", " $1 "},
        {"\\.{2,}", " $& "},
        {"[;@#$%&]", " $& "},
        {"([^.])(\\.)([\\])}>\"']*)\\s*$", "$1 $2$3 "},
        {"[?!]", " $& "},
        {"([^'])' ", "$1 ' "},
        {"[*]", " $& "},
        {"[\\][(){}<>]", " $& "},
        {"--", " -- "},
        {"^", " "},
        {"$", " "},
        {"''", " '' "},
        {"\"", " '' "},
        {"([^' ])('s|'m|'d|') ", "$1 $2 "},
        {"([^' ])('ll|'re|'ve|n't) ", "$1 $2 "},
        {"\\b(can)(not)\\b", " $1 $2 "},
        {"\\b(d)('ye)\\b", " $1 $2 "},
        {"\\b(gim)(me)\\b", " $1 $2 "},
        {"\\b(gon)(na)\\b", " $1 $2 "},
        {"\\b(got)(ta)\\b", " $1 $2 "},
        {"\\b(lem)(me)\\b", " $1 $2 "},
        {"\\b(more)('n)\\b", " $1 $2 "},
        {"\\b(wan)(na)(?=\\s)", " $1 $2 "},
        {" ('t)(is)\\b", " $1 $2 "},
        {" ('t)(was)\\b", " $1 $2 "},
    };
    auto* compiled = new std::vector<std::pair<std::regex, std::string>>;
    for (const auto& [pattern, replacement] : rules) compiled->emplace_back(pattern, replacement);
    return compiled;
  }();
  for (const auto& [pattern, replacement] : *kRules) {
    text = std::regex_replace(text, pattern, replacement);
  }
  text = std::regex_replace(text, std::regex(" +"), " ");
  return std::regex_replace(text, std::regex("^ | $"), "");
}

TEST_CASE("words equal those of the regular expressions on random sentences") {
  const char* const kParts[] = {"a",   "dog",  "can", "not", "cannot", "gonna", "wanna", "d'ye",
                                "'ll", "'tis", "'t",  "was", "n't",    "don't", "'s",    "'re",
                                "'",   "''",   "\"",  "`",   "``",     "..",    "...",   ",",
                                ":",   ";",    "!",   "?",   "(",      ")",     "[",     "]",
                                "{",   "}",    "<",   ">",   "--",     "-",     "*",     "$",
                                "%",   "&",    "1",   "3.5", "1,0",    "_",     "x.y",   "more'n",
                                " ",   " ",    " ",   " ",   " ",      " ",     "'twas", "gotta"};
  std::mt19937 random(17);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (size_t n = 1 + random() % 14; n > 0; --n) text += kParts[random() % std::size(kParts)];
    // One space at a time and none at the ends, and one period at most that may end it.
    text = std::regex_replace(text, std::regex(" +"), " ");
    text = std::regex_replace(text, std::regex("^ | $"), "");
    if (random() % 2 == 0) text += ".";
    CAPTURE(text);
    REQUIRE(Words(text) == SlowWords(text));
  }
}

TEST_CASE("a long text of anything takes no more than its share of time") {
  for (const char* part : {"'", "\"", ".", "`", ",", "a.", "n't", "( ", ".)", "''", " '"}) {
    std::string text;
    while (text.size() < 300'000) text += part;
    CAPTURE(part);
    REQUIRE(SplitIntoTreebankWords(text).ok());
  }
}

}  // namespace
}  // namespace sightline
