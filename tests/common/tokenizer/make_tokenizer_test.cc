#include "common/tokenizer/make_tokenizer.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/support/catch.h"
#include "tests/support/sentencepiece_model.h"

namespace sightline {
namespace {

using Ids = std::vector<int32_t>;

constexpr char kWordPieces[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nfish\nFish\n";

TEST_CASE("names are kinds") {
  REQUIRE(ParseTokenizerKind("wordpiece").value() == TokenizerKind::kWordPiece);
  REQUIRE(ParseTokenizerKind("clip_bpe").value() == TokenizerKind::kByteLevelBpe);
  REQUIRE(ParseTokenizerKind("sentencepiece").value() == TokenizerKind::kSentencePiece);
  REQUIRE(ParseTokenizerKind("word_list").value() == TokenizerKind::kWordList);
  const absl::Status status = ParseTokenizerKind("bpe").status();
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(status.message(),
                            "\"bpe\"; there are: wordpiece, clip_bpe, sentencepiece, word_list"));
}

TEST_CASE("each kind is made of its vocabulary") {
  const auto ids = [](TokenizerKind kind, absl::string_view vocabulary, bool lowercase) {
    return MakeTokenizer(kind, vocabulary, lowercase).value()->Encode("Fish").value();
  };
  REQUIRE(ids(TokenizerKind::kWordPiece, kWordPieces, true) == Ids{5});
  REQUIRE(ids(TokenizerKind::kWordPiece, kWordPieces, false) == Ids{6});
  REQUIRE(ids(TokenizerKind::kByteLevelBpe, "#version: 0.2\ns h</w>\nf i\nfi sh</w>\n", true) ==
          Ids{514});
  REQUIRE(ids(TokenizerKind::kSentencePiece, SentencePieceModelBytes({"\u2581Fish"}), true) ==
          Ids{4});
  REQUIRE(ids(TokenizerKind::kWordList,
              R"({"word2idx": {"<pad>": 0, "<start>": 1, "<end>": 2, "<unk>": 3, "fish": 4}})",
              true) == Ids{4});
}

TEST_CASE("a vocabulary that is damaged or of another kind is refused") {
  for (const auto kind : {TokenizerKind::kWordPiece, TokenizerKind::kByteLevelBpe,
                          TokenizerKind::kSentencePiece, TokenizerKind::kWordList}) {
    for (const char* vocabulary : {"", "nothing", "\x1f\x8bnothing"}) {
      REQUIRE(MakeTokenizer(kind, vocabulary, true).status().code() ==
              absl::StatusCode::kInvalidArgument);
    }
  }
}

}  // namespace
}  // namespace sightline
