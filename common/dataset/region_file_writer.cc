#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/byte_reader.h"
#include "common/base/clean_text.h"
#include "common/base/float16.h"
#include "common/base/status_macros.h"
#include "common/dataset/region_file.h"
#include "common/image/region_set.h"

namespace sightline {
namespace {

constexpr float kLargestFloat16 = 65504;

// What regions may have beside their features.
struct OptionalRows {
  const char* what;
  const char* section;
  std::vector<float> RegionSet::*numbers;
  int64_t each;  // numbers; of one, the section has one dimension

  std::vector<int64_t> Shape(int64_t rows) const {
    return each == 1 ? std::vector<int64_t>{rows} : std::vector<int64_t>{rows, each};
  }
};

constexpr OptionalRows kOptionalRows[] = {
    {"boxes", "regions/boxes", &RegionSet::boxes, 4},
    {"box sizes", "regions/box_sizes", &RegionSet::box_sizes, 2},
    {"confidences", "regions/confidences", &RegionSet::confidences, 1},
};

constexpr char kSoftLabels[] = "regions/soft_labels";

// Of a region; 0: none.
int64_t ClassCount(const RegionFileItem& item) {
  return static_cast<int64_t>(item.soft_labels.size()) / std::max<int64_t>(item.regions.count, 1);
}

std::string HalvesOf(const std::vector<float>& numbers) {
  std::string halves(numbers.size() * sizeof(uint16_t), '\0');
  Float32ToFloat16(numbers.data(), numbers.size(), &halves[0]);
  return halves;
}

class RegionFileWriting {
 public:
  RegionFileWriting(int64_t count, Dtype dtype, const RegionFileSource& source)
      : count_(count), dtype_(dtype), source_(source) {}

  absl::Status Write(absl::string_view path) {
    RETURN_IF_ERROR(Measure());
    ASSIGN_OR_RETURN(writer_, ContainerWriter::Create(path));
    const int64_t rows = row_offsets_.back();
    const auto int64s = static_cast<int64_t>(row_offsets_.size());
    RETURN_IF_ERROR(writer_->Declare(kRegionItemsSection, Dtype::kBytes,
                                     {static_cast<int64_t>(items_.size())}));
    RETURN_IF_ERROR(writer_->Declare("regions/item_offsets", Dtype::kInt64, {int64s}));
    RETURN_IF_ERROR(writer_->Declare("regions/row_offsets", Dtype::kInt64, {int64s}));
    RETURN_IF_ERROR(writer_->Declare("regions/features", dtype_, {rows, first_.feature_size}));
    for (const OptionalRows& optional : kOptionalRows) {
      if (!Has(optional)) continue;
      RETURN_IF_ERROR(writer_->Declare(optional.section, Dtype::kFloat32, optional.Shape(rows)));
    }
    if (classes_ > 0) {
      RETURN_IF_ERROR(writer_->Declare(kSoftLabels, Dtype::kFloat16, {rows, classes_}));
    }
    RETURN_IF_ERROR(writer_->Append(items_));
    RETURN_IF_ERROR(writer_->Append(BytesOfNumbers(item_offsets_)));
    RETURN_IF_ERROR(writer_->Append(BytesOfNumbers(row_offsets_)));
    RETURN_IF_ERROR(AppendRegions());
    if (classes_ > 0) RETURN_IF_ERROR(AppendSoftLabels());
    return writer_->Finish().status();
  }

 private:
  bool Has(const OptionalRows& optional) const { return !(first_.*optional.numbers).empty(); }

  // Everything but the numbers themselves.
  absl::Status Measure() {
    if (count_ < 1) return absl::InvalidArgumentError("there is no item to write");
    for (int64_t i = 0; i < count_; ++i) {
      ASSIGN_OR_RETURN(const RegionFileItem item, source_(i));
      if (i == 0) {
        first_ = item.regions;
        classes_ = ClassCount(item);
      }
      if (const absl::Status good = Check(item); !good.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "item ", i, " (", EscapeUnlessPrintable(item.line.id), ") ", good.message()));
      }
      items_ += ItemLineJson(item.line);
      item_offsets_.push_back(static_cast<int64_t>(items_.size()));
      row_offsets_.push_back(row_offsets_.back() + item.regions.count);
    }
    return absl::OkStatus();
  }

