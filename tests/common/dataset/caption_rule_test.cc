#include "common/dataset/caption_rule.h"

#include "tests/support/catch.h"

namespace sightline {
namespace {

using Captions = std::vector<std::string>;

TEST_CASE("what leaves no mark is told from what does") {
  for (const char* text : {"a", " ?", "\u00e9", "\U0001f41f", "\u200b|"}) {
    CAPTURE(text);
    REQUIRE(HasVisibleCharacter(text));
  }
  for (const char* text : {"", " \t\r\n", "\u00a0", "\u200b\u2060", "\u3000", "\xff", "a\xff"}) {
    CAPTURE(text);
    REQUIRE_FALSE(HasVisibleCharacter(text));
  }
}

TEST_CASE("normalising keeps words, in lower case") {
  REQUIRE(NormalizeWords("Simple Evergreen, with highlights") ==
          "simple evergreen with highlights");
  REQUIRE(NormalizeWords("China - Hong Kong") == "china hong kong");
  REQUIRE(NormalizeWords("signs_and_symbols") == "signs and symbols");
  REQUIRE(NormalizeWords("P\u00c8RE No\u00ebl") == "p\u00e8re no\u00ebl");
  REQUIRE(NormalizeWords("\u0415\u0416 2") == "\u0435\u0436 2");
  // A combining accent stays with its letter; alone it is no word.
  REQUIRE(NormalizeWords("Cafe\u0301 \u0301") == "cafe\u0301");
  REQUIRE(NormalizeWords(" ... ") == "");
  REQUIRE(NormalizeWords("\xff") == "");
}

TEST_CASE("keywords that tell of filing are dropped, part by part") {
  REQUIRE(DescribingKeywords({"hash", "unsorted", "theme", "icon", "icons", "action", "computer",
                              "application", "magick", "special", "signs_and_symbols",
                              "lemon_theme_icon", "Lemon"})
              .empty());
  REQUIRE(DescribingKeywords(
              {"government", "signs_and_symbols/weather", "signs_and_symbols traffic"}) ==
          Captions{"government", "weather", "traffic"});
  REQUIRE(DescribingKeywords({"united_kingdom", "Flag", "flag"}) ==
          Captions{"united kingdom", "flag"});
  REQUIRE(DescribingKeywords({"computers", "iconic"}) == Captions{"computers", "iconic"});
}

TEST_CASE("a title is a caption unless it is shared, too short or a file's name") {
  struct Case {
    std::string title;
    int shared_by;
    bool has_captions;
  };
  const std::vector<Case> cases = {
      {"Blue Vacuum Cleaner", 1, true},
      {"gramastar", 5, true},
      {"gramastar", 6, false},
      {"ox", 1, false},
      {"bus", 1, true},
      {"m16", 1, false},  // one letter
      {"p 2 p x", 1, true},
      {"drawing.svg", 1, false},
      {"SVG", 1, false},
      {"svg drawing", 1, true},
      {"", 1, false},
      {"!?", 1, false},
  };
  for (const Case& c : cases) {
    CAPTURE(c.title, c.shared_by);
    ClipArtCaptionRule rule;
    for (int i = 0; i < c.shared_by; ++i) rule.Count(c.title);
    const Captions captions = rule.CaptionsOf({c.title, {"bird"}});
    REQUIRE(captions.empty() != c.has_captions);
    if (c.has_captions) REQUIRE(captions == Captions{NormalizeWords(c.title), "bird"});
  }
}

TEST_CASE("titles that normalise alike count as shared") {
  ClipArtCaptionRule rule;
  for (const char* title :
       {"Flat icon", "flat icon", "Flat-Icon", "flat, icon", "FLAT ICON", "flat_icon"}) {
    rule.Count(title);
  }
  REQUIRE(rule.CaptionsOf({"flat icon", {}}).empty());
}

TEST_CASE("keywords are a second caption only when they add something") {
  ClipArtCaptionRule rule;
  rule.Count("Snowman");
  REQUIRE(rule.CaptionsOf({"Snowman", {"winter", "hash", "snow"}}) ==
          Captions{"snowman", "winter snow"});
  REQUIRE(rule.CaptionsOf({"Snowman", {"snowman"}}) == Captions{"snowman"});
  REQUIRE(rule.CaptionsOf({"Snowman", {"unsorted"}}) == Captions{"snowman"});
}

}  // namespace
}  // namespace sightline
