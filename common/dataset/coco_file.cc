#include "common/dataset/coco_file.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/formats/json_elements.h"

namespace sightline {
namespace {

using Json = nlohmann::json;

// "val" of "/a/captions_val2014.json"; empty for another name.
std::string SplitOfName(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename();
  absl::string_view split = name;
  if (!absl::ConsumePrefix(&split, "captions_") || !absl::ConsumeSuffix(&split, ".json")) return "";
  while (!split.empty() && absl::ascii_isdigit(split.back())) split.remove_suffix(1);
  return split == "train" || split == "val" || split == "test" ? std::string(split) : "";
}

absl::Status TakeImage(const Json& image, absl::string_view split, PublishedBuilder& builder) {
  ASSIGN_OR_RETURN(const std::string id, JsonId(image, "id"));
  ASSIGN_OR_RETURN(const std::string file, JsonText(image, "file_name"));
  ASSIGN_OR_RETURN(const size_t picture, builder.PictureOf(id));
  return builder.Describe(picture, file, split);
}

absl::Status TakeAnnotation(const Json& annotation, absl::string_view language,
                            PublishedBuilder& builder) {
  ASSIGN_OR_RETURN(const std::string image, JsonId(annotation, "image_id"));
  ASSIGN_OR_RETURN(const int64_t number, JsonInteger(annotation, "id"));
  ASSIGN_OR_RETURN(const std::string caption, JsonText(annotation, "caption"));
  ASSIGN_OR_RETURN(const size_t picture, builder.PictureOf(image));
  return builder.AddCaption(picture, language, number, caption,
                            absl::StrCat("annotation ", number));
}

}  // namespace

absl::StatusOr<PublishedCaptions> ReadCocoFile(const std::string& path, absl::string_view language,
                                               int captions_per_picture) {
  PublishedBuilder builder(path);
  const std::string split = SplitOfName(path);
  RETURN_IF_ERROR(ForEachJsonElement(
      path, kMaxPublishedBytes,
      {{"images", [&](const Json& image) { return TakeImage(image, split, builder); }},
       {"annotations",
        [&](const Json& annotation) { return TakeAnnotation(annotation, language, builder); }}}));
  return Within(path, builder.Finish(captions_per_picture));
}

}  // namespace sightline
