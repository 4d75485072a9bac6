#include "common/tokenizer/sentencepiece_tokenizer.h"

#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/common/tokenizer/tokens.h"
#include "tests/support/catch.h"
#include "tests/support/sentencepiece_model.h"

namespace sightline {
namespace {

using Ids = std::vector<int32_t>;

constexpr int kNormalizerSpec = 3;
constexpr int kCharsmap = 2;

std::unique_ptr<SentencePieceTokenizer> Make(const std::vector<std::string>& pieces) {
  return SentencePieceTokenizer::Create(SentencePieceModelBytes(pieces)).value();
}

std::string CreateError(const std::string& model) {
  const auto tokenizer = SentencePieceTokenizer::Create(model);
  REQUIRE_FALSE(tokenizer.ok());
  REQUIRE(tokenizer.status().code() == absl::StatusCode::kInvalidArgument);
  return std::string(tokenizer.status().message());
}

std::string Units(const std::vector<uint32_t>& units) {
  std::string bytes(units.size() * sizeof(uint32_t), '\0');
  if (!units.empty()) std::memcpy(bytes.data(), units.data(), bytes.size());
  return bytes;
}

std::string Charsmap(const std::vector<uint32_t>& trie, const std::string& replacements) {
  return Units({static_cast<uint32_t>(4 * trie.size())}) + Units(trie) + replacements;
}

std::string WithCharsmap(const std::string& charsmap) {
  return SentencePieceModelBytes({"\u2581", "a", "b"}) +
         BytesField(kNormalizerSpec, BytesField(kCharsmap, charsmap));
}

// A trie that knows the one byte `byte`, which is none of 0 and 1, with `value`.
std::vector<uint32_t> OneRule(unsigned char byte, uint32_t value) {
  std::vector<uint32_t> trie(256, 0);
  trie[0] = 1 << 10;                         // children at 1 ^ byte
  trie[1 ^ byte] = 1 << 10 | 1 << 8 | byte;  // its value at 1 ^ 1 ^ byte
  trie[byte] = 0x80000000u | value;
  return trie;
}

TEST_CASE("ids are fairseq's") {
  const auto tokenizer = Make({"\u2581a", "\u2581dog", "s"});
  REQUIRE(tokenizer->vocabulary_size() == 3 + 5);
  REQUIRE(tokenizer->cls_id() == 0);
  REQUIRE(tokenizer->pad_id() == 1);
  REQUIRE(tokenizer->sep_id() == 2);
  REQUIRE(tokenizer->unk_id() == 3);
  REQUIRE(tokenizer->mask_id() == 7);
  REQUIRE(tokenizer->Encode("a dogs").value() == Ids{4, 5, 6});
}

TEST_CASE("the best path wins, not the longest piece") {
  std::string model = SentencePieceModelBytes({});
  const auto add = [&](const char* text, float score) {
    model += SentencePieceEntryBytes({text, score, 1});
  };
  add("\u2581", -1);
  add("ab", -1);
  add("abc", -9);
  add("cd", -1);
  add("d", -1);
  const auto tokenizer = SentencePieceTokenizer::Create(model).value();
  REQUIRE(tokenizer->Encode("abcd").value() == Ids{4, 5, 7});
}

TEST_CASE("neighbouring unknown characters are one token") {
  const auto tokenizer = Make({"\u2581", "a"});
  REQUIRE(tokenizer->Encode("xyz a\u4e00x").value() == Ids{4, 3, 4, 5, 3});
}

TEST_CASE("spaces are one, and none at the ends") {
  const auto tokenizer = Make({"\u2581", "a"});
  REQUIRE(tokenizer->Encode("  a   a ").value() == Ids{4, 5, 4, 5});
  REQUIRE(tokenizer->Encode("").value().empty());
  REQUIRE(tokenizer->Encode("  ").value().empty());
}

TEST_CASE("special pieces cannot be written into a text") {
  const auto tokenizer = Make({"\u2581", "<", "s", ">"});
  REQUIRE(tokenizer->Encode("<s>").value() == Ids{4, 5, 6, 7});
  REQUIRE(tokenizer->Encode("<unk>").value() == Ids{4, 5, 3, 7});
}

TEST_CASE("Tokenize spells what Encode numbers") {
  const std::vector<Token> tokens = Tokenize(*Make({"\u2581a"}), "a!").value();
  REQUIRE(tokens.size() == 2);
  REQUIRE(tokens[0].text == "\u2581a");
  REQUIRE(tokens[1].text == "<unk>");
  REQUIRE(tokens[1].id == 3);
}

TEST_CASE("rules replace the longest prefix that they know") {
  const auto tokenizer = SentencePieceTokenizer::Create(
                             WithCharsmap(Charsmap(OneRule('x', 2), std::string("?\0b a\0", 6))))
                             .value();
  REQUIRE(tokenizer->Encode("axa").value() == Ids{4, 5, 6, 4, 5, 5});
}

TEST_CASE("a charsmap that lies leads nowhere") {
  using absl::StrContains;
  REQUIRE(StrContains(CreateError(WithCharsmap("abc")), "charsmap is too short"));
  REQUIRE(StrContains(CreateError(WithCharsmap(Units({8, 0}))), "has 4 bytes for a trie of 8"));
  REQUIRE(StrContains(CreateError(WithCharsmap(Units({0xFFFFFFFC, 0}))), "trie of 4294967292"));
  REQUIRE(StrContains(CreateError(WithCharsmap(Units({3, 0}))), "multiple of 4"));
  REQUIRE(StrContains(CreateError(WithCharsmap(Charsmap({0}, "\xff"))), "not UTF-8"));
  REQUIRE(StrContains(CreateError(WithCharsmap(Charsmap({0}, std::string(257, 'a')))),
                      "replacement of 257 bytes"));
  // Values and offsets behind the end.
  for (const auto& trie : {OneRule('a', 100), std::vector<uint32_t>{0xFFFFFFFF},
                           std::vector<uint32_t>(256, 0x7FFFFFFF)}) {
    const auto tokenizer =
        SentencePieceTokenizer::Create(WithCharsmap(Charsmap(trie, std::string("b\0", 2)))).value();
    REQUIRE(tokenizer->Encode("aa").value() == Ids{4, 5, 5});
  }
  // A rule for the first byte of a character: what it leaves of the character is no text.
  const auto tokenizer = SentencePieceTokenizer::Create(
                             WithCharsmap(Charsmap(OneRule(0xC3, 0), std::string("b\0", 2))))
                             .value();
  REQUIRE(tokenizer->Encode("\u00e9a").value() == Ids{4, 6, 3, 5});
}

TEST_CASE("a model that cannot be right is refused with the reason") {
  using absl::StrContains;
  const std::string model = SentencePieceModelBytes({"a"});
  const auto with = [&](const SentencePieceEntry& entry) {
    return CreateError(model + SentencePieceEntryBytes(entry));
  };
  REQUIRE(StrContains(CreateError(""), "piece 0 is not the special piece <unk>"));
  REQUIRE(StrContains(CreateError(SentencePieceEntryBytes({"a", 0, 1})), "piece 0 is not"));
  REQUIRE(StrContains(with({"a", -2, 1}), "piece 4 repeats \"a\" of piece 3"));
  REQUIRE(StrContains(with({"a", -2, 5}), "piece 4 repeats \"a\" of piece 3"));
  REQUIRE(StrContains(with({"", -2, 1}), "piece 4 is empty"));
  REQUIRE(StrContains(with({std::string(513, 'x'), -2, 1}), "piece 4 has 513 bytes"));
  REQUIRE(StrContains(with({"\xff", -2, 1}), "piece 4 is not UTF-8"));
  REQUIRE(StrContains(with({"b", std::numeric_limits<float>::quiet_NaN(), 1}), "score of piece 4"));
  REQUIRE(StrContains(with({"b", -std::numeric_limits<float>::infinity(), 1}), "-inf"));
  REQUIRE(StrContains(with({"b", -2, 2}), "piece 4 is a second unknown one"));
  REQUIRE(StrContains(with({"b", -2, 4}), "piece 4 is of type 4"));
  REQUIRE(StrContains(with({"<0x0A>", -2, 6}), "piece 4 is of type 6"));
  REQUIRE(StrContains(CreateError(model + BytesField(2, NumberField(3, 2))), "model_type is 2"));
  REQUIRE(StrContains(CreateError(model + BytesField(2, NumberField(24, 1))), "as_suffix"));
  REQUIRE(StrContains(CreateError(model + "\x0a\x7f"), "broken"));
  REQUIRE(StrContains(CreateError(model + "\x0b"), "broken"));
  REQUIRE(StrContains(CreateError(model + std::string(11, '\xff')), "broken"));
}

TEST_CASE("every cut and every flipped byte of a model is refused or read, and encodes") {
  const std::string model = WithCharsmap(Charsmap(OneRule('x', 0), std::string("b a\0", 4)));
  for (size_t i = 0; i < model.size(); ++i) {
    std::string flipped = model;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << i % 8));
    for (const std::string& bytes : {model.substr(0, i), flipped}) {
      const auto tokenizer = SentencePieceTokenizer::Create(bytes);
      if (!tokenizer.ok()) continue;
      const Ids ids = (*tokenizer)->Encode("ab x \u00e9ya").value();
      for (const int32_t id : ids) REQUIRE(id < (*tokenizer)->vocabulary_size());
    }
  }
}

