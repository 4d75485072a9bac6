#include "common/dataset/folder_reader.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/dataset/item_line.h"

namespace sightline {
namespace {

constexpr absl::string_view kDefaultCaptionsFile = "captions.jsonl";
constexpr int kMostReportedLines = 10;

bool IsHidden(absl::string_view relative_path) {
  return absl::StartsWith(relative_path, ".") || absl::StrContains(relative_path, "/.");
}

class FolderLister {
 public:
  explicit FolderLister(const FolderOptions& options) : options_(options) {}

  absl::StatusOr<CorpusListing> List() const {
    ASSIGN_OR_RETURN(std::vector<std::string> files, ListFilesBelow(options_.root));
    const std::string captions_file = CaptionsFile();
    files.erase(std::remove_if(files.begin(), files.end(),
                               [&](const std::string& file) {
                                 return IsHidden(file) || !absl::EndsWith(file, options_.suffix) ||
                                        IsCaptionsFile(file, captions_file);
                               }),
                files.end());

    std::map<std::string, ItemLine> lines;
    if (!captions_file.empty()) {
      ASSIGN_OR_RETURN(lines, ReadCaptions(captions_file, files));
    }
    CorpusListing listing;
    for (const std::string& file : files) {
      const auto line = lines.find(file);
      Add(file, line == lines.end() ? ItemLine() : std::move(line->second), listing);
    }
    FinishListing(listing);
    return listing;
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

  absl::StatusOr<std::map<std::string, ItemLine>> ReadCaptions(
      const std::string& captions_file, const std::vector<std::string>& files) const {
    ASSIGN_OR_RETURN(const std::string content, ReadFile(captions_file));
    std::map<std::string, ItemLine> lines;
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
                       std::map<std::string, ItemLine>& lines) const {
    ASSIGN_OR_RETURN(ItemLine line, ParseItemLine(text));
    if (line.path.empty()) return absl::InvalidArgumentError("\"path\" is missing");
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

  void Add(const std::string& file, ItemLine line, CorpusListing& listing) const {
    CorpusItem item;
    const absl::string_view stem = absl::StripSuffix(file, options_.suffix);
    item.item_id = absl::StrCat(options_.id_prefix, line.id.empty() ? stem : line.id);
    item.path = JoinPath(options_.root, file);
    if (const absl::Status good = CheckItemId(item.item_id); !good.ok()) {
      listing.rejected.push_back(
          {Printable(item.item_id), Printable(item.path), std::string(good.message())});
      return;
    }
    MoveWords(line, options_.languages, item);
    listing.items.push_back(std::move(item));
  }

  const FolderOptions& options_;
};

class FolderReader : public CorpusReader {
 public:
  explicit FolderReader(const FolderOptions& options) : options_(options) {}

  absl::StatusOr<CorpusListing> List() const override { return ListFolder(options_); }

  absl::StatusOr<std::string> ReadPicture(const CorpusItem& item,
                                          int64_t max_bytes) const override {
    return ReadPictureFile(item.path, max_bytes);
  }

 private:
  const FolderOptions options_;
};

}  // namespace

absl::StatusOr<CorpusListing> ListFolder(const FolderOptions& options) {
  return FolderLister(options).List();
}

std::unique_ptr<CorpusReader> NewFolderReader(const FolderOptions& options) {
  return std::make_unique<FolderReader>(options);
}

}  // namespace sightline
