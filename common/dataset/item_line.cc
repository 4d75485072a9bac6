#include "common/dataset/item_line.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"

namespace sightline {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;  // for writing

absl::StatusOr<std::string> StringOf(const Json& value, absl::string_view what) {
  if (!value.is_string()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be a string, not ", value.type_name()));
  }
  return value.get<std::string>();
}

absl::StatusOr<CorpusCaption> ParseCaption(const Json& value) {
  CorpusCaption caption;
  std::string text;
  if (value.is_object()) {
    const auto language = value.find("language");
    const auto given = value.find("text");
    if (language == value.end() || given == value.end()) {
      return absl::InvalidArgumentError("a caption object needs \"language\" and \"text\"");
    }
    ASSIGN_OR_RETURN(caption.language, StringOf(*language, "\"language\""));
    ASSIGN_OR_RETURN(text, StringOf(*given, "\"text\""));
    if (caption.language.empty() || caption.language.size() > 32) {
      return absl::InvalidArgumentError("\"language\" must have 1 to 32 characters");
    }
  } else {
    caption.language = "en";
    ASSIGN_OR_RETURN(text, StringOf(value, "a caption"));
  }
  caption.text = CleanCaption(text);
  if (caption.text.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a caption is empty or longer than ", kMaxCaptionBytes, " bytes"));
  }
  return caption;
}

// The array at `key`, or none; at most `most` elements.
absl::StatusOr<const Json*> ArrayAt(const Json& object, const char* key, size_t most) {
  const auto found = object.find(key);
  if (found == object.end()) return nullptr;
  if (!found->is_array()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", key, "\" must be an array, not ", found->type_name()));
  }
  if (found->size() > most) {
    return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" has ", found->size(),
                                                   " elements; at most ", most, " are allowed"));
  }
  return &*found;
}

// The words of the array at `key`, clean; one that cannot be cleaned is empty.
absl::StatusOr<std::vector<std::string>> WordsAt(const Json& object, const char* key,
                                                 const char* what) {
  std::vector<std::string> words;
  ASSIGN_OR_RETURN(const Json* array, ArrayAt(object, key, limits::kMaxWords));
  if (array == nullptr) return words;
  for (const Json& value : *array) {
    ASSIGN_OR_RETURN(const std::string word, StringOf(value, what));
    words.push_back(CleanCaption(word));
  }
  return words;
}

absl::StatusOr<absl::optional<int64_t>> PlaceAt(const Json& object) {
  const auto found = object.find("place");
  if (found == object.end()) return absl::optional<int64_t>();
  if (found->is_number_unsigned() && found->get<uint64_t>() <= uint64_t{kMaxPublishedPlace}) {
    return absl::optional<int64_t>(found->get<int64_t>());
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"place\" is no whole number from 0 to ", kMaxPublishedPlace));
}

}  // namespace

absl::StatusOr<ItemLine> ParseItemLine(absl::string_view line) {
  if (line.size() > kMaxItemLineBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("line of ", line.size(), " bytes; the limit is ", kMaxItemLineBytes));
  }
  const Json object = Json::parse(line.begin(), line.end(), /*cb=*/nullptr,
                                  /*allow_exceptions=*/false);
  if (object.is_discarded()) {
    return absl::InvalidArgumentError(IsValidUtf8(line) ? "not valid JSON" : "not valid UTF-8");
  }
  if (!object.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be a JSON object, not ", object.type_name()));
  }
  ItemLine parsed;
  if (const auto path = object.find("path"); path != object.end()) {
    ASSIGN_OR_RETURN(parsed.path, StringOf(*path, "\"path\""));
  }
  if (const auto id = object.find("id"); id != object.end()) {
    ASSIGN_OR_RETURN(parsed.id, StringOf(*id, "\"id\""));
    RETURN_IF_ERROR(CheckItemId(parsed.id));
  }
  ASSIGN_OR_RETURN(const Json* captions, ArrayAt(object, "captions", kMaxCaptionsPerItem));
  if (captions != nullptr) {
    for (const Json& value : *captions) {
      ASSIGN_OR_RETURN(CorpusCaption caption, ParseCaption(value));
      parsed.captions.push_back(std::move(caption));
    }
  }
  ASSIGN_OR_RETURN(parsed.tags, WordsAt(object, "tags", "a tag"));
  ASSIGN_OR_RETURN(parsed.ocr_tokens, WordsAt(object, "ocr_tokens", "an OCR token"));
  if (const auto split = object.find("split"); split != object.end()) {
    ASSIGN_OR_RETURN(const std::string name, StringOf(*split, "\"split\""));
    ASSIGN_OR_RETURN(parsed.split, ParseSplit(name));
  }
  ASSIGN_OR_RETURN(parsed.published_place, PlaceAt(object));
  return parsed;
}

std::string ItemLineJson(const ItemLine& line) {
  OrderedJson object = {{"id", line.id}};
  OrderedJson captions = OrderedJson::array();
  for (const CorpusCaption& caption : line.captions) {
    captions.push_back({{"language", caption.language}, {"text", caption.text}});
  }
  if (!captions.empty()) object["captions"] = std::move(captions);
  if (!line.tags.empty()) object["tags"] = line.tags;
  if (!line.ocr_tokens.empty()) object["ocr_tokens"] = line.ocr_tokens;
  if (line.split.has_value()) object["split"] = std::string(SplitName(*line.split));
  if (line.published_place.has_value()) object["place"] = *line.published_place;
  return object.dump(-1, ' ', /*ensure_ascii=*/false, OrderedJson::error_handler_t::replace);
}

void MoveWords(ItemLine& line, const std::vector<std::string>& languages, CorpusItem& item) {
  for (CorpusCaption& caption : line.captions) {
    if (WantsLanguage(languages, caption.language)) item.captions.push_back(std::move(caption));
  }
  item.tags = std::move(line.tags);
  item.ocr_tokens = std::move(line.ocr_tokens);
  item.split = line.split;
  item.published_place = line.published_place;
}

}  // namespace sightline