TEST_CASE("scores at the ends of float make no difference to safety") {
  constexpr float kMost = std::numeric_limits<float>::max();
  const std::string model =
      SentencePieceModelBytes({}) + SentencePieceEntryBytes({"\u2581", -kMost, 1}) +
      SentencePieceEntryBytes({"a", -kMost, 1}) + SentencePieceEntryBytes({"b", kMost, 1});
  const auto tokenizer = SentencePieceTokenizer::Create(model).value();
  REQUIRE(tokenizer->Encode("aab bba").value() == Ids{4, 5, 5, 6, 4, 6, 6, 5});
}

TEST_CASE("no byte string crashes it, as text or as model") {
  const auto tokenizer = Make({"\u2581", "a"});
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    for (size_t n = random() % 40; n > 0; --n) bytes += static_cast<char>(random());
    const auto ids = tokenizer->Encode(bytes);
    if (!ids.ok()) REQUIRE(ids.status().code() == absl::StatusCode::kInvalidArgument);
    REQUIRE_FALSE(SentencePieceTokenizer::Create(bytes).ok());
  }
  REQUIRE(absl::StrContains(tokenizer->Encode("a\xff").status().message(), "byte offset 1"));
}

TEST_CASE("a vocabulary of XLM-R's size, and a megabyte of text") {
  std::vector<std::string> pieces;
  for (int i = 0; i < 249'997; ++i) pieces.push_back(absl::StrCat(i % 2 ? "\u2581" : "", i));
  const auto tokenizer = Make(pieces);
  REQUIRE(tokenizer->vocabulary_size() == 250'002);
  REQUIRE(tokenizer->mask_id() == 250'001);
  REQUIRE(tokenizer->Encode(std::string(1'000'000, '1')).ok());
}

}  // namespace
}  // namespace sightline
