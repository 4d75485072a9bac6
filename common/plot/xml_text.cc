#include "common/plot/xml_text.h"

#include <algorithm>

#include "absl/strings/str_replace.h"
#include "common/base/clean_text.h"

namespace sightline {

std::string XmlText(absl::string_view text) {
  std::string escaped = absl::StrReplaceAll(
      ReplaceInvalidUtf8(text),
      {{"&", "&amp;"},
       {"<", "&lt;"},
       {">", "&gt;"},
       {"\"", "&quot;"},
       {"'", "&#39;"},
       {"\r", "&#13;"},  // as it is, a parser would take it for the end of a line
       {"\xEF\xBF\xBE", ""},
       {"\xEF\xBF\xBF", ""}});
  escaped.erase(std::remove_if(escaped.begin(), escaped.end(),
                               [](unsigned char c) { return c < 0x20 && c != '\t' && c != '\n'; }),
                escaped.end());
  return escaped;
}

}  // namespace sightline
