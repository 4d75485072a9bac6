#include "common/dataset/flickr_file.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/dataset/text_lines.h"

namespace sightline {
namespace {

constexpr absl::string_view kCsvHeader = "image_name|";

// One line: which of a picture's captions, and what it says.
struct FlickrLine {
  absl::string_view file, caption;
  int64_t number = 0;
};

absl::Status NoSuchLine(absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat("is not of the form ", wanted));
}

absl::StatusOr<FlickrLine> ParseTokenLine(absl::string_view line) {
  FlickrLine parsed;
  const size_t tab = line.find('\t');
  const size_t mark = line.substr(0, tab).rfind('#');
  if (tab == absl::string_view::npos || mark == absl::string_view::npos ||
      !absl::SimpleAtoi(line.substr(mark + 1, tab - mark - 1), &parsed.number)) {
    return NoSuchLine("NAME.jpg#NUMBER<TAB>CAPTION");
  }
  parsed.file = line.substr(0, mark);
  parsed.caption = line.substr(tab + 1);
  return parsed;
}

absl::StatusOr<FlickrLine> ParseCsvLine(absl::string_view line) {
  constexpr absl::string_view kForm = "NAME.jpg| NUMBER| CAPTION";
  FlickrLine parsed;
  const size_t bar = line.find('|');
  if (bar == absl::string_view::npos) return NoSuchLine(kForm);
  parsed.file = absl::StripAsciiWhitespace(line.substr(0, bar));
  const absl::string_view rest = absl::StripLeadingAsciiWhitespace(line.substr(bar + 1));
  const size_t digits =
      std::find_if_not(rest.begin(), rest.end(), absl::ascii_isdigit) - rest.begin();
  const bool ends = digits < rest.size() && (rest[digits] == '|' || rest[digits] == ' ');
  if (!ends || !absl::SimpleAtoi(rest.substr(0, digits), &parsed.number)) return NoSuchLine(kForm);
  parsed.caption = rest.substr(digits + 1);
  return parsed;
}

absl::Status TakeLine(const FlickrLine& line, absl::string_view language, absl::string_view where,
                      PublishedBuilder& builder) {
  ASSIGN_OR_RETURN(const size_t picture, builder.PictureOf(PictureStem(line.file)));
  if (!builder.IsDescribed(picture)) {
    RETURN_IF_ERROR(builder.Describe(picture, line.file, /*split=*/""));
  }
  return builder.AddCaption(picture, language, line.number, line.caption, where);
}

}  // namespace

absl::StatusOr<PublishedCaptions> ReadFlickrFile(const std::string& path,
                                                 absl::string_view language,
                                                 int captions_per_picture) {
  PublishedBuilder builder(path);
  ASSIGN_OR_RETURN(const TextLines lines, TextLines::Read(path));
  const bool csv = lines.size() > 0 && absl::StartsWith(lines[0], kCsvHeader);
  for (size_t i = csv ? 1 : 0; i < lines.size(); ++i) {
    const std::string where = absl::StrCat("line ", i + 1);
    const absl::StatusOr<FlickrLine> line = csv ? ParseCsvLine(lines[i]) : ParseTokenLine(lines[i]);
    const absl::Status taken =
        line.ok() ? TakeLine(*line, language, where, builder) : line.status();
    RETURN_IF_ERROR(Within(absl::StrCat(path, ": ", where), taken));
  }
  return Within(path, builder.Finish(captions_per_picture));
}

}  // namespace sightline
