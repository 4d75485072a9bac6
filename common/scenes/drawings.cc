#include "common/scenes/drawings.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/dataset/clipart_reader.h"
#include "common/dataset/open_corpus.h"
#include "common/dataset/stamps_reader.h"
#include "common/scenes/raster.h"

namespace sightline {
namespace {

constexpr char kText[] =
#include "common/scenes/drawings.inc"
    ;

// Messages name this many drawings; a missing package would name hundreds.
constexpr size_t kNamedProblems = 5;

struct FoundItem {
  const CorpusReader* corpus = nullptr;
  CorpusItem item;
};

std::vector<LockedDrawing> ParseLock() {
  std::vector<LockedDrawing> drawings;
  for (const absl::string_view line : absl::StrSplit(kText, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
    drawings.push_back({fields.at(0), fields.at(1), fields.at(2)});
  }
  return drawings;
}

absl::StatusOr<std::map<std::string, FoundItem>> ListItems(
    absl::Span<const std::unique_ptr<CorpusReader>> corpora) {
  std::map<std::string, FoundItem> items;
  for (const auto& corpus : corpora) {
    ASSIGN_OR_RETURN(CorpusListing listing, corpus->List());
    for (CorpusItem& item : listing.items) {
      std::string id = item.item_id;
      items[std::move(id)] = {corpus.get(), std::move(item)};
    }
  }
  return items;
}

absl::StatusOr<RgbaPixels> ReadDrawing(const LockedDrawing& drawing,
                                       const std::map<std::string, FoundItem>& items) {
  const auto found = items.find(absl::StrCat(drawing.item_id, ".png"));
  if (found == items.end()) return absl::NotFoundError("is not there");
  ASSIGN_OR_RETURN(const std::string png, found->second.corpus->ReadPicture(
                                              found->second.item, limits::kMaxCorpusImageBytes));
  ASSIGN_OR_RETURN(const RgbaPixels whole, DecodeRgbaPng(png, DecodeLimits()));
  RgbaPixels cropped = CropToOpaque(whole);
  if (cropped.rgba.empty()) return absl::InvalidArgumentError("is transparent everywhere");
  const std::string sha256 = RasterSha256(cropped);
  if (sha256 != drawing.sha256) {
    return absl::FailedPreconditionError(absl::StrCat("has pixels of SHA-256 ", sha256));
  }
  return cropped;
}

}  // namespace

absl::Span<const LockedDrawing> LockedDrawings() {
  static const auto* const drawings = new std::vector<LockedDrawing>(ParseLock());
  return *drawings;
}

int DrawingNumber(absl::string_view noun, int place) {
  const absl::Span<const LockedDrawing> drawings = LockedDrawings();
  for (size_t first = 0; first < drawings.size(); ++first) {
    if (drawings[first].noun != noun) continue;
    const size_t number = first + place;
    const bool there = place >= 0 && number < drawings.size() && drawings[number].noun == noun;
    return there ? static_cast<int>(number) : -1;
  }
  return -1;
}

absl::StatusOr<std::vector<std::unique_ptr<CorpusReader>>> OpenDrawingCorpora() {
  std::vector<std::unique_ptr<CorpusReader>> corpora;
  const std::pair<std::string, std::string> folders[] = {{"stamps/", StampsOptions().root},
                                                         {"clipart/", ClipArtOptions().png_root}};
  for (const auto& [prefix, root] : folders) {
    if (!FileExists(root)) {
      return absl::FailedPreconditionError(absl::StrCat(
          root, " is not there; install Debian's tuxpaint-stamps-default and openclipart-png"));
    }
    CorpusSpec spec;
    spec.id_prefix = prefix;
    spec.root = root;
    ASSIGN_OR_RETURN(std::unique_ptr<CorpusReader> corpus, OpenCorpus(spec));
    corpora.push_back(std::move(corpus));
  }
  return corpora;
}

absl::StatusOr<DrawingSet> ReadDrawings(absl::Span<const LockedDrawing> drawings,
                                        absl::Span<const std::unique_ptr<CorpusReader>> corpora,
                                        std::vector<int> sides) {
  using Items = std::map<std::string, FoundItem>;
  ASSIGN_OR_RETURN(const Items items, ListItems(corpora));
  DrawingSet set(std::move(sides));
  std::vector<std::string> problems;
  for (const LockedDrawing& drawing : drawings) {
    const absl::StatusOr<RgbaPixels> raster = ReadDrawing(drawing, items);
    if (raster.ok()) {
      set.Add(*raster);
    } else {
      problems.push_back(absl::StrCat(drawing.item_id, " ", raster.status().message()));
    }
  }
  if (problems.empty()) return set;
  const size_t count = problems.size();
  problems.resize(std::min(count, kNamedProblems));
  return absl::FailedPreconditionError(absl::StrCat(
      count, " of ", drawings.size(), " drawings are not those that scenes are made of: ",
      absl::StrJoin(problems, "; "), count > kNamedProblems ? "; ..." : "",
      ".  Install Debian's tuxpaint-stamps-default and openclipart-png; where they "
      "are, the release has other drawings than Debian 12 and 13"));
}

}  // namespace sightline
