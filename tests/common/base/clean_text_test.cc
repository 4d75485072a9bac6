#include "common/base/clean_text.h"

#include <string>

#include "common/base/utf8.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("Characters are measured, and what is none measures zero") {
  CHECK(Utf8CharacterLength("a") == 1);
  CHECK(Utf8CharacterLength("\xC3\xA4x") == 2);
  CHECK(Utf8CharacterLength("\xE2\x82\xAC") == 3);
  CHECK(Utf8CharacterLength("\xF0\x9F\x90\x9F") == 4);
  CHECK(Utf8CharacterLength("") == 0);
  CHECK(Utf8CharacterLength("\x80") == 0);
  CHECK(Utf8CharacterLength("\xC3") == 0);
  CHECK(Utf8CharacterLength("\xC3x") == 0);
  CHECK(Utf8CharacterLength("\xED\xA0\x80") == 0);      // a surrogate
  CHECK(Utf8CharacterLength("\xC0\xAF") == 0);          // overlong
  CHECK(Utf8CharacterLength("\xF5\x80\x80\x80") == 0);  // beyond Unicode
}

TEST_CASE("Good text stays; each bad byte becomes one replacement character") {
  CHECK(ReplaceInvalidUtf8("a \xC3\xA4 \xF0\x9F\x90\x9F") == "a \xC3\xA4 \xF0\x9F\x90\x9F");
  CHECK(ReplaceInvalidUtf8("a\xFF\xC3z") == "a\xEF\xBF\xBD\xEF\xBF\xBDz");
  CHECK(ReplaceInvalidUtf8("\xE2\x82") == "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("Cutting keeps characters whole and the bound") {
  const std::string text = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x90\x9F tail";
  for (size_t max = 3; max <= text.size() + 2; ++max) {
    const std::string cut = TruncateUtf8(text, max);
    CHECK(cut.size() <= max);
    CHECK(IsValidUtf8(cut));
    CHECK((cut == text) == (max >= text.size()));
  }
  CHECK(TruncateUtf8("abcdef", 5) == "ab...");
  CHECK(TruncateUtf8("abcde", 5) == "abcde");
}

TEST_CASE("Cleaning any bytes gives UTF-8 within the bound") {
  std::string bytes;
  for (int i = 0; i < 600; ++i) bytes.push_back(static_cast<char>(i * 37 + i / 7));
  for (size_t length = 0; length < bytes.size(); ++length) {
    for (const size_t max : {3, 10, 100, 2000}) {
      const std::string clean = CleanText(absl::string_view(bytes).substr(0, length), max);
      REQUIRE(clean.size() <= max);
      REQUIRE(IsValidUtf8(clean));
      REQUIRE(clean == TruncateUtf8(ReplaceInvalidUtf8(bytes.substr(0, length)), max));
    }
  }
}

TEST_CASE("Bytes that are no printable text are escaped, and others left as they are") {
  CHECK(EscapeUnlessPrintable("caf\xc3\xa9 \"no. 1\"") == "caf\xc3\xa9 \"no. 1\"");
  CHECK(EscapeUnlessPrintable("caf\xe9") == "caf\\xe9");
  CHECK(EscapeUnlessPrintable("a\x1b[1m") == "a\\x1b[1m");
  CHECK(EscapeUnlessPrintable("") == "");
}

}  // namespace
}  // namespace sightline
