#include "services/evaluator/tables_page.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/plot/page.h"
#include "common/plot/plot.h"
#include "common/plot/xml_text.h"
#include "services/evaluator/layout_grids.h"
#include "services/evaluator/tables_grids.h"
#include "services/evaluator/tables_plots.h"

namespace sightline {
namespace {

constexpr size_t kMostDrawnParts = 8;

std::string GridHtml(const TableGrid& grid) {
  std::vector<std::string> titles;
  for (const Table::Column& column : grid.columns) titles.push_back(column.title);
  HtmlTable table(titles, /*first_number=*/1);
  for (const std::vector<std::string>& row : grid.rows) table.AddRow(row);
  return table.Html();
}

std::string As(const PaperLayout& layout) {
  return PageParagraph("quiet", absl::StrCat("As in ", layout.paper, "."));
}

std::string PartHtml(const TablesReport& report, size_t part) {
  std::string html;
  for (const PaperLayout* const layout : report.layouts) {
    if (!layout->of_parts()) continue;
    absl::StrAppend(&html, As(*layout), GridHtml(LayoutGrids(*layout, report)[part]));
  }
  absl::StrAppend(&html, html.empty() ? "" : PageParagraph("quiet", "With intervals."),
                  GridHtml(RecallGrid(report, part)), GridHtml(OtherGrid(report, part)));
  html = PageSection(absl::StrCat("part-", part), PartTitle(report, part), html);
  if (part >= kMostDrawnParts) return html;
  for (const Plot& plot : TablesPlots(report, part)) html += plot.Html();
  return html;
}

std::string LanguagesHtml(const TablesReport& report) {
  if (report.parts.size() < 2) return "";
  std::string html;
  for (const PaperLayout* const layout : report.layouts) {
    if (!layout->of_languages()) continue;
    absl::StrAppend(&html, As(*layout), GridHtml(LayoutGrids(*layout, report).front()));
  }
  return PageSection("languages", "Languages", html + GridHtml(LanguageGrid(report)));
}

std::string TimesHtml(const TablesReport& report) {
  std::string html;
  for (const PaperLayout* const layout : report.layouts) {
    if (!layout->of_queries()) continue;
    absl::StrAppend(&html, As(*layout), GridHtml(LayoutGrids(*layout, report).front()));
  }
  return html.empty() ? "" : PageSection("times", "Times of a query", html);
}

std::string Head(const TablesReport& report) {
  std::string lead =
      absl::StrCat("Intervals by ", report.bootstrap.resamples, " resamples of families of images");
  // In lists whoever made them has decided.
  if (report.lists.empty()) {
    absl::StrAppend(&lead, "; ties count ",
                    report.measure.ties == TieRule::kExpectedRank ? "by their expectation"
                                                                  : "in the order of the file");
  }
  lead += ".";
  std::string html = absl::StrCat("<h1>Retrieval by protocol ", XmlText(report.protocol), "</h1>\n",
                                  PageParagraph("lead", lead));
  for (const std::string& note : {TimeNote(report), ListsNote(report)}) {
    if (!note.empty()) html += PageParagraph("quiet", note);
  }
  if (report.parts.size() > kMostDrawnParts) {
    html += PageParagraph("quiet", absl::StrCat("The first ", kMostDrawnParts, " of ",
                                                report.parts.size(), " languages have plots."));
  }
  return html;
}

}  // namespace

std::string TablesPage(const TablesReport& report) {
  std::string body = Head(report);
  body += LanguagesHtml(report);
  body += TimesHtml(report);
  for (size_t part = 0; part < report.parts.size(); ++part) body += PartHtml(report, part);
  return HtmlPage(absl::StrCat("Retrieval, ", report.protocol), body);
}

}  // namespace sightline
