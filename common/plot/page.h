// A page of plots and tables: what every page has, whatever it tells.
//
// A page holds all that it needs and may ask for nothing else (its content security policy says so
// to the browser).  It works from a file, without a network, without scripts (values under the
// pointer are then missing), in light and dark, on phones and on paper.
#ifndef SIGHTLINE_COMMON_PLOT_PAGE_H_
#define SIGHTLINE_COMMON_PLOT_PAGE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sightline {

// A whole document around `body`, which is HTML; `title` is text.  `style` is a style sheet of
// what page.css does not know.
std::string HtmlPage(absl::string_view title, absl::string_view body, absl::string_view style = "");

// A card with a heading, which is text, around `html`.
std::string PageSection(absl::string_view id, absl::string_view title, absl::string_view html);

// Text; `css` is a class: "lead", "quiet" or none.
std::string PageParagraph(absl::string_view css, absl::string_view text);

// A table.  Columns from `first_number` on are numbers; titles and cells are text and are escaped.
class HtmlTable {
 public:
  // For a table of words alone.
  static constexpr size_t kNoNumbers = 1000;

  HtmlTable(const std::vector<std::string>& titles, size_t first_number);

  // `more`: a further cell, as HTML.
  void AddRow(const std::vector<std::string>& cells, absl::string_view more = "");

  bool empty() const { return rows_.empty(); }
  std::string Html() const;

 private:
  const size_t first_number_;
  std::string head_, rows_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_PLOT_PAGE_H_
