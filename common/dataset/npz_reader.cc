#include "common/dataset/npz_reader.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/clean_text.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/formats/npy.h"
#include "common/formats/zip_archive.h"
#include "common/image/region_set.h"

namespace sightline {
namespace {

constexpr absl::string_view kSuffix = ".npz";
constexpr absl::string_view kFeatures = "features";
constexpr absl::string_view kBoxes = "norm_bb";
constexpr absl::string_view kConfidences = "conf";
constexpr absl::string_view kSoftLabels = "soft_labels";
// Of the folder's files, in order, that are tried for the width of its features and the classes of
// its soft labels, and of those that can be read.
constexpr size_t kMostTried = 100;
constexpr int kMostAsked = 15;
constexpr int64_t kMaxTriedBytes = int64_t{256} << 20;

std::string NamesOf(const ZipArchive& archive) {
  constexpr size_t kMostTold = 10;
  std::vector<std::string> names;
  for (const ZipMember& member : archive.members()) {
    if (names.size() < kMostTold) {
      names.push_back(EscapeUnlessPrintable(absl::StripSuffix(member.name, ".npy")));
    }
  }
  return absl::StrJoin(names, ", ");
}

const ZipMember* FindArray(const ZipArchive& archive, absl::string_view name) {
  return archive.Find(absl::StrCat(name, ".npy"));
}

// An array with its bytes.
struct OwnedArray {
  std::string bytes;
  NpyArray array;
};

absl::StatusOr<std::unique_ptr<OwnedArray>> ReadArray(const ZipArchive& archive,
                                                      absl::string_view name, int64_t max_bytes) {
  const ZipMember* const member = FindArray(archive, name);
  if (member == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("has no array ", name, "; it has ", NamesOf(archive)));
  }
  // On the heap: the array points into the bytes.
  auto owned = std::make_unique<OwnedArray>();
  absl::StatusOr<std::string> bytes = member->Read(max_bytes);
  if (!bytes.ok()) return absl::InvalidArgumentError(bytes.status().message());
  owned->bytes = *std::move(bytes);
  absl::StatusOr<NpyArray> array = ParseNpy(owned->bytes);
  if (!array.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", array.status().message()));
  }
  owned->array = *std::move(array);
  return owned;
}

absl::Status WrongShape(absl::string_view name, const NpyArray& array, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat(
      "array ", name, " has the shape (", absl::StrJoin(array.shape, ", "), "), wanted ", wanted));
}

absl::StatusOr<std::unique_ptr<OwnedArray>> ReadFeatureArray(const ZipArchive& archive,
                                                             int64_t max_bytes) {
  ASSIGN_OR_RETURN(auto features, ReadArray(archive, kFeatures, max_bytes));
  const std::vector<int64_t>& shape = features->array.shape;
  if (shape.size() != 2) {
    return WrongShape(kFeatures, features->array, "regions x numbers");
  }
  RETURN_IF_ERROR(CheckRegionSizes(shape[0], shape[1], max_bytes));
  return features;
}

absl::Status ReadFeatures(const ZipArchive& archive, int64_t max_bytes, RegionSet& regions) {
  ASSIGN_OR_RETURN(const auto features, ReadFeatureArray(archive, max_bytes));
  const std::vector<int64_t>& shape = features->array.shape;
  regions.count = shape[0];
  regions.feature_size = static_cast<int>(shape[1]);
  regions.features = NpyValues(features->array);
  return absl::OkStatus();
}

absl::Status ReadBoxes(const ZipArchive& archive, int64_t max_bytes, RegionSet& regions) {
  constexpr int64_t kMostColumns = 16;
  if (FindArray(archive, kBoxes) == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto boxes, ReadArray(archive, kBoxes, max_bytes));
  const std::vector<int64_t>& shape = boxes->array.shape;
  if (shape.size() != 2 || shape[0] != regions.count || shape[1] < 4 || shape[1] > kMostColumns) {
    return WrongShape(kBoxes, boxes->array, absl::StrCat("(", regions.count, ", 4 or more)"));
  }
  const std::vector<float> values = NpyValues(boxes->array);
  for (int64_t row = 0; row < shape[0]; ++row) {
    const auto first = values.begin() + row * shape[1];
    regions.boxes.insert(regions.boxes.end(), first, first + 4);
    if (shape[1] < 6) continue;
    regions.box_sizes.insert(regions.box_sizes.end(), first + 4, first + 6);
  }
  return absl::OkStatus();
}

