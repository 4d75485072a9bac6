#include "common/tokenizer/byte_level_bpe.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/common/tokenizer/tokens.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Ids = std::vector<int32_t>;

constexpr char kHeading[] = "#version: 0.2\n";
constexpr int32_t kEnd = 256;  // what an id has more at a word's end
constexpr int32_t kFirstMerge = 512;

std::unique_ptr<ByteLevelBpeTokenizer> Make(absl::string_view merges) {
  return ByteLevelBpeTokenizer::Create(absl::StrCat(kHeading, merges)).value();
}

std::string CreateError(absl::string_view merges) {
  const auto tokenizer = ByteLevelBpeTokenizer::Create(merges);
  REQUIRE_FALSE(tokenizer.ok());
  REQUIRE(tokenizer.status().code() == absl::StatusCode::kInvalidArgument);
  return std::string(tokenizer.status().message());
}

// The ids of printed ASCII start at '!'.
Ids Bytes(const std::string& word) {
  Ids ids;
  for (const char c : word) ids.push_back(c - '!');
  ids.back() += kEnd;
  return ids;
}

TEST_CASE("ids are bytes, bytes at a word's end, merges and two specials") {
  const auto tokenizer = Make("a b\nab c</w>\n");
  REQUIRE(tokenizer->vocabulary_size() == 512 + 2 + 2);
  REQUIRE(tokenizer->cls_id() == 514);
  REQUIRE(tokenizer->sep_id() == 515);
  REQUIRE(tokenizer->pad_id() == -1);
  REQUIRE(tokenizer->unk_id() == -1);
  REQUIRE(tokenizer->mask_id() == -1);
  REQUIRE(tokenizer->Encode("!").value() == Ids{0 + kEnd});
  REQUIRE(tokenizer->Encode("abc").value() == Ids{513});
  REQUIRE(tokenizer->Encode("abd").value() == Ids{512, 'd' - '!' + kEnd});
  // U+00AD is the last but one byte that is no printed character, 0x00 the first.
  REQUIRE(tokenizer->Encode(absl::string_view("\0", 1)).value() == Ids{188 + kEnd});
}

TEST_CASE("pairs are joined in the order of the file, not from the left") {
  const auto tokenizer = Make("b c</w>\na b\n");
  REQUIRE(tokenizer->Encode("abc").value() == Ids{'a' - '!', kFirstMerge});
  // "bc" inside a word is no "bc</w>".
  REQUIRE(tokenizer->Encode("abcd").value() == Ids{kFirstMerge + 1, 'c' - '!', 'd' - '!' + kEnd});
}

TEST_CASE("text is cleaned as CLIP cleans it") {
  const auto tokenizer = Make("a b\n");
  const auto same = [&](absl::string_view a, absl::string_view b) {
    CAPTURE(a, b);
    REQUIRE(tokenizer->Encode(a).value() == tokenizer->Encode(b).value());
  };
  same("  A\t\u00a0Dog \n", "a dog");
  same("e\u0301", "\u00e9");
  same("&lt;b&gt;", "<b>");
  same("&amp;lt;", "<");
  same("&amp;amp;lt;", "& lt;");
  same("&nbsp;x&nbsp;", "x");
  REQUIRE(tokenizer->Encode(" \u3000\t").value().empty());
  REQUIRE(tokenizer->Encode("").value().empty());
}

TEST_CASE("words are contractions, letters, single digits and the rest") {
  const auto tokenizer = Make("a b\n");
  const auto words = [&](absl::string_view text, const std::vector<std::string>& expected) {
    Ids ids;
    for (const std::string& word : expected) {
      const Ids more = Bytes(word);
      ids.insert(ids.end(), more.begin(), more.end());
    }
    CAPTURE(text);
    REQUIRE(tokenizer->Encode(text).value() == ids);
  };
  words("it's they'll we've i'd", {"it", "'s", "they", "'ll", "we", "'ve", "i", "'d"});
  words("'suck 'x ''s", {"'s", "uck", "'", "x", "''", "s"});
  words("r2d2 100%", {"r", "2", "d", "2", "1", "0", "0", "%"});
  words("a...!?b_c", {"a", "...!?", "b", "_", "c"});
}

