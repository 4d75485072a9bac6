#include "common/base/clean_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/utf8.h"

namespace sightline {
namespace {

constexpr absl::string_view kReplacement = "\xEF\xBF\xBD";
constexpr absl::string_view kEllipsis = "...";

bool IsContinuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

}  // namespace

size_t Utf8CharacterLength(absl::string_view text) {
  if (text.empty()) return 0;
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // A prefix that is valid as a whole and starts with this lead is one character.
  return text.size() >= length && IsValidUtf8(text.substr(0, length)) ? length : 0;
}

std::string ReplaceInvalidUtf8(absl::string_view text) {
  if (IsValidUtf8(text)) return std::string(text);
  std::string clean;
  clean.reserve(text.size() + kReplacement.size());
  while (!text.empty()) {
    const size_t length = Utf8CharacterLength(text);
    absl::StrAppend(&clean, length == 0 ? kReplacement : text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return clean;
}

std::string TruncateUtf8(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  size_t end = max_bytes - kEllipsis.size();
  while (end > 0 && IsContinuation(text[end])) --end;
  return absl::StrCat(text.substr(0, end), kEllipsis);
}

std::string CleanText(absl::string_view text, size_t max_bytes) {
  // Replacing never shortens, so what is cut here would be cut in any case, together
  // with the character that this may break.
  return TruncateUtf8(ReplaceInvalidUtf8(text.substr(0, max_bytes + 4)), max_bytes);
}

std::string EscapeUnlessPrintable(absl::string_view bytes) {
  if (IsValidUtf8(bytes) && std::none_of(bytes.begin(), bytes.end(), absl::ascii_iscntrl)) {
    return std::string(bytes);
  }
  return absl::CHexEscape(bytes);
}

}  // namespace sightline
