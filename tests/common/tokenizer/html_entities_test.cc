#include "common/tokenizer/html_entities.h"

#include <string>

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("named references, with and without semicolon") {
  REQUIRE(UnescapeHtml("a &amp; b &lt;c&gt; &quot;&apos;") == "a & b <c> \"'");
  REQUIRE(UnescapeHtml("caf&eacute; &eacutex") == "caf\u00e9 \u00e9x");
  REQUIRE(UnescapeHtml("&CounterClockwiseContourIntegral;") == "\u2233");
  REQUIRE(UnescapeHtml("&NotEqualTilde;") == "\u2242\u0338");
  REQUIRE(UnescapeHtml("&Tab;&NewLine;&nbsp;") == "\t\n\u00a0");
  REQUIRE(UnescapeHtml("&AElig&zwnj;") == "\u00c6\u200c");  // the first and the last name
}

TEST_CASE("the longest name wins, and what follows stays") {
  REQUIRE(UnescapeHtml("&notin; &notit; &not; &noti") == "\u2209 \u00acit; \u00ac \u00aci");
  REQUIRE(UnescapeHtml("&hellip &hellip;") == "&hellip \u2026");  // this one needs its semicolon
  REQUIRE(UnescapeHtml("&ltgt;") == "<gt;");
}

TEST_CASE("what is no reference stays") {
  for (const char* text : {"", "&", "&&", "& amp;", "&;", "&#", "&#;", "&#x;", "&#xg", "&xyz;",
                           "&a", "A&B", "&\u00e9;", "q&", "&#-1;"}) {
    CAPTURE(text);
    REQUIRE(UnescapeHtml(text) == text);
  }
  REQUIRE(UnescapeHtml("&&amp;&") == "&&&");
}

TEST_CASE("one pass unescapes once") {
  REQUIRE(UnescapeHtml("&amp;lt;") == "&lt;");
  REQUIRE(UnescapeHtml("&#38;#38;") == "&#38;");
}

TEST_CASE("numbers") {
  REQUIRE(UnescapeHtml("&#65;&#x42;&#X43;&#68 &#x45G") == "ABCD EG");
  REQUIRE(UnescapeHtml("&#128031;") == "\U0001F41F");
  REQUIRE(UnescapeHtml("&#9;&#10;&#12;&#13;") == "\t\n\f\r");
}

TEST_CASE("numbers that stand for no character") {
  REQUIRE(UnescapeHtml("&#128;&#x9F;") == "\u20ac\u0178");  // as Windows had them
  REQUIRE(UnescapeHtml("&#x81;") == "\xc2\x81");
  for (const char* text : {"&#0;", "&#xD800;", "&#xDFFF;", "&#x110000;", "&#99999999999999999999;",
                           "&#xFFFFFFFFFFFFFFFFFFFFFFFF;"}) {
    CAPTURE(text);
    REQUIRE(UnescapeHtml(text) == "\ufffd");
  }
  for (const char* text : {"&#1;", "&#8;", "&#11;", "&#x1F;", "&#127;", "&#xFDD0;", "&#xFDEF;",
                           "&#xFFFE;", "&#x1FFFF;", "&#x10FFFF;"}) {
    CAPTURE(text);
    REQUIRE(UnescapeHtml(text).empty());
  }
}

TEST_CASE("a megabyte of ampersands and digits is quick") {
  const std::string ampersands(1'000'000, '&');
  REQUIRE(UnescapeHtml(ampersands) == ampersands);
  REQUIRE(UnescapeHtml("&#" + std::string(1'000'000, '1')) == "\ufffd");
  const std::string letters = "&" + std::string(1'000'000, 'z');
  REQUIRE(UnescapeHtml(letters) == letters);
}

}  // namespace
}  // namespace sightline
