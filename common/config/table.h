// Tables for a terminal.
#ifndef SIGHTLINE_COMMON_CONFIG_TABLE_H_
#define SIGHTLINE_COMMON_CONFIG_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sightline {

// `text` on one line and harmless to a terminal: white space is one space, control
// characters and bytes that are no UTF-8 are U+FFFD.  Cut to `max_width` characters, the
// last of them an ellipsis; 0 keeps all.
std::string Printable(const std::string& text, int max_width);

// Columns are as wide as their widest cell and two spaces apart; no line ends in spaces.
// Width is counted in code points, so East Asian wide characters and combining marks
// shift what follows them on their line.
class Table {
 public:
  struct Column {
    std::string title;
    bool right = false;  // aligned to the right, as numbers are
    int max_width = 0;   // 0: as wide as it takes
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns.  Made Printable.
  void AddRow(const std::vector<std::string>& cells);

  bool empty() const { return rows_.empty(); }

  // Titles, then rows; every line indented by `indent` spaces.
  std::string ToString(int indent = 0) const;
  // Rows alone, for lists without titles.
  std::string RowsToString(int indent = 0) const;

 private:
  std::string Format(const std::vector<std::vector<std::string>>& lines, int indent) const;

  const std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "803 840", for people.
std::string WithThousands(int64_t number);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CONFIG_TABLE_H_
