#include "common/dataset/published_captions.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/clean_text.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"

namespace sightline {
namespace {

constexpr size_t kMaxFileBytes = 4096;
constexpr size_t kMaxShownBytes = 100;
// Of a set with more of them, something else is wrong.
constexpr size_t kMaxWarnings = 100'000;

std::string Shown(absl::string_view text) {
  return absl::StrCat("\"", EscapeUnlessPrintable(text.substr(0, kMaxShownBytes)),
                      text.size() > kMaxShownBytes ? "..." : "", "\"");
}

// A path that stays below the folder that it is joined to.
absl::Status CheckFile(absl::string_view file) {
  const std::vector<absl::string_view> parts = absl::StrSplit(file, '/');
  const bool leaves =
      absl::StartsWith(file, "/") || std::find(parts.begin(), parts.end(), "..") != parts.end();
  const bool printable = IsValidUtf8(file) && EscapeUnlessPrintable(file) == file;
  if (!file.empty() && file.size() <= kMaxFileBytes && !leaves && printable) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("the picture's file is ", Shown(file),
                                                 "; wanted a path of 1 to ", kMaxFileBytes,
                                                 " printable bytes below the folder of pictures"));
}

// The first `most` of each language by their numbers; 0: all.
std::vector<CorpusCaption> InOrder(std::vector<CorpusCaption> captions,
                                   const std::vector<int64_t>& numbers, int most) {
  std::vector<size_t> order(captions.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return numbers[a] < numbers[b]; });
  std::map<std::string, int> counts;
  std::vector<CorpusCaption> chosen;
  for (const size_t i : order) {
    if (++counts[captions[i].language] > most && most > 0) continue;
    chosen.push_back(std::move(captions[i]));
  }
  return chosen;
}

}  // namespace

absl::StatusOr<absl::optional<Split>> SplitOfPublished(absl::string_view name) {
  if (name.empty()) return absl::optional<Split>();
  if (name == "train" || name == "restval") return absl::optional<Split>(Split::kTrain);
  if (name == "val") return absl::optional<Split>(Split::kValidation);
  if (absl::StartsWith(name, "test")) return absl::optional<Split>(Split::kHeldOut);
  return absl::InvalidArgumentError(absl::StrCat(
      "the split is ", Shown(name), "; known are train, restval, val and test with what follows"));
}

absl::StatusOr<size_t> PublishedBuilder::PictureOf(absl::string_view id) {
  if (const absl::optional<size_t> known = Find(id); known.has_value()) return *known;
  RETURN_IF_ERROR(CheckItemId(id));
  if (drafts_.size() == static_cast<size_t>(kMaxPublishedPictures)) {
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", kMaxPublishedPictures, " pictures"));
  }
  by_id_.emplace(id, drafts_.size());
  drafts_.emplace_back();
  drafts_.back().picture.id = std::string(id);
  return drafts_.size() - 1;
}

absl::optional<size_t> PublishedBuilder::Find(absl::string_view id) const {
  const auto found = by_id_.find(std::string(id));
  if (found == by_id_.end()) return absl::nullopt;
  return found->second;
}

absl::Status PublishedBuilder::Describe(size_t picture, absl::string_view file,
                                        absl::string_view split) {
  PublishedPicture& described = drafts_[picture].picture;
  if (IsDescribed(picture)) {
    return absl::InvalidArgumentError(absl::StrCat("picture ", Shown(described.id),
                                                   " stands there twice, as ",
                                                   Shown(described.file), " and ", Shown(file)));
  }
  RETURN_IF_ERROR(CheckFile(file));
  RETURN_IF_ERROR(SplitOfPublished(split).status());
  described.file = std::string(file);
  described.split = std::string(split);
  return absl::OkStatus();
}

absl::Status PublishedBuilder::AddCaption(size_t picture, absl::string_view language,
                                          int64_t number, absl::string_view text,
                                          absl::string_view where) {
  Draft& draft = drafts_[picture];
  if (++caption_count_ > kMaxPublishedCaptions) {
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", kMaxPublishedCaptions, " captions"));
  }
  if (draft.numbers.size() == kMaxCaptionsPerItem) {
    return absl::InvalidArgumentError(absl::StrCat(
        "picture ", Shown(draft.picture.id), " has more than ", kMaxCaptionsPerItem, " captions"));
  }
  std::string caption = CleanCaption(text);
  if (!caption.empty()) {
    draft.picture.captions.push_back({std::string(language), std::move(caption)});
    draft.numbers.push_back(number);
    return absl::OkStatus();
  }
  if (warnings_.size() == kMaxWarnings) {
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", kMaxWarnings, " captions are empty, too long or not UTF-8"));
  }
  warnings_.push_back(
      {draft.picture.id, path_,
       absl::StrCat(where, " is empty, longer than ", kMaxCaptionBytes, " bytes or not UTF-8")});
  return absl::OkStatus();
}

void PublishedBuilder::SetOcrTokens(size_t picture, std::vector<std::string> tokens) {
  drafts_[picture].picture.ocr_tokens = std::move(tokens);
}

absl::StatusOr<PublishedCaptions> PublishedBuilder::Finish(int captions_per_picture) {
  PublishedCaptions set;
  set.warnings = std::move(warnings_);
  set.pictures.reserve(drafts_.size());
  for (size_t i = 0; i < drafts_.size(); ++i) {
    Draft& draft = drafts_[i];
    if (!IsDescribed(i)) {
      return absl::InvalidArgumentError(absl::StrCat("picture ", Shown(draft.picture.id),
                                                     " has captions, but nothing tells its file"));
    }
    draft.picture.captions =
        InOrder(std::move(draft.picture.captions), draft.numbers, captions_per_picture);
    draft.picture.place = static_cast<int64_t>(i);
    set.pictures.push_back(std::move(draft.picture));
  }
  return set;
}

std::string PictureStem(absl::string_view file) {
  const size_t slash = file.rfind('/');
  if (slash != absl::string_view::npos) file.remove_prefix(slash + 1);
  return std::string(file.substr(0, file.rfind('.')));
}

}  // namespace sightline
