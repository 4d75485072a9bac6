#include "common/dataset/region_id.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/clean_text.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

// "val2014" of "a/val2014/x.jpg".
std::string FolderOf(absl::string_view file) {
  const size_t end = file.rfind('/');
  if (end == absl::string_view::npos) return "";
  file = file.substr(0, end);
  const size_t begin = file.rfind('/');
  return std::string(begin == absl::string_view::npos ? file : file.substr(begin + 1));
}

std::string Taken(absl::string_view name, const PublishedPicture& picture) {
  if (name == "id") return picture.id;
  if (name == "stem") return PictureStem(picture.file);
  if (name == "folder") return FolderOf(picture.file);
  return picture.split;
}

bool IsName(absl::string_view name) {
  return name == "id" || name == "stem" || name == "folder" || name == "split";
}

absl::Status Malformed(absl::string_view pattern, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("region_id \"", EscapeUnlessPrintable(pattern),
                                                 "\" ", why,
                                                 "; write for instance coco_{folder}_{id:012}"));
}

}  // namespace

absl::StatusOr<RegionId> RegionId::Parse(absl::string_view pattern) {
  RegionId parsed;
  absl::string_view rest = pattern;
  while (!rest.empty()) {
    const size_t brace = rest.find_first_of("{}");
    if (brace != 0) {
      parsed.parts_.push_back({std::string(rest.substr(0, brace))});
      rest.remove_prefix(std::min(brace, rest.size()));
      continue;
    }
    const size_t end = rest.find('}');
    if (rest[0] != '{' || end == absl::string_view::npos) {
      return Malformed(pattern, "has a brace without its other");
    }
    const absl::string_view inside = rest.substr(1, end - 1);
    const size_t colon = inside.find(':');
    Part part{std::string(inside.substr(0, colon)), /*taken=*/true};
    if (!IsName(part.text))
      return Malformed(pattern, "takes what is not id, stem, folder or split");
    if (colon != absl::string_view::npos) {
      const absl::string_view width = inside.substr(colon + 1);
      if (width.size() < 2 || width.size() > 3 || width[0] != '0' ||
          !absl::SimpleAtoi(width.substr(1), &part.width)) {
        return Malformed(pattern, "has a width that is not 0 and one or two digits");
      }
    }
    parsed.parts_.push_back(std::move(part));
    rest.remove_prefix(end + 1);
  }
  return parsed;
}

std::string RegionId::Of(const PublishedPicture& picture) const {
  std::string id;
  for (const Part& part : parts_) {
    const std::string text = part.taken ? Taken(part.text, picture) : part.text;
    if (text.size() < part.width) id.append(part.width - text.size(), '0');
    id += text;
  }
  return id;
}

}  // namespace sightline
