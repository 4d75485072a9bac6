#include "common/tokenizer/utf8.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "catch2/catch.hpp"

namespace sightline {
namespace {

TEST_CASE("well-formed UTF-8 of every length passes") {
  REQUIRE(CheckUtf8("", "text").ok());
  REQUIRE(CheckUtf8("plain", "text").ok());
  REQUIRE(CheckUtf8(absl::string_view("a\0b", 3), "text").ok());
  REQUIRE(CheckUtf8("\u00e9 \u20ac \U0001F600 \U0010FFFF", "text").ok());
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
