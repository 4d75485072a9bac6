#include "loadtest/report/xml_text.h"

#include "common/base/clean_text.h"

namespace sightline {
namespace {

// What stands for the character in XML; empty for one that may not be there.
std::string Escaped(absl::string_view character) {
  if (character.size() > 1) {
    const bool forbidden = character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF";
    return forbidden ? "" : std::string(character.data(), character.size());
  }
  const char c = character[0];
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    // As it is, a parser would take it for the end of a line.
    case '\r':
      return "&#13;";
    case '\t':
    case '\n':
      return std::string(1, c);
    default:
      return static_cast<unsigned char>(c) < 0x20 ? "" : std::string(1, c);
  }
}

}  // namespace

std::string XmlText(absl::string_view text) {
  const std::string clean = ReplaceInvalidUtf8(text);
  std::string escaped;
  escaped.reserve(clean.size());
  for (size_t at = 0; at < clean.size();) {
    const absl::string_view rest = absl::string_view(clean).substr(at);
    const absl::string_view character = rest.substr(0, Utf8CharacterLength(rest));
    escaped += Escaped(character);
    at += character.size();
  }
  return escaped;
}

}  // namespace sightline
