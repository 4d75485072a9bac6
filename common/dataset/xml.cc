#include "common/dataset/xml.h"

#include <pugixml.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sightline {

absl::StatusOr<std::unique_ptr<pugi::xml_document>> ReadXmlFile(absl::string_view path) {
  ASSIGN_OR_RETURN(const int64_t size, FileSize(path));
  if (size > kMaxXmlBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": XML of ", size, " bytes; the limit is ", kMaxXmlBytes));
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxXmlBytes));
  auto document = std::make_unique<pugi::xml_document>();
  // pugixml reports by value and throws nothing on this path; it parses in a loop and
  // frees by page, so depth costs no stack.
  const pugi::xml_parse_result result = document->load_buffer(text.data(), text.size());
  if (result.status == pugi::status_out_of_memory) {
    return absl::ResourceExhaustedError(absl::StrCat(path, ": no memory to parse it"));
  }
  if (!result) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not well-formed XML at byte ",
                                                   result.offset, ": ", result.description()));
  }
  return document;
}

}  // namespace sightline
