#include "common/plot/page.h"

#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

TEST_CASE("a page asks for nothing from outside and escapes its title") {
  const std::string page = HtmlPage("<a>", "<p>body</p>", ".mine{fill:red}");
  REQUIRE_THAT(page, Contains("<title>&lt;a&gt;</title>") && Contains("<main>\n<p>body</p>"));
  REQUIRE_THAT(page, Contains(".mine{fill:red}</style>") && Contains("default-src 'none'"));
  for (const char* part : {"src=", "href=", "url(", "@import", "https://"}) {
    REQUIRE_THAT(page, !Contains(part));
  }
}

TEST_CASE("a table aligns its numbers and escapes its cells") {
  HtmlTable table({"name", "<n>"}, 1);
  REQUIRE(table.empty());
  table.AddRow({"a < b", "7"}, "<td>more</td>");
  table.AddRow({"a name that is too long for a line", "8"});
  REQUIRE_FALSE(table.empty());
  const std::string html = table.Html();
  REQUIRE_THAT(html, Contains("<th scope=\"col\" class=\"n\">&lt;n&gt;</th>"));
  REQUIRE_THAT(html, Contains("<tr><td class=\"short\">a &lt; b</td><td class=\"n\">7</td>"
                              "<td>more</td></tr>"));
  REQUIRE_THAT(html, Contains("<tr><td>a name that"));
}

TEST_CASE("sections and paragraphs take text") {
  REQUIRE(PageSection("id", "a & b", "<p></p>") ==
          "<section id=\"id\"><h2>a &amp; b</h2>\n<p></p></section>\n");
  REQUIRE(PageParagraph("quiet", "<") == "<p class=\"quiet\">&lt;</p>\n");
}

}  // namespace
}  // namespace sightline
