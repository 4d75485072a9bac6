#include "common/evaluation/matrix_items.h"

#include <nlohmann/json.hpp>
#include <set>
#include <unordered_set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/checksum.h"
#include "common/base/clean_text.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/evaluation/json_lines.h"

namespace sightline {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxLanguageBytes = 64;
constexpr int64_t kMaxPlace = int64_t{1} << 53;
constexpr int64_t kMaxSharedWords = 1'000'000;

absl::Status Twice(absl::string_view what, absl::string_view id) {
  return absl::InvalidArgumentError(absl::StrCat(what, " '", id, "' stands in the file twice"));
}

// The whole number from 0 to `most` at `key`, or nothing.
absl::StatusOr<absl::optional<int64_t>> NumberAt(const Json& object, const char* key,
                                                 int64_t most) {
  const auto found = object.find(key);
  if (found == object.end()) return absl::optional<int64_t>();
  if (found->is_number_unsigned() && found->get<uint64_t>() <= static_cast<uint64_t>(most)) {
    return absl::optional<int64_t>(found->get<int64_t>());
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", key, "\" is no whole number from 0 to ", most));
}

class Parser {
 public:
  absl::Status Take(const Json& object) {
    return object.contains("caption") ? TakeCaption(object) : TakeImage(object);
  }

  absl::StatusOr<MatrixItems> Finish() && {
    if (items_.images.empty() || items_.captions.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("names ", items_.images.size(), " images and ",
                                                     items_.captions.size(),
                                                     " captions; both have to be there"));
    }
    if (!items_.places.empty() && items_.places.size() != items_.images.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("gives ", items_.places.size(), " of ", items_.images.size(),
                       " images a \"place\"; all must have one, or none"));
    }
    return std::move(items_);
  }

 private:
  absl::Status TakeImage(const Json& object) {
    ASSIGN_OR_RETURN(std::string id, StringAt(object, "image", limits::kMaxItemIdBytes));
    if (!rows_.emplace(id, static_cast<int>(items_.images.size())).second) {
      return Twice("image", id);
    }
    int family = items_.family_count;
    if (object.contains("family")) {
      ASSIGN_OR_RETURN(const std::string name, StringAt(object, "family", limits::kMaxItemIdBytes));
      family = families_.emplace(name, family).first->second;
    }
    if (family == items_.family_count) ++items_.family_count;
    ASSIGN_OR_RETURN(const absl::optional<int64_t> place, NumberAt(object, "place", kMaxPlace));
    if (place.has_value()) {
      if (!places_.insert(*place).second) return Twice("place", absl::StrCat(*place));
      items_.places.push_back(*place);
    }
    items_.images.push_back(std::move(id));
    items_.families.push_back(family);
    return absl::OkStatus();
  }

  absl::Status TakeCaption(const Json& object) {
    MatrixCaption caption;
    ASSIGN_OR_RETURN(caption.id, StringAt(object, "caption", limits::kMaxItemIdBytes));
    ASSIGN_OR_RETURN(const std::string image, StringAt(object, "image", limits::kMaxItemIdBytes));
    ASSIGN_OR_RETURN(caption.language, StringAt(object, "language", kMaxLanguageBytes));
    // It titles tables and stands in files that others read.
    const std::string printable = EscapeUnlessPrintable(caption.language);
    if (printable != caption.language) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"language\" is ", printable, ", which cannot be printed as it is"));
    }
    const auto row = rows_.find(image);
    if (row == rows_.end()) {
      return absl::InvalidArgumentError(absl::StrCat("caption '", caption.id, "' is of image '",
                                                     image, "', which does not stand above it"));
    }
    caption.image = row->second;
    ASSIGN_OR_RETURN(const absl::optional<int64_t> shared,
                     NumberAt(object, "shared_words", kMaxSharedWords));
    if (shared.has_value()) caption.shared_words = static_cast<int>(*shared);
    if (!caption_ids_.insert(caption.id).second) return Twice("caption", caption.id);
    items_.captions.push_back(std::move(caption));
    return absl::OkStatus();
  }

  MatrixItems items_;
  std::unordered_map<std::string, int> rows_;
  std::unordered_map<std::string, int> families_;
  std::unordered_set<std::string> caption_ids_;
  std::unordered_set<int64_t> places_;
};

