#include "common/tokenizer/word_list.h"

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/common/tokenizer/tokens.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Ids = std::vector<int32_t>;

constexpr char kSpecials[] = R"("<pad>": 0, "<start>": 1, "<end>": 2, "<unk>": 3)";

std::string List(absl::string_view more, absl::string_view fields = "") {
  return absl::StrCat("{\"word2idx\": {", kSpecials, more, "}", fields, "}");
}

std::unique_ptr<WordListTokenizer> Make(absl::string_view more) {
  return WordListTokenizer::Create(List(more)).value();
}

std::string CreateError(absl::string_view list) {
  const auto tokenizer = WordListTokenizer::Create(list);
  REQUIRE_FALSE(tokenizer.ok());
  REQUIRE(tokenizer.status().code() == absl::StatusCode::kInvalidArgument);
  return std::string(tokenizer.status().message());
}

TEST_CASE("words are looked up whole, and unknown ones are <unk>") {
  const auto tokenizer = Make(R"(, "dog": 4, "a": 5, ".": 6, "n't": 7, "is": 8)");
  REQUIRE(tokenizer->vocabulary_size() == 9);
  REQUIRE(tokenizer->Encode("A Dog isn't red.").value() == Ids{5, 4, 8, 7, 3, 6});
  REQUIRE(tokenizer->Encode(" ").value().empty());
}

TEST_CASE("special ids are found by name") {
  const auto tokenizer =
      WordListTokenizer::Create(
          R"({"word2idx": {"a": 0, "<unk>": 1, "<end>": 2, "<pad>": 3, "<start>": 4}})")
          .value();
  REQUIRE(tokenizer->unk_id() == 1);
  REQUIRE(tokenizer->sep_id() == 2);
  REQUIRE(tokenizer->pad_id() == 3);
  REQUIRE(tokenizer->cls_id() == 4);
  REQUIRE(tokenizer->mask_id() == -1);
}

TEST_CASE("special words cannot be written into a text") {
  REQUIRE(Make("")->Encode("<end>").value() == Ids{3, 3, 3});
}

TEST_CASE("Tokenize spells what the list has") {
  const std::vector<Token> tokens = Tokenize(*Make(R"(, "caf\u00e9": 4)"), "Caf\u00e9 x").value();
  REQUIRE(tokens.size() == 2);
  REQUIRE(tokens[0].text == "caf\u00e9");
  REQUIRE(tokens[1].text == "<unk>");
  REQUIRE(tokens[1].id == 3);
}

TEST_CASE("the other fields have to agree") {
  constexpr char kBack[] =
      R"(, "idx": 4, "idx2word": {"0": "<pad>", "1": "<start>", "2": "<end>", "3": "<unk>"})";
  REQUIRE(WordListTokenizer::Create(List("", kBack)).ok());
  REQUIRE(absl::StrContains(CreateError(List("", R"(, "idx": 5)")), "idx is 5"));
  REQUIRE(absl::StrContains(CreateError(List(R"(, "a": 4)", kBack)), "idx is 4"));
  REQUIRE(absl::StrContains(
      CreateError(
          List("", R"(, "idx2word": {"0": "<pad>", "1": "<start>", "2": "<end>", "3": "unk"})")),
      "idx2word of 3 is not \"<unk>\""));
  REQUIRE(absl::StrContains(CreateError(List("", R"(, "idx2word": {"0": "<pad>"})")),
                            "idx2word has 1 words"));
}

TEST_CASE("a list that cannot be right is refused with the reason") {
  using absl::StrContains;
  REQUIRE(StrContains(CreateError(""), "no JSON"));
  REQUIRE(StrContains(CreateError("{"), "no JSON"));
  REQUIRE(StrContains(CreateError("{}"), "no object word2idx"));
  REQUIRE(StrContains(CreateError("[]"), "an array"));
  REQUIRE(StrContains(CreateError("3"), "a number where none belongs"));
  REQUIRE(StrContains(CreateError(R"({"word2idx": null})"), "null"));
  REQUIRE(StrContains(CreateError(R"({"words": {}})"), "\"words\" is no field"));
  REQUIRE(StrContains(CreateError(List("", R"(, "word2idx": {})")), "\"word2idx\" comes twice"));
  REQUIRE(StrContains(CreateError(List(R"(, "a": 5)")), "the id of \"a\" is 5"));
  REQUIRE(StrContains(CreateError(List(R"(, "a": 3)")), "id 3 is that of two words"));
  REQUIRE(StrContains(CreateError(List(R"(, "a": 4, "a": 5)")), "the word \"a\" comes twice"));
  REQUIRE(StrContains(CreateError(List(R"(, "a": -1)")), "the number -1"));
  REQUIRE(StrContains(CreateError(List(R"(, "a": 4.0)")), "the number 4.0"));
  REQUIRE(StrContains(CreateError(List(R"(, "a": 18446744073709551615)")), "the id of \"a\""));
  REQUIRE(StrContains(CreateError(List(R"(, "a": 1e999)")), "no JSON"));
  REQUIRE(StrContains(CreateError(List(R"(, "a": true)")), "true or false"));
  REQUIRE(StrContains(CreateError(List(R"(, "a": {})")), "\"a\" is an object"));
  REQUIRE(StrContains(CreateError(List(R"(, "": 4)")), "empty key"));
  REQUIRE(StrContains(CreateError(List(", \"" + std::string(513, 'x') + "\": 4")), "512 bytes"));
  REQUIRE(StrContains(CreateError(List(", \"\xff\": 4")), "no JSON"));
  REQUIRE(StrContains(CreateError(std::string(1'000'000, '[')), "an array"));
}

TEST_CASE("each missing special word is named") {
  for (const char* missing : {"<pad>", "<start>", "<end>", "<unk>"}) {
    std::string list = List("");
    list.replace(list.find(missing), std::string(missing).size(), "other");
    CAPTURE(missing);
    REQUIRE(absl::StrContains(CreateError(list), missing));
  }
}

TEST_CASE("no byte string crashes it, as text or as list") {
  const auto tokenizer = Make("");
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    for (size_t n = random() % 40; n > 0; --n) bytes += static_cast<char>(random());
    const auto ids = tokenizer->Encode(bytes);
    if (!ids.ok()) REQUIRE(ids.status().code() == absl::StatusCode::kInvalidArgument);
    REQUIRE_FALSE(WordListTokenizer::Create(bytes).ok());
  }
}

}  // namespace
}  // namespace sightline
