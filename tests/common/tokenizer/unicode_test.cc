#include "common/tokenizer/unicode.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <random>
#include <string>

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

std::string Composed(const std::string& text) {
  return ComposeCanonically(text).value();
}

// ICU's own, which is slow for marks in the worst order.
std::string SlowComposed(const std::string& text) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(error);
  std::string composed;
  nfc->normalize(icu::UnicodeString::fromUTF8(text), error).toUTF8String(composed);
  REQUIRE(U_SUCCESS(error));
  return composed;
}

TEST_CASE("characters are composed, with marks in any order") {
  REQUIRE(Composed("plain") == "plain");
  REQUIRE(Composed("e\u0301") == "\u00e9");
  REQUIRE(Composed("q\u0307\u0323") == "q\u0323\u0307");
  REQUIRE(Composed("o\u0304\u0328") == "\u01ed");
  REQUIRE(Composed("\u1112\u1161\u11ab") == "\ud55c");
  REQUIRE(Composed("\u0301e") == "\u0301e");
  REQUIRE(Composed("\u212b") == "\u00c5");
  REQUIRE(Composed("\u0958") == "\u0915\u093c");  // never composed
}

TEST_CASE("composing equals ICU's on every character between two others") {
  for (UChar32 c = 0; c <= 0x10FFFF; ++c) {
    if (U_IS_SURROGATE(c) || u_charType(c) == U_UNASSIGNED) continue;
    std::string text = "a";
    AppendCodePoint(c, &text);
    text += "\u0301";
    if (Composed(text) == SlowComposed(text)) continue;
    CAPTURE(c);
    REQUIRE(Composed(text) == SlowComposed(text));
  }
}

TEST_CASE("composing equals ICU's on random texts of characters that interact") {
  constexpr UChar32 kCharacters[] = {'a',    'e',    0xE9,   0x300,   0x301,   0x323,   0x327,
                                     0x345,  0x1E69, 0x3B1,  0x1FB7,  0x9C7,   0x9BE,   0x9D7,
                                     0x1100, 0x1161, 0x11A8, 0xAC00,  0xF71,   0xF72,   0xF74,
                                     0xF73,  0x30AB, 0x3099, 0x1D158, 0x1D165, 0x1D15E, 0x2ADC};
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (size_t n = random() % 12; n > 0; --n) {
      AppendCodePoint(kCharacters[random() % std::size(kCharacters)], &text);
    }
    CAPTURE(text);
    REQUIRE(Composed(text) == SlowComposed(text));
  }
}

TEST_CASE("a megabyte of marks in the worst order is composed at once") {
  std::string text = "a";
  for (int i = 0; i < 250'000; ++i) text += "\u0301\u0323";
  const std::string composed = Composed(text);
  // a and the first dot below become one character.
  REQUIRE(composed.size() == text.size());
  REQUIRE(absl::StartsWith(composed, "\u1ea1\u0323"));
}

TEST_CASE("lower-casing knows the final sigma and what gets longer") {
  REQUIRE(LowerCase("ABC").value() == "abc");
  REQUIRE(LowerCase("\u03a3\u0391\u03a3 \u0130").value() == "\u03c3\u03b1\u03c2 i\u0307");
}

TEST_CASE("white space is what Python takes for it") {
  int spaces = 0;
  for (UChar32 c = 0; c <= 0x10FFFF; ++c) spaces += IsPythonSpace(c);
  REQUIRE(spaces == 29);
  REQUIRE(IsPythonSpace(0x1C));
  REQUIRE(IsPythonSpace(0x3000));
  REQUIRE_FALSE(IsPythonSpace(0x200B));
}

TEST_CASE("text that is not UTF-8 is refused with the place") {
  REQUIRE(CheckText("fish").ok());
  REQUIRE(absl::StrContains(CheckText("fish\xff").message(), "byte offset 4"));
}

}  // namespace
}  // namespace sightline
