#include "common/dataset/folder_reader.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "common/base/clean_text.h"
#include "common/base/files.h"
#include "common/base/record_sorter.h"
#include "common/base/status_macros.h"
#include "common/dataset/item_line.h"

namespace sightline {
namespace {

constexpr absl::string_view kDefaultCaptionsFile = "captions.jsonl";
constexpr size_t kMostReportedLines = 10;

// Before the reason, where a name's line would be.
constexpr absl::string_view kRefused = "!";

// Of what a name leads to: empty for a file.
std::string WhyNoPicture(std::filesystem::file_type type) {
  switch (type) {
    case std::filesystem::file_type::regular:
      return "";
    case std::filesystem::file_type::directory:
      return absl::StrCat(kRefused, "is a link to a folder, which is not entered");
    case std::filesystem::file_type::not_found:
      return absl::StrCat(kRefused, "is a link that leads nowhere");
    case std::filesystem::file_type::none:
      return absl::StrCat(kRefused, "cannot be looked at");
    default:
      return absl::StrCat(kRefused, "is no regular file");
  }
}

bool IsHidden(absl::string_view relative_path) {
  return absl::StartsWith(relative_path, ".") || absl::StrContains(relative_path, "/.");
}

// What is wrong with lines of the caption file: the first few.
class LineErrors {
 public:
  void Add(int64_t line, absl::string_view why) {
    errors_[line] = absl::StrCat("line ", line, ": ", why);
    if (errors_.size() <= kMostReportedLines) return;
    errors_.erase(std::prev(errors_.end()));
    more_ = true;
  }

  absl::Status status(absl::string_view file) const {
    if (errors_.empty()) return absl::OkStatus();
    std::vector<std::string> lines;
    for (const auto& [line, error] : errors_) lines.push_back(error);
    if (more_) lines.push_back("and perhaps more");
    return absl::InvalidArgumentError(
        absl::StrCat("caption file ", file, ": ", absl::StrJoin(lines, "; ")));
  }

 private:
  std::map<int64_t, std::string> errors_;
  bool more_ = false;
};

// Names of files and lines of captions are sorted together by path; so a file is followed by
// its line.
class FolderLister {
 public:
  FolderLister(const FolderOptions& options, ListingSink& sink)
      : options_(options), sink_(sink), by_path_(sink.directory()) {}

  absl::Status List() {
    const std::string captions_file = CaptionsFile();
    RETURN_IF_ERROR(AddFiles(captions_file));
    if (!captions_file.empty()) RETURN_IF_ERROR(AddLines(captions_file));
    RETURN_IF_ERROR(by_path_.VisitAll([this](absl::string_view path, absl::string_view line) {
      if (absl::ConsumePrefix(&line, kRefused)) return Refuse(path, line);
      return line.empty() ? BeginFile(path) : TakeLine(path, line);
    }));
    RETURN_IF_ERROR(EndFile());
    return errors_.status(captions_file);
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

  // As ListFilesBelow finds them, but one at a time.
  absl::Status AddFiles(const std::string& captions_file) {
    std::vector<std::string> folders = {""};  // relative to the root, still to be read
    while (!folders.empty()) {
      const std::string folder = std::move(folders.back());
      folders.pop_back();
      const std::string path = JoinPath(options_.root, folder);
      std::error_code error;
      std::filesystem::directory_iterator entry(path, error);
      for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
        const std::string file = JoinPath(folder, entry->path().filename().string());
        std::error_code gone;
        if (std::filesystem::is_directory(entry->symlink_status(gone))) {
          folders.push_back(file);
        } else if (!IsHidden(file) && absl::EndsWith(file, options_.suffix) &&
                   !IsCaptionsFile(file, captions_file)) {
          RETURN_IF_ERROR(by_path_.Add(file, WhyNoPicture(entry->status(gone).type())));
        }
      }
      if (error) return FileError("list", path, error.value());
    }
    return absl::OkStatus();
  }

  absl::Status AddLines(const std::string& captions_file) {
    ASSIGN_OR_RETURN(const auto content, MappedFile::Open(captions_file));
    absl::string_view text = absl::StripPrefix(content->bytes(), "\xEF\xBB\xBF");
    for (int64_t number = 1; !text.empty(); ++number) {
      const size_t end = std::min(text.find('\n'), text.size());
      const absl::string_view line = absl::StripAsciiWhitespace(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.empty()) continue;
      const absl::StatusOr<ItemLine> parsed = ParseItemLine(line);
      if (!parsed.ok()) {
        errors_.Add(number, parsed.status().message());
      } else if (parsed->path.empty()) {
        errors_.Add(number, "\"path\" is missing");
      } else {
        RETURN_IF_ERROR(
            by_path_.Add(absl::StripPrefix(parsed->path, "./"), absl::StrCat(number, " ", line)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Refuse(absl::string_view path, absl::string_view reason) {
    RETURN_IF_ERROR(EndFile());
    file_.clear();
    const std::string id = absl::StrCat(options_.id_prefix, path);
    return sink_.Rejected({EscapeUnlessPrintable(id),
                           EscapeUnlessPrintable(JoinPath(options_.root, path)),
                           std::string(reason)});
  }

  absl::Status BeginFile(absl::string_view path) {
    RETURN_IF_ERROR(EndFile());
    file_ = std::string(path);
    line_.reset();
    return absl::OkStatus();
  }

  // `numbered` is the line's number, a space, and the line.
  absl::Status TakeLine(absl::string_view path, absl::string_view numbered) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(numbered, absl::MaxSplits(' ', 1));
    int64_t number = 0;
    static_cast<void>(absl::SimpleAtoi(parts.first, &number));
    if (file_ != path) {
      errors_.Add(number, absl::StrCat("\"", EscapeUnlessPrintable(path), "\" is no file below ",
                                       options_.root,
                                       " (paths are relative to it; hidden files do not count)"));
    } else if (line_.has_value()) {
      errors_.Add(number, absl::StrCat("\"", EscapeUnlessPrintable(path), "\" has a line already"));
    } else {
      ASSIGN_OR_RETURN(line_, ParseItemLine(parts.second));
    }
    return absl::OkStatus();
  }

  absl::Status EndFile() {
    if (file_.empty()) return absl::OkStatus();
    ItemLine line = line_.has_value() ? *std::move(line_) : ItemLine();
    CorpusItem item;
    const absl::string_view stem = absl::StripSuffix(file_, options_.suffix);
    item.item_id = absl::StrCat(options_.id_prefix, line.id.empty() ? stem : line.id);
    item.path = JoinPath(options_.root, file_);
    MoveWords(line, options_.languages, item);
    return GiveItem(std::move(item), sink_);
  }

  const FolderOptions& options_;
  ListingSink& sink_;
  RecordSorter by_path_;
  LineErrors errors_;
  std::string file_;               // whose line is to come; empty before the first
  absl::optional<ItemLine> line_;  // that came
};

class FolderReader : public CorpusReader {
 public:
  explicit FolderReader(const FolderOptions& options) : options_(options) {}

  absl::Status ListTo(ListingSink& sink) const override { return ListFolder(options_, sink); }

 private:
  const FolderOptions options_;
};

}  // namespace

absl::Status ListFolder(const FolderOptions& options, ListingSink& sink) {
  return FolderLister(options, sink).List();
}

std::unique_ptr<CorpusReader> NewFolderReader(const FolderOptions& options) {
  return std::make_unique<FolderReader>(options);
}

}  // namespace sightline
