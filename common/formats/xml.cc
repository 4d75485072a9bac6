#include "common/formats/xml.h"

#include <pugixml.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sightline {

namespace {

absl::Status TooLong(absl::string_view name, int64_t size) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": XML of ", size, " bytes; the limit is ", kMaxXmlBytes));
}

}  // namespace

absl::StatusOr<std::unique_ptr<pugi::xml_document>> ParseXml(absl::string_view text,
                                                             absl::string_view name) {
  if (static_cast<int64_t>(text.size()) > kMaxXmlBytes) return TooLong(name, text.size());
  auto document = std::make_unique<pugi::xml_document>();
  // pugixml reports by value and throws nothing on this path; it parses in a loop and
  // frees by page, so depth costs no stack.
  const pugi::xml_parse_result result = document->load_buffer(text.data(), text.size());
  if (result.status == pugi::status_out_of_memory) {
    return absl::ResourceExhaustedError(absl::StrCat(name, ": no memory to parse it"));
  }
  if (!result) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": not well-formed XML at byte ",
                                                   result.offset, ": ", result.description()));
  }
  return document;
}

absl::StatusOr<std::unique_ptr<pugi::xml_document>> ReadXmlFile(absl::string_view path) {
  ASSIGN_OR_RETURN(const int64_t size, FileSize(path));
  if (size > kMaxXmlBytes) return TooLong(path, size);
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxXmlBytes));
  return ParseXml(text, path);
}

}  // namespace sightline
