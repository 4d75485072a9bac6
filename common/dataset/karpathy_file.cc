#include "common/dataset/karpathy_file.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/formats/json_elements.h"

namespace sightline {
namespace {

using Json = nlohmann::json;

absl::Status TakeSentence(const Json& sentence, absl::string_view language, size_t picture,
                          PublishedBuilder& builder) {
  ASSIGN_OR_RETURN(const std::string raw, JsonText(sentence, "raw"));
  ASSIGN_OR_RETURN(const int64_t number, JsonInteger(sentence, "sentid"));
  return builder.AddCaption(picture, language, number, raw, absl::StrCat("sentence ", number));
}

absl::Status TakeImage(const Json& image, absl::string_view language, PublishedBuilder& builder) {
  ASSIGN_OR_RETURN(const std::string name, JsonText(image, "filename"));
  std::string folder;
  if (image.contains("filepath")) {
    ASSIGN_OR_RETURN(folder, JsonText(image, "filepath"));
  }
  std::string id = PictureStem(name);
  if (image.contains("cocoid")) {
    ASSIGN_OR_RETURN(id, JsonId(image, "cocoid"));
  }
  ASSIGN_OR_RETURN(const std::string split, JsonText(image, "split"));
  ASSIGN_OR_RETURN(const size_t picture, builder.PictureOf(id));
  if (split.empty()) return absl::InvalidArgumentError("\"split\" is empty");
  RETURN_IF_ERROR(builder.Describe(picture, JoinPath(folder, name), split));
  ASSIGN_OR_RETURN(const Json* sentences, JsonArray(image, "sentences"));
  for (const Json& sentence : *sentences) {
    RETURN_IF_ERROR(Within("a sentence", TakeSentence(sentence, language, picture, builder)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PublishedCaptions> ReadKarpathyFile(const std::string& path,
                                                   absl::string_view language,
                                                   int captions_per_picture) {
  PublishedBuilder builder(path);
  RETURN_IF_ERROR(ForEachJsonElement(
      path, kMaxPublishedBytes,
      {{"images", [&](const Json& image) { return TakeImage(image, language, builder); }}}));
  return Within(path, builder.Finish(captions_per_picture));
}

}  // namespace sightline
