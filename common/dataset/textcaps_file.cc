#include "common/dataset/textcaps_file.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/formats/json_elements.h"

namespace sightline {
namespace {

using Json = nlohmann::json;

absl::StatusOr<std::string> TextOf(const Json& value, absl::string_view what) {
  if (value.is_string()) return value.get<std::string>();
  return absl::InvalidArgumentError(absl::StrCat(what, " must be a text, not ", value.type_name()));
}

absl::Status TakeReferences(const Json& entry, size_t picture, absl::string_view language,
                            PublishedBuilder& builder) {
  ASSIGN_OR_RETURN(const Json* references, JsonArray(entry, "reference_strs"));
  int64_t number = 0;
  for (const Json& reference : *references) {
    ASSIGN_OR_RETURN(const std::string text, TextOf(reference, "a reference"));
    const std::string where = absl::StrCat("reference ", number);
    RETURN_IF_ERROR(builder.AddCaption(picture, language, number++, text, where));
  }
  return absl::OkStatus();
}

absl::Status TakeEntry(const Json& entry, absl::string_view language, PublishedBuilder& builder) {
  ASSIGN_OR_RETURN(const std::string id, JsonId(entry, "image_id"));
  ASSIGN_OR_RETURN(const size_t picture, builder.PictureOf(id));
  const bool first = !builder.IsDescribed(picture);
  if (first) {
    ASSIGN_OR_RETURN(const std::string split, JsonText(entry, "set_name"));
    RETURN_IF_ERROR(builder.Describe(picture, absl::StrCat(id, ".jpg"), split));
  }
  if (entry.contains("caption_str")) {
    ASSIGN_OR_RETURN(const std::string caption, JsonText(entry, "caption_str"));
    ASSIGN_OR_RETURN(const int64_t number, JsonInteger(entry, "caption_id"));
    return builder.AddCaption(picture, language, number, caption, absl::StrCat("caption ", number));
  }
  if (!first || !entry.contains("reference_strs")) return absl::OkStatus();
  return TakeReferences(entry, picture, language, builder);
}

absl::Status TakeTokens(const Json& entry, PublishedBuilder& builder) {
  ASSIGN_OR_RETURN(const std::string id, JsonId(entry, "image_id"));
  ASSIGN_OR_RETURN(const Json* words, JsonArray(entry, "ocr_tokens"));
  std::vector<std::string> tokens;
  for (const Json& word : *words) {
    ASSIGN_OR_RETURN(const std::string text, TextOf(word, "an OCR token"));
    std::string token = CleanCaption(text);
    if (token.empty() || token.size() > limits::kMaxWordBytes) continue;
    if (tokens.size() < static_cast<size_t>(limits::kMaxWords)) tokens.push_back(std::move(token));
  }
  const absl::optional<size_t> picture = builder.Find(id);
  if (picture.has_value()) builder.SetOcrTokens(*picture, std::move(tokens));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PublishedCaptions> ReadTextCapsFile(const std::string& path,
                                                   const std::string& ocr_path,
                                                   absl::string_view language,
                                                   int captions_per_picture) {
  PublishedBuilder builder(path);
  RETURN_IF_ERROR(ForEachJsonElement(
      path, kMaxPublishedBytes,
      {{"data", [&](const Json& entry) { return TakeEntry(entry, language, builder); }}}));
  if (!ocr_path.empty()) {
    RETURN_IF_ERROR(ForEachJsonElement(
        ocr_path, kMaxPublishedBytes,
        {{"data", [&](const Json& entry) { return TakeTokens(entry, builder); }}}));
  }
  return Within(path, builder.Finish(captions_per_picture));
}

}  // namespace sightline
