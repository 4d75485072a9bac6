#include "common/tokenizer/vocabulary_maker.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/tokenizer/byte_level_words.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

VocabularyOptions Options(int max_size, int64_t min_count) {
  VocabularyOptions options;
  options.max_size = max_size;
  options.min_count = min_count;
  return options;
}

absl::StatusOr<MadeVocabulary> TryMake(TokenizerKind kind, const std::vector<std::string>& texts,
                                       const VocabularyOptions& options) {
  auto maker = NewVocabularyMaker(kind, options);
  REQUIRE(maker.ok());
  for (const std::string& text : texts) REQUIRE((*maker)->Add(text).ok());
  return (*maker)->Make();
}

MadeVocabulary Make(TokenizerKind kind, const std::vector<std::string>& texts,
                    const VocabularyOptions& options) {
  const auto made = TryMake(kind, texts, options);
  INFO(made.status().ToString());
  REQUIRE(made.ok());
  return *made;
}

std::unique_ptr<Tokenizer> TokenizerOf(TokenizerKind kind, const MadeVocabulary& made) {
  auto tokenizer = MakeTokenizer(kind, made.file, /*lowercase=*/true);
  INFO(tokenizer.status().ToString());
  REQUIRE(tokenizer.ok());
  REQUIRE((*tokenizer)->vocabulary_size() == made.size);
  return *std::move(tokenizer);
}

// Words of few letters, so that the same symbol could be made in several ways.
std::vector<std::string> RandomTexts(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::string> texts;
  for (int i = 0; i < 60; ++i) {
    std::string text;
    for (unsigned word = 0; word < 1 + random() % 5; ++word) {
      if (word > 0) text += ' ';
      for (unsigned k = 0; k < 1 + random() % 7; ++k) {
        text += static_cast<char>('a' + random() % 3);
      }
    }
    texts.push_back(text);
  }
  return texts;
}

// Counts every pair anew each time.
std::string SlowMerges(const std::vector<std::string>& texts, int merges, int64_t min_count) {
  std::vector<std::vector<std::string>> words;
  for (const std::string& text : texts) {
    REQUIRE(ForEachByteLevelWord(text, [&](absl::string_view word) {
              std::vector<std::string> symbols;
              for (const char byte : word) symbols.emplace_back(1, byte);
              symbols.back() += "</w>";
              words.push_back(symbols);
            }).ok());
  }
  std::set<std::string> known;
  std::string list = "#version: 0.2\n";
  for (int n = 0; n < merges; ++n) {
    std::map<std::pair<std::string, std::string>, int64_t> counts;
    for (const auto& word : words) {
      for (size_t i = 0; i + 1 < word.size(); ++i) ++counts[{word[i], word[i + 1]}];
    }
    std::pair<std::string, std::string> best;
    int64_t most = 0;
    for (const auto& [pair, count] : counts) {
      const std::string joined = pair.first + pair.second;
      if (count < min_count || known.count(joined) > 0) continue;
      if (count > most || (count == most && joined < best.first + best.second)) {
        best = pair;
        most = count;
      }
    }
    if (most == 0) break;
    known.insert(best.first + best.second);
    absl::StrAppend(&list, best.first, " ", best.second, "\n");
    for (auto& word : words) {
      std::vector<std::string> joined;
      for (size_t i = 0; i < word.size(); ++i) {
        if (i + 1 < word.size() && word[i] == best.first && word[i + 1] == best.second) {
          joined.push_back(word[i] + word[i + 1]);
          ++i;
        } else {
          joined.push_back(word[i]);
        }
      }
      word = joined;
    }
  }
  return list;
}

TEST_CASE("merges are those of counting every pair anew each time") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::vector<std::string> texts = RandomTexts(seed);
    for (const int merges : {1, 20, 500}) {
      for (const int64_t min_count : {1, 3}) {
        const MadeVocabulary made =
            Make(TokenizerKind::kByteLevelBpe, texts, Options(514 + merges, min_count));
        REQUIRE(made.file == SlowMerges(texts, merges, min_count));
        TokenizerOf(TokenizerKind::kByteLevelBpe, made);
      }
    }
  }
}

