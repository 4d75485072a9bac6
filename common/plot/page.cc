#include "common/plot/page.h"

#include "absl/strings/str_cat.h"
#include "common/plot/xml_text.h"

namespace sightline {
namespace {

constexpr char kStyle[] =
#include "common/plot/page_css.inc"
    ;
constexpr char kScript[] =
#include "common/plot/page_js.inc"
    ;

constexpr size_t kShort = 24;  // what stays on one line

}  // namespace

std::string HtmlPage(absl::string_view title, absl::string_view body, absl::string_view style) {
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; "
      "form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
      XmlText(title), "</title>\n<style>", kStyle, style, "</style>\n</head>\n<body>\n<main>\n",
      body, "</main>\n<script>", kScript, "</script>\n</body>\n</html>\n");
}

std::string PageSection(absl::string_view id, absl::string_view title, absl::string_view html) {
  return absl::StrCat("<section id=\"", id, "\"><h2>", XmlText(title), "</h2>\n", html,
                      "</section>\n");
}

std::string PageParagraph(absl::string_view css, absl::string_view text) {
  return absl::StrCat("<p class=\"", css, "\">", XmlText(text), "</p>\n");
}

HtmlTable::HtmlTable(const std::vector<std::string>& titles, size_t first_number)
    : first_number_(first_number) {
  for (size_t i = 0; i < titles.size(); ++i) {
    absl::StrAppend(&head_, "<th scope=\"col\"", i >= first_number_ ? " class=\"n\"" : "", ">",
                    XmlText(titles[i]), "</th>");
  }
}

void HtmlTable::AddRow(const std::vector<std::string>& cells, absl::string_view more) {
  absl::StrAppend(&rows_, "<tr>");
  for (size_t i = 0; i < cells.size(); ++i) {
    absl::StrAppend(&rows_,
                    i >= first_number_          ? "<td class=\"n\">"
                    : cells[i].size() <= kShort ? "<td class=\"short\">"
                                                : "<td>",
                    XmlText(cells[i]), "</td>");
  }
  absl::StrAppend(&rows_, more, "</tr>\n");
}

std::string HtmlTable::Html() const {
  return absl::StrCat("<div class=\"scroll\"><table><thead><tr>", head_, "</tr></thead>\n<tbody>\n",
                      rows_, "</tbody></table></div>\n");
}

}  // namespace sightline
