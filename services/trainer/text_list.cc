#include "services/trainer/text_list.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/dataset/corpus.h"
#include "common/evaluation/json_lines.h"

namespace sightline {
namespace {

absl::StatusOr<std::vector<std::string>> TextsOf(const nlohmann::json& object) {
  const auto found = object.find("texts");
  if (found == object.end() || !found->is_array()) {
    return absl::InvalidArgumentError("\"texts\" must be there and be an array");
  }
  if (found->size() < 2 || found->size() > kMaxTextsPerConcept) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"texts\" has ", found->size(), " elements, not 2 to ", kMaxTextsPerConcept));
  }
  std::vector<std::string> texts;
  for (const nlohmann::json& value : *found) {
    std::string text;
    if (value.is_string()) text = CleanCaption(value.get_ref<const std::string&>());
    if (text.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a text is no string, empty, or longer than ", kMaxCaptionBytes, " bytes"));
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace

absl::StatusOr<std::vector<std::vector<std::string>>> ParseTextList(absl::string_view lines) {
  std::vector<std::vector<std::string>> concepts;
  RETURN_IF_ERROR(ForEachJsonLine(lines, [&concepts](const nlohmann::json& object) -> absl::Status {
    ASSIGN_OR_RETURN(std::vector<std::string> texts, TextsOf(object));
    concepts.push_back(std::move(texts));
    return absl::OkStatus();
  }));
  return concepts;
}

}  // namespace sightline