TEST_CASE("a list of merges spells what it was not made of, and a frequent word is one token") {
  const MadeVocabulary made =
      Make(TokenizerKind::kByteLevelBpe, {"A red fish", "two red fish", "red, red wine"},
           Options(600, 2));
  const auto tokenizer = TokenizerOf(TokenizerKind::kByteLevelBpe, made);
  REQUIRE(tokenizer->Encode("RED")->size() == 1);
  REQUIRE(tokenizer->Encode("fish")->size() == 1);
  REQUIRE(tokenizer->Encode("\u732b \U0001f40d")->size() == 7);
}

TEST_CASE("a list of words has the frequent ones, the most frequent first") {
  const std::vector<std::string> texts = {"A fish.", "a red fish", "a Fish", "red wine", "red"};
  const MadeVocabulary made = Make(TokenizerKind::kWordList, texts, Options(100, 3));
  const auto json = nlohmann::json::parse(made.file);
  REQUIRE(json["idx"] == 7);
  const std::vector<std::string> words = {"<pad>", "<start>", "<end>", "<unk>", "a", "fish", "red"};
  for (int id = 0; id < 7; ++id) {
    REQUIRE(json["idx2word"][absl::StrCat(id)] == words[id]);
    REQUIRE(json["word2idx"][words[id]] == id);
  }
  const auto tokenizer = TokenizerOf(TokenizerKind::kWordList, made);
  REQUIRE(*tokenizer->Encode("a red wine") == std::vector<int32_t>{4, 6, 3});
  REQUIRE(Make(TokenizerKind::kWordList, texts, Options(5, 3)).size == 5);
  REQUIRE(Make(TokenizerKind::kWordList, texts, Options(100, 1)).size == 9);
}

TEST_CASE(
    "a SentencePiece model spells the texts without an unknown piece, frequent words by one") {
  const std::vector<std::string> texts = {"A red fish.", "two red fish", "red,  red wine \uff21",
                                          "Das M\u00e4dchen", "two fish"};
  const MadeVocabulary made = Make(TokenizerKind::kSentencePiece, texts, Options(60, 2));
  const auto tokenizer = TokenizerOf(TokenizerKind::kSentencePiece, made);
  for (const std::string& text : texts) {
    const std::vector<int32_t> ids = *tokenizer->Encode(text);
    std::string spelled;
    for (const int32_t id : ids) {
      REQUIRE(id > tokenizer->unk_id());
      REQUIRE(id < tokenizer->mask_id());
      spelled += std::string(tokenizer->Spelling(id));
    }
    if (text == texts[0]) REQUIRE(spelled == "\u2581A\u2581red\u2581fish.");
    if (text == texts[2]) REQUIRE(spelled == "\u2581red,\u2581red\u2581wine\u2581A");
  }
  REQUIRE(tokenizer->Encode("red fish red")->size() == 3);
  // Decomposed, and with a full-width letter, it is the same text.
  REQUIRE(*tokenizer->Encode("\uff24as Ma\u0308dchen") == *tokenizer->Encode(texts[3]));
  const std::vector<int32_t> strange = *tokenizer->Encode("red \u732b\u732b");
  REQUIRE(strange.size() == 3);
  REQUIRE(tokenizer->Spelling(strange[0]) == "\u2581red");
  REQUIRE(tokenizer->Spelling(strange[1]) == "\u2581");
  REQUIRE(strange[2] == tokenizer->unk_id());
}

TEST_CASE("a SentencePiece model has as many tokens as are wanted, if the texts have as many") {
  const std::vector<std::string> texts = RandomTexts(7);
  // <unk>, <s>, </s>, <pad>, <mask>, the mark of a word's start and three letters.
  constexpr int kLeast = 9;
  for (const int size : {kLeast, kLeast + 1, 30, 60}) {
    const MadeVocabulary made = Make(TokenizerKind::kSentencePiece, texts, Options(size, 2));
    REQUIRE(made.size == size);
    TokenizerOf(TokenizerKind::kSentencePiece, made);
  }
  const MadeVocabulary all = Make(TokenizerKind::kSentencePiece, {"ab", "ab"}, Options(1000, 2));
  REQUIRE(all.size < 15);
}

