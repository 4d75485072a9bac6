// What every page has, whatever it tells.
#ifndef SIGHTLINE_LOADTEST_REPORT_HTML_PAGE_H_
#define SIGHTLINE_LOADTEST_REPORT_HTML_PAGE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sightline {

// A whole document around `body`, which is HTML; `title` is text.
std::string HtmlPage(absl::string_view title, absl::string_view body);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_REPORT_HTML_PAGE_H_
