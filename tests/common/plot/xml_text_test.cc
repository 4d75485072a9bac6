#include "common/plot/xml_text.h"

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("markup is escaped") {
  REQUIRE(XmlText("<a b=\"c\" d='e'>&") == "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
}

TEST_CASE("what XML 1.0 forbids is left out") {
  REQUIRE(XmlText(absl::string_view("a\0b\x1b"
                                    "c\x08",
                                    6)) == "abc");
  REQUIRE(XmlText("a\xEF\xBF\xBE\xEF\xBF\xBF"
                  "b") == "ab");
}

TEST_CASE("line ends and tabs stay, a lone carriage return as its number") {
  REQUIRE(XmlText("a\tb\nc\rd") == "a\tb\nc&#13;d");
}

TEST_CASE("characters stay and bytes that are none are replaced") {
  REQUIRE(XmlText("µ–✓\xF0\x9F\x98\x80") == "µ–✓\xF0\x9F\x98\x80");
  REQUIRE(XmlText("a\xFF"
                  "b") ==
          "a\xEF\xBF\xBD"
          "b");
}

}  // namespace
}  // namespace sightline