TEST_CASE("an alphabet's characters are known though no text has them") {
  for (const TokenizerKind kind : {TokenizerKind::kWordPiece, TokenizerKind::kSentencePiece}) {
    auto maker = NewVocabularyMaker(kind, Options(200, 2));
    REQUIRE((*maker)->Add("a red fish").ok());
    REQUIRE((*maker)->AddAlphabet("a \u00f1 \u732b").ok());
    REQUIRE((*maker)->word_count() == 3);
    const auto tokenizer = TokenizerOf(kind, *(*maker)->Make());
    for (const int32_t id : *tokenizer->Encode("\u00f1\u732b fi\u00f1")) {
      REQUIRE(id != tokenizer->unk_id());
    }
    REQUIRE(tokenizer->Encode("\u0416")->back() == tokenizer->unk_id());
    REQUIRE(absl::IsInvalidArgument((*maker)->AddAlphabet("\xff")));
  }
  for (const TokenizerKind kind : {TokenizerKind::kByteLevelBpe, TokenizerKind::kWordList}) {
    auto with = NewVocabularyMaker(kind, Options(600, 1));
    REQUIRE((*with)->Add("a red fish").ok());
    const std::string without = (*with)->Make()->file;
    REQUIRE((*with)->AddAlphabet("\u00f1").ok());
    REQUIRE((*with)->Make()->file == without);
    REQUIRE(absl::IsInvalidArgument((*with)->AddAlphabet("\xff")));
  }
}

TEST_CASE("noise teaches nothing: words without end, zero bytes") {
  const std::string noise = std::string(101, 'x') + " a\u0001" + std::string("b\0c", 3);
  const MadeVocabulary made =
      Make(TokenizerKind::kSentencePiece, {"red fish", noise, "red fish"}, Options(100, 1));
  REQUIRE(made.file ==
          Make(TokenizerKind::kSentencePiece, {"red fish", "red fish"}, Options(100, 1)).file);
}

constexpr TokenizerKind kKinds[] = {TokenizerKind::kWordPiece, TokenizerKind::kByteLevelBpe,
                                    TokenizerKind::kSentencePiece, TokenizerKind::kWordList};

TEST_CASE("equal texts in another order give equal bytes, whatever the kind") {
  std::vector<std::string> texts = RandomTexts(3);
  for (const TokenizerKind kind : kKinds) {
    const MadeVocabulary made = Make(kind, texts, Options(700, 2));
    TokenizerOf(kind, made);
    std::reverse(texts.begin(), texts.end());
    REQUIRE(Make(kind, texts, Options(700, 2)).file == made.file);
  }
}

TEST_CASE("what cannot be made is refused, with what is wrong") {
  const auto refused = [](TokenizerKind kind, const std::vector<std::string>& texts,
                          const VocabularyOptions& options, const std::string& why) {
    const absl::Status status = TryMake(kind, texts, options).status();
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE(absl::StrContains(status.message(), why));
  };
  refused(TokenizerKind::kByteLevelBpe, {"fish fish"}, Options(514, 2), "514 tokens does not hold");
  refused(TokenizerKind::kByteLevelBpe, {"f i"}, Options(600, 2),
          "nothing is in the texts 2 times");
  refused(TokenizerKind::kWordList, {"fish"}, Options(4, 1), "4 tokens does not hold");
  refused(TokenizerKind::kWordList, {}, Options(100, 1), "nothing is in the texts");
  refused(TokenizerKind::kSentencePiece, {"fish"}, Options(9, 1),
          "9 tokens does not hold the special tokens and the 5 characters");
  refused(TokenizerKind::kSentencePiece, {" "}, Options(100, 1), "nothing is in the texts");
  for (const TokenizerKind kind : kKinds) {
    auto maker = NewVocabularyMaker(kind, Options(600, 1));
    REQUIRE(absl::IsInvalidArgument((*maker)->Add("a fish \xff")));
    REQUIRE((*maker)->word_count() == 0);
  }
  REQUIRE(absl::IsInvalidArgument(NewVocabularyMaker(static_cast<TokenizerKind>(9), {}).status()));
}

}  // namespace
}  // namespace sightline
