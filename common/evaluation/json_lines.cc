#include "common/evaluation/json_lines.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"

namespace sightline {
namespace {

using Json = nlohmann::json;

absl::Status TakeLine(absl::string_view line,
                      const std::function<absl::Status(const Json& object)>& take) {
  if (line.size() > kMaxJsonLineBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", line.size(), " bytes; the limit is ", kMaxJsonLineBytes));
  }
  const Json object = Json::parse(line.begin(), line.end(), /*cb=*/nullptr,
                                  /*allow_exceptions=*/false);
  if (object.is_discarded()) return absl::InvalidArgumentError("not valid JSON");
  if (!object.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be a JSON object, not ", object.type_name()));
  }
  return take(object);
}

}  // namespace

absl::Status ForEachJsonLine(absl::string_view text,
                             const std::function<absl::Status(const Json& object)>& take) {
  int number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const absl::string_view line = absl::StripAsciiWhitespace(text.substr(begin, end - begin));
    begin = end + 1;
    if (++number > kMaxJsonLines) {
      return absl::InvalidArgumentError(absl::StrCat("has more than ", kMaxJsonLines, " lines"));
    }
    if (line.empty()) continue;
    RETURN_IF_ERROR(Within(absl::StrCat("line ", number), TakeLine(line, take)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> StringAt(const Json& object, const char* key, size_t max_bytes) {
  const auto found = object.find(key);
  if (found == object.end()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" is missing"));
  }
  if (!found->is_string()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", key, "\" must be a string, not ", found->type_name()));
  }
  std::string value = found->get<std::string>();
  if (value.empty() || value.size() > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", key, "\" has ", value.size(), " bytes; allowed are 1 to ", max_bytes));
  }
  return value;
}

}  // namespace sightline
