#include "common/dataset/corpus.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/clean_text.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"

namespace sightline {
namespace {

bool IsSpaceOrControl(char c) {
  return static_cast<unsigned char>(c) <= ' ' || c == '\x7f';
}

void LimitTags(std::vector<std::string>& tags) {
  tags.erase(std::remove_if(tags.begin(), tags.end(),
                            [](const std::string& tag) {
                              return tag.empty() || tag.size() > limits::kMaxWordBytes;
                            }),
             tags.end());
  if (tags.size() > limits::kMaxWords) tags.resize(limits::kMaxWords);
}

// Keeps everything in memory.
class CollectingSink : public ListingSink {
 public:
  const std::string& directory() const override { return directory_; }
  absl::Status Item(CorpusItem item) override {
    listing.items.push_back(std::move(item));
    return absl::OkStatus();
  }
  absl::Status Rejected(CorpusProblem problem) override {
    listing.rejected.push_back(std::move(problem));
    return absl::OkStatus();
  }
  absl::Status Warning(CorpusProblem problem) override {
    listing.warnings.push_back(std::move(problem));
    return absl::OkStatus();
  }

  CorpusListing listing;

 private:
  const std::string directory_ = TemporaryDirectory();
};

}  // namespace

std::string TemporaryDirectory() {
  std::error_code error;
  const std::filesystem::path named = std::filesystem::temp_directory_path(error);
  return error ? "/tmp" : named.string();
}

absl::Status CheckItemId(absl::string_view id) {
  if (id.empty()) return absl::InvalidArgumentError("an item id is empty");
  if (id.size() > kMaxCorpusItemIdBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("item id of ", id.size(), " bytes; at most ", kMaxCorpusItemIdBytes,
                     " are allowed: ", EscapeUnlessPrintable(id.substr(0, 60)), "..."));
  }
  if (!IsValidUtf8(id)) {
    return absl::InvalidArgumentError(
        absl::StrCat("item id is not UTF-8: ", EscapeUnlessPrintable(id), "; rename the file"));
  }
  for (const char c : id) {
    if (absl::ascii_iscntrl(c)) {
      return absl::InvalidArgumentError(
          absl::StrCat("item id has a control character: ", absl::CHexEscape(id)));
    }
  }
  return absl::OkStatus();
}

std::string CaptionId(absl::string_view image_id, absl::string_view language, int n) {
  return absl::StrCat(image_id, "#", language, "-", n);
}

std::string CleanCaption(absl::string_view text) {
  // Cheap refusals first; the cleaned text is never longer than the raw one.
  if (text.size() > 4 * kMaxCaptionBytes || !IsValidUtf8(text)) return "";
  std::string clean;
  clean.reserve(text.size());
  bool gap = false;
  for (const char c : text) {
    if (IsSpaceOrControl(c)) {
      gap = !clean.empty();
      continue;
    }
    if (gap) clean += ' ';
    gap = false;
    clean += c;
  }
  return clean.size() > kMaxCaptionBytes ? std::string() : clean;
}

absl::Status GiveItem(CorpusItem item, ListingSink& sink) {
  if (const absl::Status good = CheckItemId(item.item_id); !good.ok()) {
    return sink.Rejected({EscapeUnlessPrintable(item.item_id), EscapeUnlessPrintable(item.path),
                          std::string(good.message())});
  }
  LimitTags(item.tags);
  LimitTags(item.ocr_tokens);
  return sink.Item(std::move(item));
}

absl::StatusOr<CorpusListing> CorpusReader::List() const {
  CollectingSink sink;
  RETURN_IF_ERROR(ListTo(sink));
  CorpusListing& listing = sink.listing;
  // Stable: of two items with one id, the one that the source names first stays.
  std::stable_sort(listing.items.begin(), listing.items.end(),
                   [](const CorpusItem& a, const CorpusItem& b) { return a.item_id < b.item_id; });
  std::vector<CorpusItem> unique;
  unique.reserve(listing.items.size());
  for (CorpusItem& item : listing.items) {
    if (!unique.empty() && unique.back().item_id == item.item_id) {
      listing.rejected.push_back(
          {item.item_id, item.path, absl::StrCat("item id taken already by ", unique.back().path)});
    } else {
      unique.push_back(std::move(item));
    }
  }
  listing.items = std::move(unique);
  return std::move(listing);
}

absl::StatusOr<std::string> CorpusReader::ReadPicture(const CorpusItem& item,
                                                      int64_t max_bytes) const {
  if (region_feature_size() == 0) return ReadPictureFile(item.path, max_bytes);
  return absl::FailedPreconditionError(
      absl::StrCat(item.item_id, " has regions in this corpus, no picture"));
}

absl::StatusOr<RegionSet> CorpusReader::ReadRegions(const CorpusItem& item, int64_t) const {
  return absl::FailedPreconditionError(
      absl::StrCat(item.item_id, " is a picture in this corpus; it has no regions"));
}

absl::StatusOr<std::vector<float>> CorpusReader::ReadSoftLabels(const CorpusItem&, int64_t) const {
  return std::vector<float>();
}

std::string CorpusReader::PictureVersion(const CorpusItem& item) const {
  return FileVersion(item.path);
}

std::string FileVersion(absl::string_view path) {
  struct stat info;
  const std::string name(path);
  if (::stat(name.c_str(), &info) != 0) return "";
  return absl::StrCat(info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, " ",
                      info.st_ctim.tv_sec, ".", info.st_ctim.tv_nsec, " ",
                      ::access(name.c_str(), R_OK) == 0 ? "readable" : "unreadable");
}

absl::StatusOr<std::string> ReadPictureFile(absl::string_view path, int64_t max_bytes) {
  ASSIGN_OR_RETURN(const int64_t size, FileSize(path));
  if (size == 0) return absl::InvalidArgumentError("empty file");
  if (size > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("file of ", size, " bytes; the limit is ", max_bytes));
  }
  return ReadFile(path, max_bytes);
}

bool BlamesPicture(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status) ||
         absl::IsPermissionDenied(status) || absl::IsFailedPrecondition(status);
}

bool WantsLanguage(const std::vector<std::string>& languages, absl::string_view language) {
  return languages.empty() ||
         std::find(languages.begin(), languages.end(), language) != languages.end();
}

}  // namespace sightline
