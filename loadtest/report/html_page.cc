#include "loadtest/report/html_page.h"

#include "absl/strings/str_cat.h"
#include "common/plot/xml_text.h"

namespace sightline {
namespace {

constexpr char kStyle[] =
#include "loadtest/report/page_css.inc"
    ;
constexpr char kScript[] =
#include "loadtest/report/page_js.inc"
    ;

}  // namespace

std::string HtmlPage(absl::string_view title, absl::string_view body) {
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; "
      "form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
      XmlText(title), "</title>\n<style>", kStyle, "</style>\n</head>\n<body>\n<main>\n", body,
      "</main>\n<script>", kScript, "</script>\n</body>\n</html>\n");
}

}  // namespace sightline
