#include "common/dataset/region_file_reader.h"

#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/clean_text.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/dataset/item_path.h"
#include "common/dataset/region_file.h"

namespace sightline {
namespace {

constexpr absl::string_view kSuffix = ".regions";

using Files = std::map<std::string, std::unique_ptr<RegionFile>>;  // by path

class RegionFileReader : public CorpusReader {
 public:
  RegionFileReader(const RegionFileOptions& options, Files files)
      : options_(options), files_(std::move(files)) {}

  int region_feature_size() const override { return files_.begin()->second->feature_size(); }

  absl::Status ListTo(ListingSink& sink) const override {
    for (const auto& [path, file] : files_) {
      RETURN_IF_ERROR(file->VerifyItems());
      for (int64_t i = 0; i < file->item_count(); ++i) RETURN_IF_ERROR(Add(path, *file, i, sink));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<RegionSet> ReadRegions(const CorpusItem& item, int64_t max_bytes) const override {
    ASSIGN_OR_RETURN(const FilePlace place, Find(item));
    return place.file->Regions(place.row, max_bytes);
  }

  int soft_label_count() const override { return files_.begin()->second->soft_label_count(); }

  absl::StatusOr<std::vector<float>> ReadSoftLabels(const CorpusItem& item,
                                                    int64_t max_bytes) const override {
    ASSIGN_OR_RETURN(const FilePlace place, Find(item));
    return place.file->SoftLabels(place.row, max_bytes);
  }

  std::string RegionsDigest() const override {
    std::string digests;
    for (const auto& [path, file] : files_) absl::StrAppend(&digests, file->Digest(), " ");
    return digests;
  }

  std::string PictureVersion(const CorpusItem& item) const override {
    const auto place = PlaceOf(item);
    return place.ok() ? FileVersion(place->file) : "";
  }

 private:
  struct FilePlace {
    const RegionFile* file = nullptr;
    int64_t row = 0;
  };

  absl::StatusOr<FilePlace> Find(const CorpusItem& item) const {
    ASSIGN_OR_RETURN(const ItemPlace place, PlaceOf(item));
    const auto file = files_.find(place.file);
    if (file == files_.end() || place.row < 0 || place.row >= file->second->item_count()) {
      return absl::NotFoundError(absl::StrCat(item.item_id, " is no item of ", options_.root));
    }
    return FilePlace{file->second.get(), place.row};
  }

  absl::Status Add(const std::string& path, const RegionFile& file, int64_t i,
                   ListingSink& sink) const {
    CorpusItem item;
    item.path = ItemPath(path, i);
    absl::StatusOr<ItemLine> line = file.Item(i);
    if (!line.ok()) {
      return sink.Rejected(
          {"", EscapeUnlessPrintable(item.path), std::string(line.status().message())});
    }
    item.item_id = absl::StrCat(options_.id_prefix, line->id);
    MoveWords(*line, options_.languages, item);
    return GiveItem(std::move(item), sink);
  }

  const RegionFileOptions options_;
  const Files files_;  // at least one
};

absl::StatusOr<std::vector<std::string>> PathsOf(const std::string& root) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(root, ignored)) return std::vector<std::string>{root};
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFilesBelow(root));
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    if (absl::EndsWith(name, kSuffix)) paths.push_back(JoinPath(root, name));
  }
  if (!paths.empty()) return paths;
  return absl::InvalidArgumentError(
      absl::StrCat(root, " has no file that ends in ", kSuffix, "; name the file itself"));
}

// InvalidArgument unless what lies at `path` is as wide as the first one.
absl::Status CheckAlike(const std::string& path, const RegionFile& file, const std::string& first,
                        const RegionFile& first_file) {
  const auto refuse = [&](absl::string_view what, int count, int first_count) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has ", count, " ", what, " a region, ",
                                                   first, " ", first_count,
                                                   "; make two corpora of them"));
  };
  if (file.feature_size() != first_file.feature_size()) {
    return refuse("numbers", file.feature_size(), first_file.feature_size());
  }
  if (file.soft_label_count() != first_file.soft_label_count()) {
    return refuse("soft labels", file.soft_label_count(), first_file.soft_label_count());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<CorpusReader>> NewRegionFileReader(
    const RegionFileOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, PathsOf(options.root));
  Files files;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(std::unique_ptr<RegionFile> file, RegionFile::Open(path));
    if (!files.empty()) {
      RETURN_IF_ERROR(CheckAlike(path, *file, files.begin()->first, *files.begin()->second));
    }
    files.emplace(path, std::move(file));
  }
  return std::make_unique<RegionFileReader>(options, std::move(files));
}

}  // namespace sightline
