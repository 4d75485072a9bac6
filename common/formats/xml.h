// XML from strangers, read within bounds.
#ifndef SIGHTLINE_COMMON_FORMATS_XML_H_
#define SIGHTLINE_COMMON_FORMATS_XML_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace pugi {
class xml_document;
}

namespace sightline {

// A parsed tree costs up to some twenty times its text (an element of four bytes becomes
// a node of 64), so this is what keeps a hostile file from exhausting memory.
inline constexpr int64_t kMaxXmlBytes = int64_t{8} << 20;

// The document in `text`, which errors call `name`.  InvalidArgument: not well-formed, with
// the byte offset, or longer than kMaxXmlBytes.  Entities of a DTD are not expanded and
// nothing outside the text is fetched.  Walk the tree with loops, never by recursion: its
// depth is the author's choice.
absl::StatusOr<std::unique_ptr<pugi::xml_document>> ParseXml(absl::string_view text,
                                                             absl::string_view name);

// The same of a file; NotFound and so on from reading.
absl::StatusOr<std::unique_ptr<pugi::xml_document>> ReadXmlFile(absl::string_view path);

// "title" of "dc:title".
inline absl::string_view LocalName(absl::string_view name) {
  const size_t colon = name.rfind(':');
  return colon == absl::string_view::npos ? name : name.substr(colon + 1);
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_FORMATS_XML_H_
