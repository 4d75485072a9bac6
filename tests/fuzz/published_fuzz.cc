// Any file as a published caption set.  The first byte chooses the form: 'k' Karpathy's, 'c'
// COCO's, 'f' Flickr's, 't' TextCaps', of which what follows a line of '=' alone is Rosetta's file,
// 'm' Multi30k's, of which it is the captions and what stands before it the list of pictures.  Any
// other is a pattern of region_id.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "common/base/limits.h"
#include "common/dataset/coco_file.h"
#include "common/dataset/flickr_file.h"
#include "common/dataset/karpathy_file.h"
#include "common/dataset/multi30k_folder.h"
#include "common/dataset/region_id.h"
#include "common/dataset/textcaps_file.h"
#include "tests/fuzz/scratch_folder.h"

namespace {

using sightline::PublishedCaptions;
using sightline::PublishedPicture;

constexpr int kMost = 2;
constexpr absl::string_view kMark = "\n=\n";

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckPicture(const PublishedPicture& picture) {
  Require(sightline::CheckItemId(picture.id).ok());
  Require(!picture.file.empty() && picture.file[0] != '/');
  const std::filesystem::path below = std::filesystem::path("/a/b") / picture.file;
  Require(absl::StartsWith(below.lexically_normal().string(), "/a/b"));
  Require(sightline::SplitOfPublished(picture.split).ok());
  Require(picture.captions.size() <= kMost);
  for (const auto& caption : picture.captions) {
    Require(!caption.text.empty() && caption.text == sightline::CleanCaption(caption.text));
  }
  Require(picture.ocr_tokens.size() <= sightline::limits::kMaxWords);
  for (const std::string& token : picture.ocr_tokens) {
    Require(!token.empty() && token.size() <= sightline::limits::kMaxWordBytes);
  }
}

void CheckSet(const absl::StatusOr<PublishedCaptions>& set) {
  if (!set.ok()) {
    Require(absl::IsInvalidArgument(set.status()));
    return;
  }
  std::set<std::string> ids;
  for (const PublishedPicture& picture : set->pictures) {
    Require(ids.insert(picture.id).second);
    CheckPicture(picture);
  }
}

void CheckRegionId(absl::string_view pattern) {
  const auto region_id = sightline::RegionId::Parse(pattern);
  if (!region_id.ok()) {
    Require(absl::IsInvalidArgument(region_id.status()));
    return;
  }
  PublishedPicture picture;
  picture.id = "7";
  picture.file = "f/s.jpg";
  // No part of it becomes longer than its width or what is taken.
  Require(region_id->Of(picture).size() <= 99 * (pattern.size() + 1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const sightline::ScratchFolder folder("published_fuzz");
  if (size == 0) return 0;
  const absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t mark = text.find(kMark);
  const absl::string_view first = text.substr(0, mark);
  const absl::string_view second =
      mark == absl::string_view::npos ? "" : text.substr(mark + kMark.size());
  switch (data[0]) {
    case 'k':
      CheckSet(sightline::ReadKarpathyFile(folder.Write("set", text), "en", kMost));
      break;
    case 'c':
      CheckSet(sightline::ReadCocoFile(folder.Write("captions_val2014.json", text), "en", kMost));
      break;
    case 'f':
      CheckSet(sightline::ReadFlickrFile(folder.Write("set", text), "en", kMost));
      break;
    case 't':
      CheckSet(sightline::ReadTextCapsFile(folder.Write("set", first),
                                           second.empty() ? "" : folder.Write("ocr", second), "en",
                                           kMost));
      break;
    case 'm':
      std::filesystem::create_directories(folder.File("image_splits"));
      std::filesystem::create_directories(folder.File("raw"));
      folder.Write("image_splits/val.txt", first);
      folder.Write("raw/val.en", second);
      CheckSet(sightline::ReadMulti30kFolder(folder.path(), kMost));
      break;
    default:
      CheckRegionId(text);
  }
  return 0;
}
