#include "services/trainer/caption_vocabulary.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/tokenizer/wordpiece.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("no query in a Latin script is unknown, whatever the captions are") {
  for (const bool lowercase : {true, false}) {
    const auto vocabulary = MakeCaptionVocabulary({"a red fish", "a fish"}, {}, lowercase, 3000);
    REQUIRE(vocabulary.ok());
    const auto tokenizer = WordPieceTokenizer::Create(*vocabulary, {lowercase});
    REQUIRE(tokenizer.ok());
    for (const std::string& query :
         {std::string("Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich!"),
          std::string("Où est l’été de Ÿsaÿe? «Là-bas» – 100 % œuf, 5 €…"),
          std::string("¿Dónde está el pingüino nº 7? ¡Aquí! [x] {y} ~ ^ ` |"),
          std::string("Žluťoučký kůň, łódź, ğ, ß, æ, ø, þ, ð, đ, ħ, ŋ, ŧ, ə, ɓ, ƙ, ẽ, ơ, ȷ"),
          LatinAlphabet()}) {
      const auto ids = (*tokenizer)->Encode(query);
      REQUIRE(ids.ok());
      INFO(query);
      REQUIRE(std::count(ids->begin(), ids->end(), (*tokenizer)->unk_id()) == 0);
    }
  }
}

TEST_CASE("words seen twice are whole tokens") {
  const auto vocabulary = MakeCaptionVocabulary({"a red fish", "a fish"}, {}, true, 2000);
  REQUIRE(vocabulary.ok());
  const std::vector<std::string> tokens = absl::StrSplit(*vocabulary, '\n');
  REQUIRE(std::count(tokens.begin(), tokens.end(), "fish") == 1);
  REQUIRE(std::count(tokens.begin(), tokens.end(), "red") == 0);
}

TEST_CASE("a size that does not hold the characters is refused") {
  REQUIRE(MakeCaptionVocabulary({"fish"}, {}, true, 50).status().code() ==
          absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sightline
