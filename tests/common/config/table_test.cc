#include "common/config/table.h"

#include <string>

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("columns are as wide as their widest cell and lines end where their text does") {
  Table table({{"rank", true}, {"id"}, {"caption"}});
  table.AddRow({"1", "stamps/fish", "a red fish"});
  table.AddRow({"10", "x", ""});
  REQUIRE(table.ToString() ==
          "rank  id           caption\n"
          "   1  stamps/fish  a red fish\n"
          "  10  x\n");
  REQUIRE(table.ToString(2).substr(0, 8) == "  rank  ");
}

TEST_CASE("width is counted in characters, not in bytes") {
  Table table({{"a"}, {"b"}});
  table.AddRow({"Größe", "x"});
  table.AddRow({"12345", "y"});
  REQUIRE(table.RowsToString() == "Größe  x\n12345  y\n");
}

TEST_CASE("a long cell is cut between characters, with an ellipsis") {
  REQUIRE(Printable("Größe", 5) == "Größe");
  REQUIRE(Printable("Größe", 4) == "Grö…");
  REQUIRE(Printable("abcdef", 0) == "abcdef");
}

// A caption is somebody else's text, and a terminal obeys what it is sent.
TEST_CASE("nothing that a terminal would obey gets through") {
  REQUIRE(Printable("a\x1B[2Jb", 0) == "a\xEF\xBF\xBD[2Jb");
  REQUIRE(Printable("a\xC2\x9B\x62", 0) == "a\xEF\xBF\xBD\x62");
  REQUIRE(Printable("a\xFF\x62", 0) == "a\xEF\xBF\xBD\x62");
  REQUIRE(Printable(std::string("a\0b", 3), 0) == "a\xEF\xBF\xBD\x62");
  REQUIRE(Printable("  two\n\t lines\r\n", 0) == "two lines");
}

TEST_CASE("numbers get thin groups of three") {
  REQUIRE(WithThousands(0) == "0");
  REQUIRE(WithThousands(999) == "999");
  REQUIRE(WithThousands(1000) == "1 000");
  REQUIRE(WithThousands(1234567) == "1 234 567");
  REQUIRE(WithThousands(-123456) == "-123 456");
}

}  // namespace
}  // namespace sightline
