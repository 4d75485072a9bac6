#include "loadtest/report/stacked_bars.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "loadtest/report/xml_text.h"

namespace sightline {
namespace {

constexpr double kSide = 14, kTop = 6, kRowHeight = 58, kLabelHeight = 20, kBarHeight = 26;
constexpr double kAxisHeight = 34, kGap = 2;
constexpr double kCharacterWidth = 6.8;

std::string TextAt(double x, double y, absl::string_view css, absl::string_view text) {
  return absl::StrCat("<text class=\"", css, "\" x=\"", Coordinate(x), "\" y=\"", Coordinate(y),
                      "\">", XmlText(text), "</text>");
}

// Name and value if there is room, or the value alone, or nothing.
std::string PartText(const BarPart& part, double width) {
  const auto fits = [width](const std::string& text) {
    return kCharacterWidth * static_cast<double>(text.size()) + 10 < width;
  };
  const std::string both = absl::StrCat(part.name, " ", part.text);
  return fits(both) ? both : fits(part.text) ? part.text : "";
}

std::string Bar(const BarRow& row, const Axis& axis, double room, double top) {
  std::string svg = TextAt(kSide, top + kLabelHeight - 6, "rowname", row.label);
  double sum = 0;
  for (const BarPart& part : row.parts) {
    const double from = kSide + axis.Place(sum) * room;
    sum += part.value;
    const double width = kSide + axis.Place(sum) * room - from - kGap;
    if (width <= 0.2) continue;
    absl::StrAppend(&svg, "<rect class=\"", part.css, "\" x=\"", Coordinate(from), "\" y=\"",
                    Coordinate(top + kLabelHeight), "\" width=\"", Coordinate(width),
                    "\" height=\"", Coordinate(kBarHeight), "\" rx=\"2\"><title>",
                    XmlText(part.name), " ", XmlText(part.text), "</title></rect>");
    const std::string text = PartText(part, width);
    if (text.empty()) continue;
    absl::StrAppend(&svg, TextAt(from + width / 2, top + kLabelHeight + kBarHeight / 2 + 4,
                                 absl::StrCat("parttext middle on-", part.css), text));
  }
  return svg;
}

}  // namespace

std::string StackedBars(const PlotText& text, const PlotSize& size, const std::vector<BarRow>& rows,
                        const Axis::Label& label) {
  double longest = 0;
  for (const BarRow& row : rows) {
    double sum = 0;
    for (const BarPart& part : row.parts) sum += part.value;
    longest = std::max(longest, sum);
  }
  if (longest <= 0) longest = 1;
  const Axis axis = Axis::Linear(0, longest, size.x_ticks - 1, label);
  const double room = size.width - 2 * kSide;
  const double bottom = kTop + kRowHeight * static_cast<double>(rows.size());

  std::string svg = absl::StrCat(
      "<svg class=\"plot\" id=\"", text.id, "\" viewBox=\"0 0 ", Coordinate(size.width), " ",
      Coordinate(bottom + kAxisHeight), "\" role=\"img\" aria-labelledby=\"", text.id, "-title ",
      text.id, "-desc\"><title id=\"", text.id, "-title\">", XmlText(text.title),
      "</title><desc id=\"", text.id, "-desc\">", XmlText(text.description), "</desc>");
  double taken = 0;
  for (const Tick& tick : axis.ticks()) {
    const double x = kSide + axis.Place(tick.value) * room;
    absl::StrAppend(&svg, "<path class=\"grid\" d=\"M", Coordinate(x), " ", Coordinate(kTop), "V",
                    Coordinate(bottom), "\"/>");
    const double half = kCharacterWidth * static_cast<double>(tick.label.size()) / 2;
    if (x + half > size.width || x - half < taken) continue;
    const bool first = tick.value == 0;
    absl::StrAppend(&svg, TextAt(x, bottom + 15, first ? "tick" : "tick middle", tick.label));
    taken = x + half + kCharacterWidth;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    absl::StrAppend(&svg, Bar(rows[i], axis, room, kTop + kRowHeight * static_cast<double>(i)));
  }
  return absl::StrCat(svg, TextAt(size.width - kSide, bottom + 31, "unit end", text.x_unit),
                      "</svg>");
}

}  // namespace sightline