absl::Status ReadConfidences(const ZipArchive& archive, int64_t max_bytes, RegionSet& regions) {
  if (FindArray(archive, kConfidences) == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto confidences, ReadArray(archive, kConfidences, max_bytes));
  const std::vector<int64_t>& shape = confidences->array.shape;
  const bool column = shape.size() == 2 && shape[1] == 1;
  if (!(column || shape.size() == 1) || shape[0] != regions.count) {
    return WrongShape(kConfidences, confidences->array, absl::StrCat("(", regions.count, ")"));
  }
  regions.confidences = NpyValues(confidences->array);
  return absl::OkStatus();
}

// `values`, `each` a region, in the order of `rows`.
std::vector<float> Reordered(const std::vector<float>& values, int each,
                             const std::vector<int64_t>& rows) {
  std::vector<float> reordered;
  reordered.reserve(values.size());
  for (const int64_t row : rows) {
    const auto first = values.begin() + row * each;
    reordered.insert(reordered.end(), first, first + each);
  }
  return reordered;
}

// The regions' indices in falling order of their confidences, which are finite; none if they are in
// it, or have none.
std::vector<int64_t> RowsByConfidence(const std::vector<float>& confidences) {
  if (std::is_sorted(confidences.rbegin(), confidences.rend())) return {};
  std::vector<int64_t> rows(confidences.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::stable_sort(rows.begin(), rows.end(),
                   [&](int64_t a, int64_t b) { return confidences[a] > confidences[b]; });
  return rows;
}

void SortByConfidence(RegionSet& regions) {
  const std::vector<int64_t> rows = RowsByConfidence(regions.confidences);
  if (rows.empty()) return;
  regions.features = Reordered(regions.features, regions.feature_size, rows);
  if (!regions.boxes.empty()) regions.boxes = Reordered(regions.boxes, 4, rows);
  if (!regions.box_sizes.empty()) regions.box_sizes = Reordered(regions.box_sizes, 2, rows);
  regions.confidences = Reordered(regions.confidences, 1, rows);
}

absl::StatusOr<ZipArchive> ParseArchive(absl::string_view bytes) {
  absl::StatusOr<ZipArchive> archive = ZipArchive::Parse(bytes);
  if (!archive.ok()) return absl::InvalidArgumentError(archive.status().message());
  return archive;
}

struct NpzSoftLabels {
  int classes = 0;            // 0: the archive has no array of them
  std::vector<float> values;  // of the regions in falling order of confidence
};

absl::StatusOr<NpzSoftLabels> ReadLabels(absl::string_view bytes, int64_t max_bytes) {
  ASSIGN_OR_RETURN(const ZipArchive archive, ParseArchive(bytes));
  RegionSet regions;
  ASSIGN_OR_RETURN(const auto features, ReadFeatureArray(archive, max_bytes));
  regions.count = features->array.shape[0];
  RETURN_IF_ERROR(ReadConfidences(archive, max_bytes, regions));
  RETURN_IF_ERROR(CheckConfidences(regions.confidences));
  if (FindArray(archive, kSoftLabels) == nullptr) return NpzSoftLabels();
  ASSIGN_OR_RETURN(const auto labels, ReadArray(archive, kSoftLabels, max_bytes));
  const std::vector<int64_t>& shape = labels->array.shape;
  if (shape.size() != 2 || shape[0] != regions.count) {
    return WrongShape(kSoftLabels, labels->array, absl::StrCat("(", regions.count, ", classes)"));
  }
  RETURN_IF_ERROR(Within(kSoftLabels, CheckRegionSizes(shape[0], shape[1], max_bytes)));
  NpzSoftLabels read = {static_cast<int>(shape[1]), NpyValues(labels->array)};
  RETURN_IF_ERROR(CheckSoftLabels(read.values, read.classes));
  const std::vector<int64_t> rows = RowsByConfidence(regions.confidences);
  if (!rows.empty()) read.values = Reordered(read.values, read.classes, rows);
  return read;
}

// What the first files of a folder say of all of them.
struct NpzWidths {
  int features = 0;
  int soft_labels = 0;  // classes
};

// The most frequent number, of equally frequent ones that which was so first.
class MostCommon {
 public:
  void Add(int value) {
    if (++counts_[value] > counts_[value_]) value_ = value;
  }
  int value() const { return value_; }

 private:
  std::map<int, int> counts_;
  int value_ = 0;
};

// Takes the first items of a folder, and then ends the listing with Cancelled.
class FirstItems : public ListingSink {
 public:
  const std::string& directory() const override { return directory_; }
  absl::Status Item(CorpusItem item) override {
    items_.push_back(std::move(item));
    return items_.size() < kMostTried ? absl::OkStatus() : absl::CancelledError("enough");
  }
  absl::Status Rejected(CorpusProblem) override { return absl::OkStatus(); }
  absl::Status Warning(CorpusProblem) override { return absl::OkStatus(); }

  const std::vector<CorpusItem>& items() const { return items_; }

 private:
  const std::string directory_ = TemporaryDirectory();
  std::vector<CorpusItem> items_;
};

absl::StatusOr<NpzWidths> WidthsOf(const CorpusItem& item) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadPictureFile(item.path, kMaxTriedBytes));
  ASSIGN_OR_RETURN(const RegionSet regions, ParseNpzRegions(bytes, kMaxTriedBytes));
  // Labels that are no probabilities are no reason to refuse the regions.
  const absl::StatusOr<NpzSoftLabels> labels = ReadLabels(bytes, kMaxTriedBytes);
  return NpzWidths{regions.feature_size, labels.ok() ? labels->classes : 0};
}

