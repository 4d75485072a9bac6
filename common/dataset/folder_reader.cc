#include "common/dataset/folder_reader.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"

namespace sightline {
namespace {

using Json = nlohmann::json;

constexpr absl::string_view kDefaultCaptionsFile = "captions.jsonl";
constexpr size_t kMaxLineBytes = 1 << 20;
constexpr int kMostReportedLines = 10;

// What one line of the caption file says.
struct CaptionLine {
  std::string path;
  std::string id;
  std::vector<CorpusCaption> captions;
  std::vector<std::string> tags;
};

bool IsHidden(absl::string_view relative_path) {
  return absl::StartsWith(relative_path, ".") || absl::StrContains(relative_path, "/.");
}

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

absl::StatusOr<CaptionLine> ParseLine(absl::string_view line) {
  if (line.size() > kMaxLineBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("line of ", line.size(), " bytes; the limit is ", kMaxLineBytes));
  }
  const Json object = Json::parse(line.begin(), line.end(), /*cb=*/nullptr,
                                  /*allow_exceptions=*/false);
  if (object.is_discarded()) return absl::InvalidArgumentError("not valid JSON");
  if (!object.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be a JSON object, not ", object.type_name()));
  }
  CaptionLine parsed;
  const auto path = object.find("path");
  if (path == object.end()) return absl::InvalidArgumentError("\"path\" is missing");
  ASSIGN_OR_RETURN(parsed.path, StringOf(*path, "\"path\""));
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
  ASSIGN_OR_RETURN(const Json* tags, ArrayAt(object, "tags", kMaxTagsPerItem));
  if (tags != nullptr) {
    for (const Json& value : *tags) {
      ASSIGN_OR_RETURN(const std::string tag, StringOf(value, "a tag"));
      parsed.tags.push_back(CleanCaption(tag));
    }
  }
  return parsed;
}

class FolderReader : public CorpusReader {
 public:
  explicit FolderReader(const FolderOptions& options) : options_(options) {}

  absl::StatusOr<CorpusListing> List() const override {
    ASSIGN_OR_RETURN(std::vector<std::string> files, ListFilesBelow(options_.root));
    const std::string captions_file = CaptionsFile();
    files.erase(std::remove_if(files.begin(), files.end(),
                               [&](const std::string& file) {
                                 return IsHidden(file) || IsCaptionsFile(file, captions_file);
                               }),
                files.end());

    std::map<std::string, CaptionLine> lines;
    if (!captions_file.empty()) {
      ASSIGN_OR_RETURN(lines, ReadCaptions(captions_file, files));
    }
    CorpusListing listing;
    for (const std::string& file : files) {
      const auto line = lines.find(file);
      Add(file, line == lines.end() ? CaptionLine() : std::move(line->second), listing);
    }
    FinishListing(listing);
    return listing;
  }

  absl::StatusOr<std::string> ReadPicture(const CorpusItem& item,
                                          int64_t max_bytes) const override {
    return ReadPictureFile(item.path, max_bytes);
  }

 private:
  std::string CaptionsFile() const {
    if (!options_.captions_file.empty()) return options_.captions_file;
    std::string inside = JoinPath(options_.root, kDefaultCaptionsFile);
    return FileExists(inside) ? inside : std::string();
  }

  // Whether the folder's file is the caption file, however its path is written.
  bool IsCaptionsFile(const std::string& file, const std::string& captions_file) const {
    if (captions_file.empty()) return false;
    const std::string name = std::filesystem::path(captions_file).filename();
    if (std::filesystem::path(file).filename() != name) return false;
    std::error_code ignored;
    return std::filesystem::equivalent(JoinPath(options_.root, file), captions_file, ignored);
  }

  absl::StatusOr<std::map<std::string, CaptionLine>> ReadCaptions(
      const std::string& captions_file, const std::vector<std::string>& files) const {
    ASSIGN_OR_RETURN(const std::string content, ReadFile(captions_file));
    std::map<std::string, CaptionLine> lines;
    std::vector<std::string> errors;
    int number = 0;
    for (absl::string_view text :
         absl::StrSplit(absl::StripPrefix(content, "\xEF\xBB\xBF"), '\n')) {
      ++number;
      text = absl::StripAsciiWhitespace(text);
      if (text.empty()) continue;
      const absl::Status added = AddLine(text, files, lines);
      if (!added.ok()) errors.push_back(absl::StrCat("line ", number, ": ", added.message()));
      if (errors.size() == kMostReportedLines) {
        errors.push_back("and perhaps more");
        break;
      }
    }
    if (!errors.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("caption file ", captions_file, ": ", absl::StrJoin(errors, "; ")));
    }
    return lines;
  }

  // `files` is sorted.
  absl::Status AddLine(absl::string_view text, const std::vector<std::string>& files,
                       std::map<std::string, CaptionLine>& lines) const {
    ASSIGN_OR_RETURN(CaptionLine line, ParseLine(text));
    const absl::string_view path = absl::StripPrefix(line.path, "./");
    const auto file = std::lower_bound(files.begin(), files.end(), path);
    if (file == files.end() || *file != path) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", Printable(line.path), "\" is no file below ", options_.root,
                       " (paths are relative to it; hidden files do not count)"));
    }
    if (!lines.emplace(*file, std::move(line)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", Printable(*file), "\" has a line already"));
    }
    return absl::OkStatus();
  }

  void Add(const std::string& file, CaptionLine line, CorpusListing& listing) const {
    CorpusItem item;
    item.item_id = absl::StrCat(options_.id_prefix, line.id.empty() ? file : line.id);
    item.path = JoinPath(options_.root, file);
    if (const absl::Status good = CheckItemId(item.item_id); !good.ok()) {
      listing.rejected.push_back(
          {Printable(item.item_id), Printable(item.path), std::string(good.message())});
      return;
    }
    for (CorpusCaption& caption : line.captions) {
      if (WantsLanguage(options_.languages, caption.language)) {
        item.captions.push_back(std::move(caption));
      }
    }
    item.tags = std::move(line.tags);
    listing.items.push_back(std::move(item));
  }

  const FolderOptions options_;
};

}  // namespace

std::unique_ptr<CorpusReader> NewFolderReader(const FolderOptions& options) {
  return std::make_unique<FolderReader>(options);
}

}  // namespace sightline
