#include "common/evaluation/questions.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/evaluation/json_lines.h"

namespace sightline {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxQueryBytes = 4096;

absl::StatusOr<std::vector<std::string>> ExpectedIds(const Json& object) {
  const auto found = object.find("expect");
  if (found == object.end()) return absl::InvalidArgumentError("\"expect\" is missing");
  if (!found->is_array() || found->empty() || found->size() > limits::kMaxExpectedItems) {
    return absl::InvalidArgumentError(absl::StrCat("\"expect\" must be an array of 1 to ",
                                                   limits::kMaxExpectedItems, " item ids"));
  }
  std::vector<std::string> ids;
  for (const Json& id : *found) {
    if (!id.is_string() || id.get_ref<const std::string&>().empty() ||
        id.get_ref<const std::string&>().size() > limits::kMaxItemIdBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"expect\" has an element that is no item id (a string of 1 to ",
                       limits::kMaxItemIdBytes, " bytes)"));
    }
    ids.push_back(id.get<std::string>());
  }
  return ids;
}

}  // namespace

absl::StatusOr<std::vector<Question>> ParseQuestions(absl::string_view text) {
  std::vector<Question> questions;
  RETURN_IF_ERROR(ForEachJsonLine(text, [&questions](const Json& object) -> absl::Status {
    Question question;
    ASSIGN_OR_RETURN(question.query, StringAt(object, "query", kMaxQueryBytes));
    ASSIGN_OR_RETURN(question.expected, ExpectedIds(object));
    questions.push_back(std::move(question));
    return absl::OkStatus();
  }));
  if (questions.empty()) return absl::InvalidArgumentError("holds no question");
  return questions;
}

}  // namespace sightline
