#include "common/base/utf8.h"

#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// Encodes by the book; a surrogate gives bytes that are not UTF-8.
std::string Encode(uint32_t code) {
  const auto byte = [](uint32_t value) { return std::string(1, static_cast<char>(value)); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) return byte(0xC0 | code >> 6) + byte(0x80 | (code & 63));
  const std::string low = byte(0x80 | (code >> 6 & 63)) + byte(0x80 | (code & 63));
  if (code < 0x10000) return byte(0xE0 | code >> 12) + low;
  return byte(0xF0 | code >> 18) + byte(0x80 | (code >> 12 & 63)) + low;
}

TEST_CASE("every code point but the surrogates is valid, alone and followed") {
  for (uint32_t code = 0; code <= 0x10FFFF; ++code) {
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (IsValidUtf8(Encode(code)) == surrogate) FAIL("code point " << code);
    if (IsValidUtf8(Encode(code) + "x") == surrogate) FAIL("code point " << code << " and x");
  }
  REQUIRE_FALSE(IsValidUtf8(Encode(0x110000)));
}

TEST_CASE("truncated sequences are not valid") {
  for (const uint32_t code : {0x80u, 0x7FFu, 0x800u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    const std::string bytes = Encode(code);
    for (size_t length = 1; length < bytes.size(); ++length) {
      CAPTURE(code, length);
      REQUIRE_FALSE(IsValidUtf8(bytes.substr(0, length)));
      REQUIRE_FALSE(IsValidUtf8(bytes.substr(0, length) + "x"));
    }
  }
}

TEST_CASE("overlong and stray bytes are not valid") {
  for (const char* bytes :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xF0\x80\x80\x80",
        "\xF0\x8F\xBF\xBF", "\xF5\x80\x80\x80", "\xFE", "\xFF", "a\x80"}) {
    REQUIRE_FALSE(IsValidUtf8(bytes));
  }
  REQUIRE(IsValidUtf8(""));
  REQUIRE(IsValidUtf8(absl::string_view("\0", 1)));
}

TEST_CASE("the first bad byte is named with its offset") {
  const struct {
    std::string bytes;
    int offset;
  } cases[] = {
      {"\x80", 0},                 // continuation without a start
      {"ab\xff", 2},               // never a byte of UTF-8
      {"\u00e9\xc3", 2},           // cut after the first of two
      {"ab\xe2\x82", 2},           // cut after the second of three
      {"a\xf0\x9f\x98", 1},        // cut after the third of four
      {"\xc0\xaf", 0},             // overlong slash
      {"x\xed\xa0\x80", 1},        // surrogate
      {"xyz\xf4\x90\x80\x80", 3},  // above U+10FFFF
      {"ok \xc3(", 3},             // start without continuation
  };
  for (const auto& c : cases) {
    const absl::Status status = CheckUtf8(c.bytes, "caption");
    CAPTURE(c.offset, status.ToString());
    REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
    REQUIRE(absl::StrContains(status.message(), "caption is not UTF-8"));
    REQUIRE(absl::StrContains(status.message(), absl::StrCat("byte offset ", c.offset, " ")));
  }
}

}  // namespace
}  // namespace sightline
