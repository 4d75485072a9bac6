#include "common/dataset/emoji_reader.h"

#include "tests/common/dataset/tiny_font.h"
#include "tests/common/dataset/tree.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Ids = std::vector<std::string>;

std::string Ldml(const std::string& annotations) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\" ?>"
         "<!DOCTYPE ldml SYSTEM \"../../common/dtd/ldml.dtd\">"
         "<ldml><identity/><annotations>" +
         annotations + "</annotations></ldml>";
}

constexpr char kEnglish[] =
    "<annotation cp=\"\U0001F438\">face | frog</annotation>"
    "<annotation cp=\"\U0001F438\" type=\"tts\">frog</annotation>"
    "<annotation cp=\"\U0001F41F\">fish | Pisces | zodiac</annotation>"
    "<annotation cp=\"\U0001F41F\" type=\"tts\">fish</annotation>"
    "<annotation cp=\"\U0001F468\u200D\U0001F467\" type=\"tts\">family</annotation>"
    "<annotation cp=\"{\" type=\"tts\">open curly bracket</annotation>"
    "<annotation cp=\"\u23EF\">right | triangle</annotation>";

constexpr char kGerman[] =
    "<annotation cp=\"\U0001F438\">Frosch | Gesicht</annotation>"
    "<annotation cp=\"\U0001F438\" type=\"tts\">Frosch</annotation>"
    "<annotation cp=\"\U0001F41F\" type=\"tts\">\u2191\u2191\u2191</annotation>";

EmojiOptions Prepare(Tree& tree) {
  tree.Put("font.ttf", MakeTinyFont({{0x23ef, TinyPng("play")},
                                     {0x1f41f, TinyPng("fish")},
                                     {0x1f438, TinyPng("frog")}}));
  tree.Put("annotations/en.xml", Ldml(kEnglish));
  tree.Put("annotations/de.xml", Ldml(kGerman));
  EmojiOptions options;
  options.font = tree.Path("font.ttf");
  options.annotations = tree.Path("annotations");
  return options;
}

TEST_CASE("an emoji has a picture and an English name") {
  Tree tree;
  const auto reader = NewEmojiReader(Prepare(tree));
  REQUIRE(reader.ok());
  const auto listing = (*reader)->List();
  REQUIRE(listing.ok());
  // U+23EF has no name, the brace no picture, the family more than one code point.
  REQUIRE(IdsOf(*listing) == Ids{"emoji/1f41f", "emoji/1f438"});
  REQUIRE(CaptionsOf(listing->items[0]) == "en:fish|en:Pisces zodiac");
  REQUIRE(CaptionsOf(listing->items[1]) == "en:frog|en:face");
  REQUIRE(listing->items[1].tags == std::vector<std::string>{"face"});
  REQUIRE(listing->items[1].path == tree.Path("font.ttf") + "#1f438");
  REQUIRE(*(*reader)->ReadPicture(listing->items[1], 100) == TinyPng("frog"));
  REQUIRE(absl::IsInvalidArgument((*reader)->ReadPicture(listing->items[1], 5).status()));
}

TEST_CASE("other languages add captions and no items") {
  Tree tree;
  EmojiOptions options = Prepare(tree);
  options.languages = {"de"};
  const auto german = (*NewEmojiReader(options))->List();
  REQUIRE(IdsOf(*german) == Ids{"emoji/1f41f", "emoji/1f438"});
  REQUIRE(CaptionsOf(german->items[0]) == "");
  REQUIRE(CaptionsOf(german->items[1]) == "de:Frosch|de:Gesicht");

  options.languages = {"en", "de"};
  const auto both = (*NewEmojiReader(options))->List();
  REQUIRE(CaptionsOf(both->items[1]) == "en:frog|en:face|de:Frosch|de:Gesicht");

  options.languages = {"en", "xx"};
  const absl::Status missing = (*NewEmojiReader(options))->List().status();
  REQUIRE(absl::IsNotFound(missing));
  REQUIRE_THAT(std::string(missing.message()), Catch::Contains("xx.xml"));
}

TEST_CASE("a reader knows only the pictures of its font") {
  Tree tree;
  const auto reader = NewEmojiReader(Prepare(tree));
  CorpusItem item;
  for (const char* id : {"emoji/1f999", "emoji/xyz", "stamps/frog", "emoji/"}) {
    item.item_id = id;
    REQUIRE(absl::IsNotFound((*reader)->ReadPicture(item, 100).status()));
  }
}

TEST_CASE("broken fonts and annotations are errors") {
  Tree tree;
  EmojiOptions options = Prepare(tree);
  tree.Put("annotations/en.xml", "<ldml><annotations>");
  REQUIRE(absl::IsInvalidArgument((*NewEmojiReader(options))->List().status()));
  tree.Put("font.ttf", "no font");
  REQUIRE(absl::IsInvalidArgument(NewEmojiReader(options).status()));
  options.font = tree.Path("none.ttf");
  REQUIRE(absl::IsNotFound(NewEmojiReader(options).status()));
}

}  // namespace
}  // namespace sightline
