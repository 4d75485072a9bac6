#include "common/dataset/precomp_reader.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/dataset/item_path.h"
#include "common/formats/npy.h"
#include "common/image/region_set.h"

namespace sightline {
namespace {

constexpr absl::string_view kCaptionsSuffix = "_caps.txt";
constexpr int64_t kCaptionsPerImage = 5;

// One split's images.
struct SplitImages {
  std::string name;
  std::string captions_path;
  std::unique_ptr<MappedFile> file;
  NpyArray array;  // into the file

  int64_t image_count() const { return array.shape[0]; }
  int64_t region_count() const { return array.shape[1]; }
  int64_t feature_size() const { return array.shape[2]; }
};

absl::StatusOr<SplitImages> OpenSplit(const std::string& path) {
  SplitImages split;
  const std::string stem(absl::StripSuffix(path, kPrecompSuffix));
  split.name = std::filesystem::path(stem).filename();
  split.captions_path = absl::StrCat(stem, kCaptionsSuffix);
  ASSIGN_OR_RETURN(split.file, MappedFile::Open(path));
  absl::StatusOr<NpyArray> array = ParseNpy(split.file->bytes());
  if (!array.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", array.status().message()));
  }
  split.array = *std::move(array);
  const std::vector<int64_t>& shape = split.array.shape;
  if (shape.size() != 3 || shape[0] < 1 || shape[1] < 1 || shape[2] < 1 ||
      shape[2] > kMaxRegionFeatureSize) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has the shape (",
                                                   absl::StrJoin(shape, ", "),
                                                   "), wanted images x regions x numbers"));
  }
  return split;
}

using Splits = std::map<std::string, SplitImages>;  // by path

class PrecompReader : public CorpusReader {
 public:
  PrecompReader(const PrecompOptions& options, Splits splits)
      : options_(options), splits_(std::move(splits)) {}

  int region_feature_size() const override {
    return static_cast<int>(splits_.begin()->second.feature_size());
  }

  absl::Status ListTo(ListingSink& sink) const override {
    int64_t first_place = 0;
    for (const auto& [path, split] : splits_) {
      RETURN_IF_ERROR(ListSplit(path, split, first_place, sink));
      first_place += split.image_count();
    }
    return absl::OkStatus();
  }

  absl::StatusOr<RegionSet> ReadRegions(const CorpusItem& item, int64_t max_bytes) const override {
    ASSIGN_OR_RETURN(const ItemPlace place, PlaceOf(item));
    const auto found = splits_.find(place.file);
    if (found == splits_.end() || place.row < 0 || place.row >= found->second.image_count()) {
      return absl::NotFoundError(absl::StrCat(item.item_id, " is no item of ", options_.root));
    }
    const SplitImages& split = found->second;
    RETURN_IF_ERROR(CheckRegionSizes(split.region_count(), split.feature_size(), max_bytes));
    RegionSet regions;
    regions.count = split.region_count();
    regions.feature_size = static_cast<int>(split.feature_size());
    const int64_t numbers = regions.count * regions.feature_size;
    regions.features.resize(static_cast<size_t>(numbers));
    ReadNpyElements(split.array, place.row * numbers, numbers, regions.features.data());
    RETURN_IF_ERROR(CheckRegionSet(regions));
    return regions;
  }

  std::string PictureVersion(const CorpusItem& item) const override {
    const auto place = PlaceOf(item);
    return place.ok() ? FileVersion(place->file) : "";
  }

 private:
  // The published order is that of rows, split by split.
  absl::Status ListSplit(const std::string& path, const SplitImages& split, int64_t first_place,
                         ListingSink& sink) const {
    ASSIGN_OR_RETURN(const auto file, MappedFile::Open(split.captions_path));
    // The last line may end or not.
    absl::string_view text = absl::StripSuffix(file->bytes(), "\n");
    const int64_t count = 1 + std::count(text.begin(), text.end(), '\n');
    if (count != split.image_count() && count != kCaptionsPerImage * split.image_count()) {
      return absl::InvalidArgumentError(
          absl::StrCat(split.captions_path, " has ", count, " lines for ", split.image_count(),
                       " images; wanted one for each, or ", kCaptionsPerImage));
    }
    const int64_t each = count / split.image_count();
    for (int64_t row = 0; row < split.image_count(); ++row) {
      CorpusItem item;
      item.item_id = absl::StrCat(options_.id_prefix, split.name, "/", row);
      item.path = ItemPath(path, row);
      item.published_place = first_place + row;
      RETURN_IF_ERROR(CheckItemId(item.item_id));
      for (int64_t line = row * each; line < (row + 1) * each; ++line) {
        const size_t end = std::min(text.find('\n'), text.size());
        RETURN_IF_ERROR(AddCaption(text.substr(0, end), split.captions_path, line + 1, item, sink));
        text.remove_prefix(std::min(end + 1, text.size()));
      }
      RETURN_IF_ERROR(sink.Item(std::move(item)));
    }
    return absl::OkStatus();
  }

  absl::Status AddCaption(absl::string_view text, const std::string& path, int64_t line,
                          CorpusItem& item, ListingSink& sink) const {
    if (!WantsLanguage(options_.languages, "en")) return absl::OkStatus();
    std::string caption = CleanCaption(text);
    if (caption.empty()) {
      return sink.Warning(
          {item.item_id, path, absl::StrCat("line ", line, " is empty, too long or not UTF-8")});
    }
    item.captions.push_back({"en", std::move(caption)});
    return absl::OkStatus();
  }

  const PrecompOptions options_;
  const Splits splits_;  // at least one
};

absl::StatusOr<std::vector<std::string>> PathsOf(const std::string& root) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(root, ignored)) {
    if (absl::EndsWith(root, kPrecompSuffix)) return std::vector<std::string>{root};
    return absl::InvalidArgumentError(
        absl::StrCat(root, " is neither a folder nor a file that ends in ", kPrecompSuffix));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(root));
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    if (absl::EndsWith(name, kPrecompSuffix)) paths.push_back(JoinPath(root, name));
  }
  if (!paths.empty()) return paths;
  return absl::InvalidArgumentError(
      absl::StrCat(root, " has no file that ends in ", kPrecompSuffix));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CorpusReader>> NewPrecompReader(const PrecompOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, PathsOf(options.root));
  Splits splits;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(SplitImages split, OpenSplit(path));
    if (!splits.empty() && split.feature_size() != splits.begin()->second.feature_size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, " has features of ", split.feature_size(), " numbers, ", splits.begin()->first,
          " of ", splits.begin()->second.feature_size(), "; name one split's file"));
    }
    splits.emplace(path, std::move(split));
  }
  return std::make_unique<PrecompReader>(options, std::move(splits));
}

}  // namespace sightline