TEST_CASE("special tokens cannot be written into a text") {
  const auto tokenizer = Make("a b\n");
  const Ids ids = tokenizer->Encode("<|endoftext|>").value();
  REQUIRE(ids.size() == 13);
  REQUIRE(*std::max_element(ids.begin(), ids.end()) < tokenizer->cls_id());
}

TEST_CASE("Tokenize spells what Encode numbers") {
  const std::vector<Token> tokens = Tokenize(*Make("a b\n"), "ab \u00e9").value();
  REQUIRE(tokens.size() == 4);
  REQUIRE(tokens[0].text == "a");
  REQUIRE(tokens[1].text == "b</w>");
  REQUIRE(tokens[2].text == "\u00c3");
  REQUIRE(tokens[3].text == "\u00a9</w>");
}

TEST_CASE("of a long list only what CLIP uses is read") {
  // The characters that stand for a byte as themselves.
  std::vector<std::string> characters;
  for (char c = '!'; c <= '~'; ++c) characters.emplace_back(1, c);
  for (int c = 0xA1; c <= 0xFF; ++c) {
    if (c == 0xAD) continue;
    characters.push_back({static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))});
  }
  std::string merges = "\"bpe_simple_vocab_16e6.txt#version: 0.2\n";
  int count = 0;
  for (const std::string& left : characters) {
    for (const std::string& right : characters) {
      for (const char* end : {"", "</w>"}) {
        if (count++ < 48'894) absl::StrAppend(&merges, left, " ", right, end, "\n");
      }
    }
  }
  const auto tokenizer = ByteLevelBpeTokenizer::Create(merges + "this is not\nread\n").value();
  REQUIRE(tokenizer->vocabulary_size() == 49'408);
  REQUIRE(tokenizer->cls_id() == 49'406);
  REQUIRE(tokenizer->sep_id() == 49'407);
}

TEST_CASE("a list that cannot be right is refused with the line") {
  using absl::StrCat;
  using absl::StrContains;
  REQUIRE(StrContains(CreateError("a b\n"), "line 1 is no heading"));
  REQUIRE(StrContains(CreateError(""), "empty"));
  REQUIRE(StrContains(CreateError(kHeading), "empty"));
  REQUIRE(StrContains(CreateError(StrCat(kHeading, "a b\n\n")), "line 3 is \"\", not two symbols"));
  REQUIRE(StrContains(CreateError(StrCat(kHeading, "ab\n")), "line 2 is \"ab\""));
  REQUIRE(StrContains(CreateError(StrCat(kHeading, "a b c\n")), "line 2 has \"b c\""));
  REQUIRE(StrContains(CreateError(StrCat(kHeading, "ab c\na b\n")), "line 2 has \"ab\""));
  REQUIRE(StrContains(CreateError(StrCat(kHeading, "a b\na b\n")), "line 3 makes \"ab\""));
  REQUIRE(StrContains(CreateError(StrCat(kHeading, "a b\nb c\nab c\na bc\n")),
                      "line 5 makes \"abc\", which there is already"));
  REQUIRE(StrContains(CreateError(StrCat(kHeading, "a \xff\n")), "line 2 is not UTF-8"));
  REQUIRE(StrContains(CreateError(StrCat(kHeading, std::string(2000, 'a'))), "has 2000 bytes"));
  std::string doubling = kHeading;
  for (size_t n = 1; n <= 256; n *= 2) {
    absl::StrAppend(&doubling, std::string(n, 'a'), " ", std::string(n, 'a'), "\n");
  }
  absl::StrAppend(&doubling, std::string(512, 'a'), " a\n");
  REQUIRE(StrContains(CreateError(doubling), "line 11 makes 513 bytes"));
}

TEST_CASE("lines may end in CRLF, and the last line need not end") {
  const auto tokenizer = ByteLevelBpeTokenizer::Create("#version: 0.2\r\na b\r\nab c</w>").value();
  REQUIRE(tokenizer->Encode("abc").value() == Ids{513});
}

TEST_CASE("text that is not UTF-8 is refused") {
  const auto tokenizer = Make("a b\n");
  REQUIRE(tokenizer->Encode("a \xff").status().code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(Tokenize(*tokenizer, "a \xff").status().message(), "byte offset 2"));
}

// The release's loop: of all pairs the one that was learnt first, everywhere; again.
std::vector<std::string> SlowJoin(const std::map<std::pair<std::string, std::string>, int>& ranks,
                                  std::vector<std::string> word) {
  for (;;) {
    auto best = ranks.end();
    for (size_t i = 0; i + 1 < word.size(); ++i) {
      const auto found = ranks.find({word[i], word[i + 1]});
      if (found == ranks.end()) continue;
      if (best == ranks.end() || found->second < best->second) best = found;
    }
    if (best == ranks.end()) return word;
    std::vector<std::string> joined;
    for (size_t i = 0; i < word.size(); ++i) {
      const bool pair = i + 1 < word.size() && best->first == std::pair(word[i], word[i + 1]);
      joined.push_back(pair ? word[i] + word[i + 1] : word[i]);
      if (pair) ++i;
    }
    word = joined;
  }
}

TEST_CASE("joins equal those of the slow loop on random merges") {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> symbols = {"a", "b", "c", "a</w>", "b</w>", "c</w>"};
    std::map<std::pair<std::string, std::string>, int> ranks;
    std::string merges;
    for (int i = 0; i < 60; ++i) {
      const std::string left = symbols[random() % symbols.size()];
      const std::string right = symbols[random() % symbols.size()];
      const std::string joined = left + right;
      if (absl::StrContains(left, "<") || joined.size() > 30) continue;
      if (std::find(symbols.begin(), symbols.end(), joined) != symbols.end()) continue;
      ranks[{left, right}] = static_cast<int>(ranks.size());
      symbols.push_back(joined);
      absl::StrAppend(&merges, left, " ", right, "\n");
    }
    if (ranks.empty()) continue;
    const auto tokenizer = Make(merges);
    for (int i = 0; i < 50; ++i) {
      std::vector<std::string> letters;
      std::string word;
      for (size_t n = 1 + random() % 40; n > 0; --n) {
        letters.emplace_back(1, static_cast<char>('a' + random() % 3));
        word += letters.back();
      }
      letters.back() += "</w>";
      const std::vector<Token> tokens = Tokenize(*tokenizer, word).value();
      std::vector<std::string> joined;
      for (const Token& token : tokens) joined.push_back(token.text);
      CAPTURE(word, merges);
      REQUIRE(joined == SlowJoin(ranks, letters));
    }
  }
}

TEST_CASE("no byte string crashes it, as text or as merges") {
  const auto tokenizer = Make("a b\n");
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    for (size_t n = random() % 40; n > 0; --n) bytes += static_cast<char>(random());
    const auto ids = tokenizer->Encode(bytes);
    if (!ids.ok()) REQUIRE(ids.status().code() == absl::StatusCode::kInvalidArgument);
    REQUIRE_FALSE(ByteLevelBpeTokenizer::Create(bytes).ok());
    REQUIRE_FALSE(ByteLevelBpeTokenizer::Create(kHeading + bytes).ok());
  }
}

TEST_CASE("a word of a megabyte takes no more than its share of time") {
  const auto tokenizer = Make("a a\naa aa\naaaa aaaa\na b\nab ab\n");
  REQUIRE(tokenizer->Encode(std::string(1 << 20, 'a')).value().size() == (1 << 17) + 3);
}

}  // namespace
}  // namespace sightline