class NpzReader : public CorpusReader {
 public:
  NpzReader(const FolderOptions& options, const NpzWidths& widths)
      : options_(options), widths_(widths) {}

  int region_feature_size() const override { return widths_.features; }
  int soft_label_count() const override { return widths_.soft_labels; }

  absl::Status ListTo(ListingSink& sink) const override { return ListFolder(options_, sink); }

  absl::StatusOr<RegionSet> ReadRegions(const CorpusItem& item, int64_t max_bytes) const override {
    ASSIGN_OR_RETURN(const std::string bytes, ReadPictureFile(item.path, max_bytes));
    ASSIGN_OR_RETURN(RegionSet regions, ParseNpzRegions(bytes, max_bytes));
    if (regions.feature_size == widths_.features) return regions;
    return absl::InvalidArgumentError(absl::StrCat("has region features of ", regions.feature_size,
                                                   " numbers; most of its folder's have ",
                                                   widths_.features));
  }

  absl::StatusOr<std::vector<float>> ReadSoftLabels(const CorpusItem& item,
                                                    int64_t max_bytes) const override {
    if (widths_.soft_labels == 0) return std::vector<float>();
    ASSIGN_OR_RETURN(const std::string bytes, ReadPictureFile(item.path, max_bytes));
    ASSIGN_OR_RETURN(NpzSoftLabels labels, ReadLabels(bytes, max_bytes));
    if (labels.classes == widths_.soft_labels) return std::move(labels.values);
    return absl::InvalidArgumentError(absl::StrCat("has soft labels of ", labels.classes,
                                                   " classes; most of its folder's have ",
                                                   widths_.soft_labels));
  }

 private:
  const FolderOptions options_;
  const NpzWidths widths_;
};

}  // namespace

absl::StatusOr<RegionSet> ParseNpzRegions(absl::string_view bytes, int64_t max_bytes) {
  ASSIGN_OR_RETURN(const ZipArchive archive, ParseArchive(bytes));
  RegionSet regions;
  RETURN_IF_ERROR(ReadFeatures(archive, max_bytes, regions));
  RETURN_IF_ERROR(ReadBoxes(archive, max_bytes, regions));
  RETURN_IF_ERROR(ReadConfidences(archive, max_bytes, regions));
  RETURN_IF_ERROR(CheckRegionSet(regions));
  SortByConfidence(regions);
  return regions;
}

absl::StatusOr<std::vector<float>> ParseNpzSoftLabels(absl::string_view bytes, int64_t max_bytes) {
  ASSIGN_OR_RETURN(NpzSoftLabels labels, ReadLabels(bytes, max_bytes));
  return std::move(labels.values);
}

absl::StatusOr<std::unique_ptr<CorpusReader>> NewNpzReader(const FolderOptions& options) {
  FolderOptions npz = options;
  npz.suffix = std::string(kSuffix);
  FirstItems first;
  const absl::Status listed = ListFolder(npz, first);
  if (!listed.ok() && !absl::IsCancelled(listed)) return listed;
  std::string reason = "it has none";
  MostCommon features, soft_labels;
  int readable = 0;
  for (size_t i = 0; i < first.items().size() && readable < kMostAsked; ++i) {
    const absl::StatusOr<NpzWidths> widths = WidthsOf(first.items()[i]);
    if (widths.ok()) {
      ++readable;
      features.Add(widths->features);
      soft_labels.Add(widths->soft_labels);
    } else if (i == 0) {
      reason = absl::StrCat(EscapeUnlessPrintable(first.items()[i].path), ": ",
                            widths.status().message());
    }
  }
  if (readable > 0) {
    return std::make_unique<NpzReader>(npz, NpzWidths{features.value(), soft_labels.value()});
  }
  return absl::InvalidArgumentError(absl::StrCat("none of the ", kSuffix, " files below ",
                                                 options.root, " can be read: ", reason));
}

}  // namespace sightline