  absl::Status Check(const RegionFileItem& item) const {
    RETURN_IF_ERROR(CheckItemId(item.line.id));
    RETURN_IF_ERROR(CheckRegionSet(item.regions));
    if (item.regions.feature_size != first_.feature_size) {
      return absl::InvalidArgumentError(absl::StrCat("has features of ", item.regions.feature_size,
                                                     " numbers, the first item's have ",
                                                     first_.feature_size));
    }
    for (const OptionalRows& optional : kOptionalRows) {
      if ((item.regions.*optional.numbers).empty() != Has(optional)) continue;
      return absl::InvalidArgumentError(absl::StrCat("has ", Has(optional) ? "no " : "",
                                                     optional.what, ", unlike the first item"));
    }
    RETURN_IF_ERROR(CheckLabels(item));
    return dtype_ == Dtype::kFloat16 ? CheckFitsFloat16(item.regions) : absl::OkStatus();
  }

  absl::Status CheckLabels(const RegionFileItem& item) const {
    const auto count = static_cast<int64_t>(item.soft_labels.size());
    if (count != classes_ * item.regions.count) {
      return absl::InvalidArgumentError(
          absl::StrCat("has ", count, " soft labels for ", item.regions.count,
                       " regions, the first item's have ", classes_, " each"));
    }
    if (classes_ == 0) return absl::OkStatus();
    RETURN_IF_ERROR(CheckRegionSizes(item.regions.count, classes_, INT64_MAX));
    return CheckSoftLabels(item.soft_labels, classes_);
  }

  // Aborted for an item that is not what it was.
  absl::StatusOr<RegionFileItem> AskAgain(int64_t i) const {
    ASSIGN_OR_RETURN(RegionFileItem item, source_(i));
    if (Check(item).ok() && item.regions.count == row_offsets_[i + 1] - row_offsets_[i]) {
      return item;
    }
    return absl::AbortedError(
        absl::StrCat(EscapeUnlessPrintable(item.line.id), " changed while the file was written"));
  }

  // The sections follow one another, so what is small is kept until the features are written.
  absl::Status AppendRegions() {
    std::vector<float> kept[std::size(kOptionalRows)];
    for (int64_t i = 0; i < count_; ++i) {
      ASSIGN_OR_RETURN(const RegionFileItem item, AskAgain(i));
      RETURN_IF_ERROR(AppendFeatures(item.regions));
      for (size_t k = 0; k < std::size(kOptionalRows); ++k) {
        const std::vector<float>& numbers = item.regions.*kOptionalRows[k].numbers;
        kept[k].insert(kept[k].end(), numbers.begin(), numbers.end());
      }
    }
    for (const std::vector<float>& numbers : kept) {
      if (!numbers.empty()) RETURN_IF_ERROR(writer_->Append(BytesOfNumbers(numbers)));
    }
    return absl::OkStatus();
  }

  // They may be as many as features, so that they are not kept but asked for once more.
  absl::Status AppendSoftLabels() {
    for (int64_t i = 0; i < count_; ++i) {
      ASSIGN_OR_RETURN(const RegionFileItem item, AskAgain(i));
      RETURN_IF_ERROR(writer_->Append(HalvesOf(item.soft_labels)));
    }
    return absl::OkStatus();
  }

  absl::Status AppendFeatures(const RegionSet& regions) {
    if (dtype_ == Dtype::kFloat32) return writer_->Append(BytesOfNumbers(regions.features));
    return writer_->Append(HalvesOf(regions.features));
  }

  const int64_t count_;
  const Dtype dtype_;
  const RegionFileSource& source_;
  std::unique_ptr<ContainerWriter> writer_;
  RegionSet first_;
  int64_t classes_ = 0;  // of the first item's soft labels
  std::string items_;
  std::vector<int64_t> item_offsets_ = {0}, row_offsets_ = {0};
};

}  // namespace

absl::Status CheckFitsFloat16(const RegionSet& regions) {
  for (const float x : regions.features) {
    if (x > kLargestFloat16 || x < -kLargestFloat16) {
      return absl::InvalidArgumentError(absl::StrCat(
          "has the feature ", x, ", too large for float16; float32 holds it (--float32)"));
    }
  }
  return absl::OkStatus();
}

absl::Status WriteRegionFile(absl::string_view path, int64_t count, Dtype features,
                             const RegionFileSource& source) {
  if (features != Dtype::kFloat16 && features != Dtype::kFloat32) {
    return absl::InvalidArgumentError(
        absl::StrCat("features are written as float16 or float32, not ", DtypeName(features)));
  }
  return RegionFileWriting(count, features, source).Write(path);
}

}  // namespace sightline