// Of each image that a list names, its family's name.
using NamedFamilies = std::unordered_map<std::string, std::string>;

absl::Status TakeFamilyLine(absl::string_view line, NamedFamilies* families) {
  const std::vector<std::string> ids = absl::StrSplit(line, '\t');
  const auto good = [](const std::string& id) {
    return !id.empty() && id.size() <= limits::kMaxItemIdBytes;
  };
  if (ids.size() != 2 || !good(ids[0]) || !good(ids[1])) {
    return absl::InvalidArgumentError(
        absl::StrCat("is not an image's id, a tab and its family's, each of 1 to ",
                     limits::kMaxItemIdBytes, " bytes"));
  }
  if (families->emplace(ids[0], ids[1]).second) return absl::OkStatus();
  return Twice("image", EscapeUnlessPrintable(ids[0]));
}

absl::StatusOr<NamedFamilies> ParseFamilies(absl::string_view text) {
  NamedFamilies families;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripSuffix(line, "\r");
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    RETURN_IF_ERROR(Within(absl::StrCat("line ", number), TakeFamilyLine(line, &families)));
  }
  return families;
}

}  // namespace

std::vector<std::string> MatrixItems::Languages() const {
  std::set<std::string> languages;
  for (const MatrixCaption& caption : captions) languages.insert(caption.language);
  return {languages.begin(), languages.end()};
}

absl::StatusOr<MatrixItems> ParseMatrixItems(absl::string_view text) {
  Parser parser;
  RETURN_IF_ERROR(
      ForEachJsonLine(text, [&parser](const nlohmann::json& line) { return parser.Take(line); }));
  return std::move(parser).Finish();
}

std::string FormatMatrixItems(const MatrixItems& items) {
  std::string text;
  std::vector<std::string> family_names(items.family_count);
  const bool families = items.family_count < static_cast<int>(items.images.size());
  for (size_t i = 0; i < items.images.size(); ++i) {
    Json line = {{"image", items.images[i]}};
    if (families) {
      std::string& name = family_names[items.families[i]];
      if (name.empty()) name = items.images[i];
      line["family"] = name;
    }
    if (!items.places.empty()) line["place"] = items.places[i];
    absl::StrAppend(&text, line.dump(), "\n");
  }
  for (const MatrixCaption& caption : items.captions) {
    Json line = {{"caption", caption.id},
                 {"image", items.images[caption.image]},
                 {"language", caption.language}};
    if (caption.shared_words.has_value()) line["shared_words"] = *caption.shared_words;
    absl::StrAppend(&text, line.dump(), "\n");
  }
  return text;
}

std::string ItemsDigest(const MatrixItems& items) {
  Sha256 hash;
  // Ids have no ends of lines.
  for (const std::string& image : items.images) hash.Update(absl::StrCat(image, "\n"));
  for (const MatrixCaption& caption : items.captions) {
    hash.Update(absl::StrCat(caption.image, " ", caption.id, "\n"));
  }
  return hash.Hex();
}

absl::Status TakeFamilies(absl::string_view text, MatrixItems* items) {
  ASSIGN_OR_RETURN(const NamedFamilies named, ParseFamilies(text));
  std::unordered_map<std::string, int> numbers;  // by the family's name
  bool any = false;
  items->family_count = 0;
  for (size_t i = 0; i < items->images.size(); ++i) {
    const auto found = named.find(items->images[i]);
    int& family = items->families[i];
    family = items->family_count;
    if (found != named.end()) family = numbers.emplace(found->second, family).first->second;
    if (family == items->family_count) ++items->family_count;
    any = any || found != named.end();
  }
  if (any) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("names none of the ", items->images.size(), " images, the first of which is '",
                   EscapeUnlessPrintable(items->images.empty() ? "" : items->images[0]), "'"));
}

std::unordered_map<std::string, int> RowsById(const MatrixItems& items) {
  std::unordered_map<std::string, int> rows;
  for (const std::string& id : items.images) rows.emplace(id, static_cast<int>(rows.size()));
  return rows;
}

}  // namespace sightline
