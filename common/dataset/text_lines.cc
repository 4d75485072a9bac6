#include "common/dataset/text_lines.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/tokenizer/gunzip.h"

namespace sightline {

absl::StatusOr<TextLines> TextLines::Read(const std::string& path) {
  TextLines lines;
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMaxTextFileBytes));
  ASSIGN_OR_RETURN(std::string text, Within(path, GunzipIfGzipped(bytes, kMaxTextFileBytes)));
  lines.text_ = std::make_unique<const std::string>(std::move(text));
  absl::string_view rest = *lines.text_;
  while (!rest.empty()) {
    if (lines.lines_.size() == kMaxTextLines) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": more than ", kMaxTextLines, " lines"));
    }
    const size_t end = std::min(rest.find('\n'), rest.size());
    lines.lines_.push_back(absl::StripSuffix(rest.substr(0, end), "\r"));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

}  // namespace sightline
