#include "services/sightlinectl/query_regions.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/dataset/npz_reader.h"
#include "common/dataset/precomp_reader.h"
#include "common/dataset/region_file.h"

namespace sightline {
namespace {

absl::StatusOr<ImageInput> ReadArchive(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, limits::kMaxImageBytes));
  ImageInput image;
  absl::StatusOr<RegionSet> regions = ParseNpzRegions(bytes, limits::kMaxImageBytes);
  if (!regions.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", regions.status().message()));
  }
  image.regions = *std::move(regions);
  return image;
}

// Of SCAN's arrays.
absl::StatusOr<ImageInput> ReadSplitRow(const std::string& place, const std::string& path) {
  PrecompOptions options;
  options.root = path;
  ASSIGN_OR_RETURN(const auto reader, NewPrecompReader(options));
  CorpusItem item;
  item.item_id = place;
  item.path = place;
  ImageInput image;
  ASSIGN_OR_RETURN(image.regions, reader->ReadRegions(item, limits::kMaxImageBytes));
  return image;
}

}  // namespace

absl::StatusOr<ImageInput> ReadQueryRegions(const std::string& place) {
  if (absl::EndsWith(place, ".npz")) return ReadArchive(place);
  const size_t mark = place.rfind('#');
  const std::string path = place.substr(0, mark);
  if (absl::EndsWith(path, kPrecompSuffix)) return ReadSplitRow(place, path);
  ASSIGN_OR_RETURN(const std::unique_ptr<RegionFile> file, RegionFile::Open(path));
  int64_t row = file->item_count() == 1 ? 0 : -1;
  if (mark != std::string::npos && !absl::SimpleAtoi(place.substr(mark + 1), &row)) row = -1;
  if (row < 0 || row >= file->item_count()) {
    return absl::InvalidArgumentError(absl::StrCat("'", place, "' names no item; ", path, "#0 to ",
                                                   path, "#", file->item_count() - 1, " do"));
  }
  ASSIGN_OR_RETURN(ItemLine line, file->Item(row));
  ImageInput image;
  ASSIGN_OR_RETURN(image.regions, file->Regions(row, limits::kMaxImageBytes));
  image.tags = std::move(line.tags);
  image.ocr_tokens = std::move(line.ocr_tokens);
  return image;
}

}  // namespace sightline
