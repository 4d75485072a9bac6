#include "common/dataset/region_file.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/checksum.h"
#include "common/base/float16.h"
#include "common/base/status_macros.h"
#include "common/image/region_set.h"

namespace sightline {
namespace {

constexpr absl::string_view kItemOffsets = "regions/item_offsets";
constexpr absl::string_view kRowOffsets = "regions/row_offsets";
constexpr absl::string_view kFeatures = "regions/features";
constexpr absl::string_view kBoxes = "regions/boxes";
constexpr absl::string_view kBoxSizes = "regions/box_sizes";
constexpr absl::string_view kConfidences = "regions/confidences";
constexpr absl::string_view kSoftLabels = "regions/soft_labels";

absl::Status Malformed(const Container& container, absl::string_view problem) {
  return absl::DataLossError(absl::StrCat(container.path(), ": ", problem));
}

// Damage of one item is that item's fault.
absl::Status Blame(const absl::Status& status) {
  return absl::IsDataLoss(status) ? absl::InvalidArgumentError(status.message()) : status;
}

// The section, if there is one, which must be float32 with a row of `shape` for each region.
absl::StatusOr<const Section*> FindRows(const Container& container, absl::string_view name,
                                        const std::vector<int64_t>& shape) {
  const Section* const section = container.Find(name);
  if (section == nullptr) return nullptr;
  if (section->dtype == Dtype::kFloat32 && section->shape == shape) return section;
  return Malformed(container, absl::StrCat("section ", name,
                                           " is not of float32, or has not one row for "
                                           "each of ",
                                           shape[0], " regions"));
}

// Numbers that are kept in either precision.
bool AreFractions(const Section& section) {
  return section.dtype == Dtype::kFloat16 || section.dtype == Dtype::kFloat32;
}

// The section of soft labels, if there is one.
absl::StatusOr<const Section*> FindSoftLabels(const Container& container, int64_t regions) {
  const Section* const section = container.Find(kSoftLabels);
  if (section == nullptr) return nullptr;
  const std::vector<int64_t>& shape = section->shape;
  if (AreFractions(*section) && shape.size() == 2 && shape[0] == regions && shape[1] >= 1 &&
      shape[1] <= kMaxRegionFeatureSize) {
    return section;
  }
  return Malformed(
      container,
      absl::StrCat("section ", kSoftLabels, " is not of float16 or float32, or has not 1 to ",
                   kMaxRegionFeatureSize, " classes for each of ", regions, " regions"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RegionFile>> RegionFile::Open(absl::string_view path) {
  ASSIGN_OR_RETURN(std::unique_ptr<Container> container, Container::Map(path));
  return Parse(std::move(container));
}

absl::StatusOr<std::unique_ptr<RegionFile>> RegionFile::FromBytes(absl::string_view bytes) {
  ASSIGN_OR_RETURN(std::unique_ptr<Container> container, Container::FromBytes(bytes));
  return Parse(std::move(container));
}

absl::StatusOr<std::unique_ptr<RegionFile>> RegionFile::Parse(
    std::unique_ptr<Container> container) {
  std::unique_ptr<RegionFile> file(new RegionFile);
  file->container_ = std::move(container);
  RETURN_IF_ERROR(file->ParseSections());
  return file;
}

absl::Status RegionFile::ParseSections() {
  const Container& container = *container_;
  if (container.Find(kRegionItemsSection) == nullptr) {
    return Malformed(container,
                     absl::StrCat("no region file: it has no section ", kRegionItemsSection));
  }
  ASSIGN_OR_RETURN(items_, container.Require(kRegionItemsSection, Dtype::kBytes, 1));
  features_ = container.Find(kFeatures);
  const bool float_rows =
      features_ != nullptr && features_->shape.size() == 2 && AreFractions(*features_);
  if (!float_rows || features_->shape[1] > kMaxRegionFeatureSize) {
    return Malformed(container,
                     absl::StrCat("section ", kFeatures, " is missing, or not rows of at most ",
                                  kMaxRegionFeatureSize,
                                  " numbers in float16 or "
                                  "float32"));
  }
  ASSIGN_OR_RETURN(boxes_, FindRows(container, kBoxes, {region_count(), 4}));
  ASSIGN_OR_RETURN(box_sizes_, FindRows(container, kBoxSizes, {region_count(), 2}));
  ASSIGN_OR_RETURN(confidences_, FindRows(container, kConfidences, {region_count()}));
  ASSIGN_OR_RETURN(soft_labels_, FindSoftLabels(container, region_count()));
  ASSIGN_OR_RETURN(const Section* offsets, container.Require(kItemOffsets, Dtype::kInt64, 1));
  item_count_ = offsets->shape[0] - 1;
  if (item_count_ < 0) return Malformed(container, "its offsets are empty");
  ASSIGN_OR_RETURN(item_offsets_,
                   Offsets::Open(container, kItemOffsets, item_count_, items_->length));
  ASSIGN_OR_RETURN(row_offsets_,
                   Offsets::Open(container, kRowOffsets, item_count_, region_count()));
  return absl::OkStatus();
}

std::string RegionFile::Digest() const {
  Sha256 hash;
  for (const Section& section : container_->sections()) {
    hash.Update(absl::StrCat(section.name, " ", static_cast<int>(section.dtype), " ",
                             absl::StrJoin(section.shape, "x"), " ", section.row_stride_bytes, " ",
                             absl::StrJoin(section.checksums, ","), "\n"));
  }
  return hash.Hex();
}

absl::Status RegionFile::VerifyItems() const {
  for (const absl::string_view name : {kRegionItemsSection, kItemOffsets, kRowOffsets}) {
    const Section& section = *container_->Find(name);
    RETURN_IF_ERROR(container_->VerifyRange(section, 0, section.length));
  }
  RETURN_IF_ERROR(item_offsets_.CheckAll(CallContext::Unbounded()));
  return row_offsets_.CheckAll(CallContext::Unbounded());
}

absl::StatusOr<ItemLine> RegionFile::Item(int64_t i) const {
  const auto range = item_offsets_.At(i);
  if (!range.ok()) return Blame(range.status());
  ASSIGN_OR_RETURN(ItemLine line,
                   ParseItemLine(absl::string_view(items_->data + range->begin, range->length())));
  if (line.id.empty()) return absl::InvalidArgumentError("\"id\" is missing");
  return line;
}

absl::StatusOr<const char*> RegionFile::Rows(const Section& section, Offsets::Range rows) const {
  const int64_t begin = rows.begin * section.row_stride_bytes;
  const absl::Status whole =
      container_->VerifyRange(section, begin, rows.length() * section.row_stride_bytes);
  if (!whole.ok()) return Blame(whole);
  return section.data + begin;
}

absl::StatusOr<std::vector<float>> RegionFile::Numbers(const Section* section,
                                                       Offsets::Range rows) const {
  std::vector<float> numbers;
  if (section == nullptr) return numbers;
  ASSIGN_OR_RETURN(const char* from, Rows(*section, rows));
  const size_t each = section->shape.size() == 1 ? 1 : static_cast<size_t>(section->shape[1]);
  numbers.resize(static_cast<size_t>(rows.length()) * each);
  // Each row may be followed by a gap.
  for (size_t i = 0; i < numbers.size(); i += each, from += section->row_stride_bytes) {
    if (section->dtype == Dtype::kFloat16) {
      Float16ToFloat32(from, each, &numbers[i]);
    } else {
      std::memcpy(&numbers[i], from, each * sizeof(float));
    }
  }
  return numbers;
}

absl::StatusOr<RegionSet> RegionFile::Regions(int64_t i, int64_t max_bytes) const {
  const auto rows = row_offsets_.At(i);
  if (!rows.ok()) return Blame(rows.status());
  RETURN_IF_ERROR(CheckRegionSizes(rows->length(), feature_size(), max_bytes));
  RegionSet regions;
  regions.count = rows->length();
  regions.feature_size = feature_size();
  ASSIGN_OR_RETURN(regions.features, Numbers(features_, *rows));
  ASSIGN_OR_RETURN(regions.boxes, Numbers(boxes_, *rows));
  ASSIGN_OR_RETURN(regions.box_sizes, Numbers(box_sizes_, *rows));
  ASSIGN_OR_RETURN(regions.confidences, Numbers(confidences_, *rows));
  RETURN_IF_ERROR(CheckRegionSet(regions));
  return regions;
}

absl::StatusOr<std::vector<float>> RegionFile::SoftLabels(int64_t i, int64_t max_bytes) const {
  if (soft_labels_ == nullptr) return std::vector<float>();
  const auto rows = row_offsets_.At(i);
  if (!rows.ok()) return Blame(rows.status());
  RETURN_IF_ERROR(CheckRegionSizes(rows->length(), soft_label_count(), max_bytes));
  ASSIGN_OR_RETURN(std::vector<float> labels, Numbers(soft_labels_, *rows));
  RETURN_IF_ERROR(CheckSoftLabels(labels, soft_label_count()));
  return labels;
}

}  // namespace sightline
