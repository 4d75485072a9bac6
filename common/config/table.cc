#include "common/config/table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/clean_text.h"

namespace sightline {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";
constexpr char kEllipsis[] = "\xE2\x80\xA6";

bool IsControl(absl::string_view character) {
  if (character.size() == 1) return absl::ascii_iscntrl(character[0]);
  // U+0080 to U+009F: some terminals obey these, too.
  return character.size() == 2 && character[0] == '\xC2' &&
         static_cast<unsigned char>(character[1]) < 0xA0;
}

int Width(absl::string_view text) {
  int width = 0;
  for (char c : text) width += (c & 0xC0) != 0x80;
  return width;
}

std::string Cut(const std::string& text, int max_width) {
  if (max_width == 0 || Width(text) <= max_width) return text;
  size_t end = 0;
  for (int i = 0; i < max_width - 1; ++i) {
    end += Utf8CharacterLength(absl::string_view(text).substr(end));
  }
  return text.substr(0, end) + kEllipsis;
}

}  // namespace

std::string Printable(const std::string& text, int max_width) {
  std::string result;
  bool space = false;
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8CharacterLength(absl::string_view(text).substr(i));
    if (length == 1 && absl::ascii_isspace(text[i])) {
      space = true;
      ++i;
      continue;
    }
    if (space && !result.empty()) result += ' ';
    space = false;
    const absl::string_view character(&text[i], std::max<size_t>(length, 1));
    absl::StrAppend(&result, length == 0 || IsControl(character) ? kReplacement : character);
    i += character.size();
  }
  return Cut(result, max_width);
}

void Table::AddRow(const std::vector<std::string>& cells) {
  std::vector<std::string> row;
  for (size_t i = 0; i < columns_.size(); ++i) {
    // The first cell of a list keeps its own indentation.
    const size_t indent = std::min(cells[i].find_first_not_of(' '), cells[i].size());
    row.push_back(std::string(indent, ' ') + Printable(cells[i], columns_[i].max_width));
  }
  rows_.push_back(std::move(row));
}

std::string Table::ToString(int indent) const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::vector<std::vector<std::string>> lines = {titles};
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  return Format(lines, indent);
}

std::string Table::RowsToString(int indent) const {
  return Format(rows_, indent);
}

std::string Table::Format(const std::vector<std::vector<std::string>>& lines, int indent) const {
  std::vector<int> widths(columns_.size());
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], Width(line[i]));
  }
  std::string text;
  for (const auto& cells : lines) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - Width(cells[i]), ' ');
      absl::StrAppend(&line, i == 0 ? "" : "  ", columns_[i].right ? padding : "", cells[i],
                      columns_[i].right ? "" : padding);
    }
    absl::StripTrailingAsciiWhitespace(&line);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string WithThousands(int64_t number) {
  std::string digits = absl::StrCat(number);
  const int first = number < 0 ? 1 : 0;
  for (int i = static_cast<int>(digits.size()) - 3; i > first; i -= 3) digits.insert(i, " ");
  return digits;
}

}  // namespace sightline
