#include "common/dataset/multi30k_folder.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "common/base/clean_text.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/dataset/text_lines.h"

namespace sightline {
namespace {

constexpr absl::string_view kListsFolder = "image_splits";
constexpr absl::string_view kCaptionsFolder = "raw";
constexpr size_t kMaxLanguageBytes = 32;

// What the name of a file of captions says.
struct CaptionsName {
  std::string split, language;
  int64_t number = 0;  // of each picture's captions
};

// Nothing for another file.
absl::optional<CaptionsName> ParseCaptionsName(absl::string_view name) {
  const std::vector<std::string> parts = absl::StrSplit(absl::StripSuffix(name, ".gz"), '.');
  CaptionsName parsed;
  if (parts.size() < 2 || parts.size() > 3) return absl::nullopt;
  if (parts.size() == 3 && !absl::SimpleAtoi(parts[1], &parsed.number)) return absl::nullopt;
  parsed.split = parts.front();
  parsed.language = parts.back();
  if (parsed.language.empty() || parsed.language.size() > kMaxLanguageBytes) return absl::nullopt;
  return parsed;
}

using PicturesOfSplit = std::map<std::string, std::vector<size_t>>;  // in the order of the list

absl::Status ReadList(const std::string& path, const std::string& split, PublishedBuilder& builder,
                      std::vector<size_t>& pictures) {
  ASSIGN_OR_RETURN(const TextLines lines, TextLines::Read(path));
  for (size_t i = 0; i < lines.size(); ++i) {
    const absl::string_view file =
        absl::StripAsciiWhitespace(lines[i].substr(0, lines[i].find('#')));
    const std::string where = absl::StrCat(path, ": line ", i + 1);
    ASSIGN_OR_RETURN(const size_t picture, Within(where, builder.PictureOf(PictureStem(file))));
    RETURN_IF_ERROR(Within(where, builder.Describe(picture, file, split)));
    pictures.push_back(picture);
  }
  return absl::OkStatus();
}

absl::StatusOr<PicturesOfSplit> ReadLists(const std::string& folder, PublishedBuilder& builder) {
  PicturesOfSplit lists;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(folder));
  for (const std::string& name : names) {
    absl::string_view split = name;
    if (!absl::ConsumeSuffix(&split, ".txt")) continue;
    absl::ConsumeSuffix(&split, "_images");
    const auto [list, added] = lists.emplace(split, std::vector<size_t>());
    if (!added) {
      return absl::InvalidArgumentError(
          absl::StrCat(folder, " has two lists of the split ", EscapeUnlessPrintable(split)));
    }
    RETURN_IF_ERROR(ReadList(JoinPath(folder, name), list->first, builder, list->second));
  }
  if (!lists.empty()) return lists;
  return absl::InvalidArgumentError(absl::StrCat(folder, " has no list of pictures, <split>.txt"));
}

absl::Status ReadCaptions(const std::string& path, const CaptionsName& name,
                          const std::vector<size_t>& pictures, PublishedBuilder& builder) {
  ASSIGN_OR_RETURN(const TextLines lines, TextLines::Read(path));
  if (lines.size() != pictures.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " has ", lines.size(), " lines; the list of its pictures has ", pictures.size()));
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string where = absl::StrCat("line ", i + 1, " of ", path);
    RETURN_IF_ERROR(Within(
        where, builder.AddCaption(pictures[i], name.language, name.number, lines[i], where)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PublishedCaptions> ReadMulti30kFolder(const std::string& folder,
                                                     int captions_per_picture) {
  PublishedBuilder builder(folder);
  ASSIGN_OR_RETURN(const PicturesOfSplit lists, ReadLists(JoinPath(folder, kListsFolder), builder));
  const std::string captions = JoinPath(folder, kCaptionsFolder);
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(captions));
  std::vector<CorpusProblem> without_list;
  for (const std::string& name : names) {
    const absl::optional<CaptionsName> parsed = ParseCaptionsName(name);
    if (!parsed.has_value()) continue;
    const std::string path = JoinPath(captions, name);
    const auto list = lists.find(parsed->split);
    if (list == lists.end()) {
      without_list.push_back({"", EscapeUnlessPrintable(path),
                              absl::StrCat("has no list of its pictures in ", kListsFolder)});
      continue;
    }
    RETURN_IF_ERROR(ReadCaptions(path, *parsed, list->second, builder));
  }
  ASSIGN_OR_RETURN(PublishedCaptions set, builder.Finish(captions_per_picture));
  for (CorpusProblem& problem : without_list) set.warnings.push_back(std::move(problem));
  return set;
}

}  // namespace sightline
