#include "common/tokenizer/wordpiece.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/common/tokenizer/tokens.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Ids = std::vector<int32_t>;

constexpr char kSpecials[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";

std::unique_ptr<WordPieceTokenizer> Make(absl::string_view more, bool lowercase = true) {
  return WordPieceTokenizer::Create(absl::StrCat(kSpecials, more), {lowercase}).value();
}

absl::Status CreateError(absl::string_view vocabulary) {
  const auto tokenizer = WordPieceTokenizer::Create(vocabulary, {});
  REQUIRE_FALSE(tokenizer.ok());
  REQUIRE(tokenizer.status().code() == absl::StatusCode::kInvalidArgument);
  return tokenizer.status();
}

TEST_CASE("ids are line numbers, and special ids are found by name") {
  const auto tokenizer =
      WordPieceTokenizer::Create("[MASK]\nfish\n[SEP]\n[UNK]\n[CLS]\nred\n[PAD]\n", {}).value();
  REQUIRE(tokenizer->vocabulary_size() == 7);
  REQUIRE(tokenizer->mask_id() == 0);
  REQUIRE(tokenizer->sep_id() == 2);
  REQUIRE(tokenizer->unk_id() == 3);
  REQUIRE(tokenizer->cls_id() == 4);
  REQUIRE(tokenizer->pad_id() == 6);
  REQUIRE(tokenizer->Encode("a Red FISH").value() == Ids{3, 5, 1});
}

TEST_CASE("lines may end in CRLF, and the last line need not end") {
  const auto tokenizer =
      WordPieceTokenizer::Create("[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\nfish", {}).value();
  REQUIRE(tokenizer->vocabulary_size() == 6);
  REQUIRE(tokenizer->Encode("fish").value() == Ids{5});
}

TEST_CASE("the longest piece wins, from the left") {
  const auto tokenizer = Make("un\nunder\n##stand\n##st\n##and\n##er\nstand");
  REQUIRE(tokenizer->Encode("understand").value() == Ids{6, 7});
  REQUIRE(tokenizer->Encode("stand").value() == Ids{11});
  REQUIRE(tokenizer->Encode("unstander").value() == Ids{5, 7, 10});
  // Greedy, not clever: "under" leaves "st", although "un", "##er"... would fit as well.
  REQUIRE(tokenizer->Encode("underst").value() == Ids{6, 8});
}

TEST_CASE("a word with one part unknown is unknown as a whole") {
  const auto tokenizer = Make("fish\n##es");
  REQUIRE(tokenizer->Encode("fishx").value() == Ids{1});
  REQUIRE(tokenizer->Encode("es").value() == Ids{1});
  REQUIRE(tokenizer->Encode("fishes x fish").value() == Ids{5, 6, 1, 5});
}

TEST_CASE("pieces are cut between characters, never inside one") {
  const auto tokenizer = Make("\u00e9\n##\u00e8\n\U0001F41F\n##a", /*lowercase=*/false);
  REQUIRE(tokenizer->Encode("\u00e9\u00e8").value() == Ids{5, 6});
  REQUIRE(tokenizer->Encode("\U0001F41Fa").value() == Ids{7, 8});
  REQUIRE(tokenizer->Encode("\u00e8").value() == Ids{1});
}

TEST_CASE("a word of 200 characters is split, one of 201 is unknown") {
  const auto tokenizer = Make("\u0436\n##\u0436", /*lowercase=*/false);
  std::string word;
  for (int i = 0; i < 200; ++i) word += "\u0436";
  REQUIRE(tokenizer->Encode(word).value().size() == 200);
  REQUIRE(tokenizer->Encode(word + "\u0436").value() == Ids{1});
}

TEST_CASE("special tokens cannot be written into a text") {
  const auto tokenizer = Make("[\n]\ncls", /*lowercase=*/true);
  REQUIRE(tokenizer->Encode("[CLS]").value() == Ids{5, 7, 6});
}

TEST_CASE("Tokenize spells what Encode numbers") {
  const auto tokenizer = Make("fish\n##es");
  const std::vector<Token> tokens = Tokenize(*tokenizer, "Fishes, no").value();
  REQUIRE(tokens.size() == 4);
  REQUIRE(tokens[0].text == "fish");
  REQUIRE(tokens[1].text == "##es");
  REQUIRE(tokens[1].id == 6);
  REQUIRE(tokens[2].text == "[UNK]");
  REQUIRE(tokens[3].text == "[UNK]");
  REQUIRE(Tokenize(*tokenizer, " ").value().empty());
}

TEST_CASE("text that is not UTF-8 is refused") {
  const auto tokenizer = Make("fish");
  REQUIRE(tokenizer->Encode("fish \xff").status().code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(Tokenize(*tokenizer, "fish \xff").status().message(), "byte offset 5"));
}

TEST_CASE("a vocabulary that cannot be right is refused with the line") {
  using absl::StrCat;
  using absl::StrContains;
  REQUIRE(StrContains(CreateError(StrCat(kSpecials, "fish\nred\nfish\n")).message(),
                      "line 8 repeats \"fish\" of line 6"));
  REQUIRE(StrContains(CreateError(StrCat(kSpecials, "##es\n##es")).message(),
                      "line 7 repeats \"##es\" of line 6"));
  REQUIRE(
      StrContains(CreateError(StrCat(kSpecials, "fish\n\nred\n")).message(), "line 7 is empty"));
  REQUIRE(
      StrContains(CreateError(StrCat(kSpecials, "fish\n\xc3\n")).message(), "line 7 is not UTF-8"));
  REQUIRE(StrContains(CreateError(StrCat(kSpecials, std::string(513, 'x'))).message(),
                      "line 6 has 513 bytes; a token has at most 512"));
  REQUIRE(Make(std::string(512, 'x'))->vocabulary_size() == 6);
}

TEST_CASE("each missing special token is named") {
  for (const char* missing : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    std::string vocabulary = kSpecials;
    vocabulary.replace(vocabulary.find(missing), std::string(missing).size(), "other");
    CAPTURE(missing);
    REQUIRE(absl::StrContains(CreateError(vocabulary).message(), missing));
  }
  REQUIRE(absl::StrContains(CreateError("").message(), "0 lines"));
  const std::string marked = std::string("\xEF\xBB\xBF") + kSpecials;
  REQUIRE(absl::StrContains(CreateError(marked).message(), "byte order mark"));
}

TEST_CASE("a vocabulary of a million tokens is taken, one more is not") {
  std::string vocabulary = kSpecials;
  for (int i = 5; i < 1'000'000; ++i) absl::StrAppend(&vocabulary, i, "\n");
  REQUIRE(WordPieceTokenizer::Create(vocabulary, {}).value()->vocabulary_size() == 1'000'000);
  REQUIRE(absl::StrContains(CreateError(vocabulary + "fish\n").message(), "line 1000001"));
}

// The reference's loop, word for word: shorten from the end until the vocabulary has it.
Ids SlowPieces(const std::map<std::string, int32_t>& vocabulary, const std::string& word) {
  Ids ids;
  size_t start = 0;
  while (start < word.size()) {
    size_t end = word.size();
    for (; end > start; --end) {
      const std::string piece = (start > 0 ? "##" : "") + word.substr(start, end - start);
      const auto found = vocabulary.find(piece);
      if (found == vocabulary.end()) continue;
      ids.push_back(found->second);
      break;
    }
    if (end == start) return {1};
    start = end;
  }
  return ids;
}

TEST_CASE("pieces equal those of the slow loop on random vocabularies") {
  std::mt19937 random(7);
  const auto random_word = [&random](size_t longest) {
    std::string word;
    for (size_t n = 1 + random() % longest; n > 0; --n)
      word += static_cast<char>('a' + random() % 3);
    return word;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> lines = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    std::map<std::string, int32_t> vocabulary;
    for (int i = 0; i < 25; ++i) {
      const std::string token = (random() % 2 ? "##" : "") + random_word(5);
      if (!vocabulary.emplace(token, static_cast<int32_t>(lines.size())).second) continue;
      lines.push_back(token);
    }
    const auto tokenizer = WordPieceTokenizer::Create(absl::StrJoin(lines, "\n"), {}).value();
    for (int i = 0; i < 50; ++i) {
      const std::string word = random_word(20);
      CAPTURE(word, lines);
      REQUIRE(tokenizer->Encode(word).value() == SlowPieces(vocabulary, word));
    }
  }
}

TEST_CASE("a megabyte of text takes no more than its share of time") {
  const auto tokenizer = Make(absl::StrCat("a\n##a\n", std::string(512, 'a'), "\n"));
  REQUIRE(tokenizer->Encode(std::string(1'000'000, 'a')).value() == Ids{1});
  std::string words;
  for (int i = 0; i < 5'000; ++i) words += std::string(200, 'a') + " ";
  REQUIRE(tokenizer->Encode(words).value().size() == 1'000'000);
}

}  // namespace
}  // namespace sightline
