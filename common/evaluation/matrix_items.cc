#include "common/evaluation/matrix_items.h"

#include <nlohmann/json.hpp>
#include <set>
#include <unordered_set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/evaluation/json_lines.h"

namespace sightline {
namespace {

constexpr size_t kMaxLanguageBytes = 64;

absl::Status Twice(absl::string_view what, absl::string_view id) {
  return absl::InvalidArgumentError(absl::StrCat(what, " '", id, "' stands in the file twice"));
}

class Parser {
 public:
  absl::Status Take(const nlohmann::json& object) {
    return object.contains("caption") ? TakeCaption(object) : TakeImage(object);
  }

  absl::StatusOr<MatrixItems> Finish() && {
    if (items_.images.empty() || items_.captions.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("names ", items_.images.size(), " images and ",
                                                     items_.captions.size(),
                                                     " captions; both have to be there"));
    }
    return std::move(items_);
  }

 private:
  absl::Status TakeImage(const nlohmann::json& object) {
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
    items_.images.push_back(std::move(id));
    items_.families.push_back(family);
    return absl::OkStatus();
  }

  absl::Status TakeCaption(const nlohmann::json& object) {
    MatrixCaption caption;
    ASSIGN_OR_RETURN(caption.id, StringAt(object, "caption", limits::kMaxItemIdBytes));
    ASSIGN_OR_RETURN(const std::string image, StringAt(object, "image", limits::kMaxItemIdBytes));
    ASSIGN_OR_RETURN(caption.language, StringAt(object, "language", kMaxLanguageBytes));
    const auto row = rows_.find(image);
    if (row == rows_.end()) {
      return absl::InvalidArgumentError(absl::StrCat("caption '", caption.id, "' is of image '",
                                                     image, "', which does not stand above it"));
    }
    caption.image = row->second;
    if (!caption_ids_.insert(caption.id).second) return Twice("caption", caption.id);
    items_.captions.push_back(std::move(caption));
    return absl::OkStatus();
  }

  MatrixItems items_;
  std::unordered_map<std::string, int> rows_;
  std::unordered_map<std::string, int> families_;
  std::unordered_set<std::string> caption_ids_;
};

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

std::unordered_map<std::string, int> RowsById(const MatrixItems& items) {
  std::unordered_map<std::string, int> rows;
  for (const std::string& id : items.images) rows.emplace(id, static_cast<int>(rows.size()));
  return rows;
}

}  // namespace sightline
