#include "common/tokenizer/basic_tokenizer.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Words = std::vector<std::string>;

Words Cased(absl::string_view text) {
  return SplitIntoWords(text, false).value();
}
Words Uncased(absl::string_view text) {
  return SplitIntoWords(text, true).value();
}

TEST_CASE("text splits at every kind of space, and spaces are no words") {
  REQUIRE(Cased("").empty());
  REQUIRE(Cased(" \t\r\n \u00a0\u3000\u2028\u2029").empty());
  REQUIRE(Cased("a\tb\nc\r\nd\u00a0e\u3000f\u2028g\u2029h") ==
          Words{"a", "b", "c", "d", "e", "f", "g", "h"});
}

TEST_CASE("control characters vanish without splitting") {
  REQUIRE(Cased(absl::string_view("a\0b\x07"
                                  "c",
                                  5)) == Words{"abc"});
  REQUIRE(Cased("soft\u00adhyphen zero\u200bwidth\ufeff re\ufffdplaced") ==
          Words{"softhyphen", "zerowidth", "replaced"});
  // Private use and unassigned code points stay.
  REQUIRE(Cased("a\ue000b c\u0378d") == Words{"a\ue000b", "c\u0378d"});
}

TEST_CASE("every sign of ASCII and all Unicode punctuation stand alone") {
  REQUIRE(Cased("a_b-c/d\\e$f^g`h|i~j+k<l=m>") ==
          Words{"a", "_", "b", "-", "c", "/", "d", "\\", "e", "$", "f", "^", "g",
                "`", "h", "|", "i", "~", "j", "+", "k",  "<", "l", "=", "m", ">"});
  REQUIRE(Cased("\u00abx\u00bb\u2014y\u2026 \u3002\u0964") ==
          Words{"\u00ab", "x", "\u00bb", "\u2014", "y", "\u2026", "\u3002", "\u0964"});
  // Symbols beyond ASCII are letters to BERT.
  REQUIRE(Cased("a\u20acb\u00b1") == Words{"a\u20acb\u00b1"});
}

TEST_CASE("ideographs are words of their own, kana and Hangul are not") {
  REQUIRE(Cased("mixed\u65e5\u672ctext") == Words{"mixed", "\u65e5", "\u672c", "text"});
  REQUIRE(Cased("\u30c6\u30ad\u30b9 \ud55c\uad6d") == Words{"\u30c6\u30ad\u30b9", "\ud55c\uad6d"});
  for (const char* edge : {"\u4e00", "\u9fff", "\u3400", "\u4dbf", "\uf900", "\U00020000",
                           "\U0002a6d6", "\U0002cea1", "\U0002f800"}) {
    CAPTURE(edge);
    REQUIRE(Cased(std::string("a") + edge + "b").size() == 3);
  }
  REQUIRE(Cased("a\u4dc0b").size() == 1);  // a hexagram, between two blocks
}

TEST_CASE("cased text keeps its letters and accents as they are") {
  REQUIRE(Cased("\u00c7af\u00e9 e\u0301") == Words{"\u00c7af\u00e9", "e\u0301"});
}

TEST_CASE("uncased text loses case and accents") {
  REQUIRE(Uncased("HELLO World") == Words{"hello", "world"});
  REQUIRE(Uncased("\u00c7af\u00e9 nai\u0308ve \u0141\u00d3D\u0179") ==
          Words{"cafe", "naive", "\u0142odz"});
  REQUIRE(Uncased("\u00df \u1e9e STRASSE") == Words{"\u00df", "\u00df", "strasse"});
  REQUIRE(Uncased("\u0130stanbul \u0131I") == Words{"istanbul", "\u0131i"});
  // A sigma at a word's end is another letter; the end is that of the word, not the text.
  REQUIRE(Uncased("\u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3 \u03a3") ==
          Words{"\u03c3\u03b9\u03c3\u03c5\u03c6\u03bf\u03c2", "\u03c3"});
  // Nothing is left of a mark that stands alone.
  REQUIRE(Uncased("\u0344 \u0301").empty());
  // The Greek question mark and varia decompose to ASCII, which splits.
  REQUIRE(Uncased("a\u037eb\u1fefc") == Words{"a", ";", "b", "`", "c"});
  REQUIRE(Uncased("\ud55c").front() == "\u1112\u1161\u11ab");
}

TEST_CASE("special tokens in a text are text") {
  REQUIRE(Cased("[CLS]") == Words{"[", "CLS", "]"});
}

TEST_CASE("bytes that are not UTF-8 are refused with their offset") {
  for (const bool lowercase : {false, true}) {
    const auto words = SplitIntoWords("caf\xe9 noir", lowercase);
    REQUIRE(words.status().code() == absl::StatusCode::kInvalidArgument);
    REQUIRE(absl::StrContains(words.status().message(), "byte offset 3 (0xe9)"));
  }
}

// The obvious way: ICU normalises the whole word, then marks go.
std::string SlowStripAccents(const icu::UnicodeString& word) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::UnicodeString decomposed =
      icu::Normalizer2::getNFDInstance(error)->normalize(word, error);
  REQUIRE(U_SUCCESS(error));
  icu::UnicodeString kept;
  for (int32_t i = 0; i < decomposed.length(); i = decomposed.moveIndex32(i, 1)) {
    const UChar32 c = decomposed.char32At(i);
    if (u_charType(c) != U_NON_SPACING_MARK) kept.append(c);
  }
  std::string result;
  return kept.toUTF8String(result);
}

TEST_CASE("accents go as if the whole word were normalised") {
  // Letters with and without accents, marks of many classes (spacing ones with a class
  // among them: U+1B44, U+302E, U+1D165, U+1D16D), composites of both.
  const std::vector<UChar32> pool = {'a',     0xE9,    0x1EA5, 0x323,  0x307,  0x344,  0xF73,
                                     0x5B0,   0x93C,   0x1B44, 0x1BAA, 0x302E, 0x302F, 0x1D165,
                                     0x1D16D, 0x1D15F, 0xAC01, 0x9CB,  0x3B9,  0x345,  0x20D0};
  std::mt19937 random(20240611);
  for (int round = 0; round < 20000; ++round) {
    icu::UnicodeString word("x");
    for (size_t length = random() % 12; length > 0; --length) {
      word.append(pool[random() % pool.size()]);
    }
    std::string text;
    word.toUTF8String(text);
    CAPTURE(round, text);
    const Words words = Uncased(text);
    REQUIRE(words.size() == 1);
    REQUIRE(words.front() == SlowStripAccents(word));
  }
}

TEST_CASE("a text of marks in the worst order takes no more than its share of time") {
  // A quadratic implementation needs hours for these; the test's time limit is the judge.
  std::string nonspacing = "a";
  std::string spacing = "a";
  for (int i = 0; i < 500'000; ++i) {
    nonspacing += "\u0301\u0323";
    spacing += "\U0001D16D\U0001D165";
  }
  REQUIRE(Uncased(nonspacing) == Words{"a"});
  REQUIRE(Uncased(spacing).front().size() == spacing.size());
  std::string sigmas;
  for (int i = 0; i < 300'000; ++i) sigmas += "\u03a3\u00ad\u0301\u02b0";
  REQUIRE(Uncased(sigmas).size() == 1);
}

}  // namespace
}  // namespace sightline
