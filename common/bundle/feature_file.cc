#include "common/bundle/feature_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/limits.h"
#include "common/base/little_endian.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr size_t kDigestLength = 64;

uint32_t ChecksumOf(const ItemFeatures& item) {
  uint32_t checksum = 0;
  for (const FeatureTensor& tensor : item.tensors) {
    checksum = ItemChecksum(checksum, tensor.rows, tensor.bytes);
  }
  return checksum;
}

}  // namespace

bool IsFeatureName(absl::string_view name) {
  return !name.empty() && name.size() <= limits::kMaxTensorNameLength &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

std::string ItemChecksumsSection(absl::string_view model) {
  return absl::StrCat(model, "/checksums/items");
}

uint32_t ItemChecksum(uint32_t before, int64_t rows, absl::string_view bytes) {
  std::string count;
  AppendLittleEndian(rows, &count);
  return ExtendCrc32c(ExtendCrc32c(before, count), bytes);
}

// The container's reader has checked that it does not overflow.
int64_t ModelFeatures::Tensor::row_bytes() const {
  return section->shape[1] * static_cast<int64_t>(DtypeSize(section->dtype));
}

FeatureFile::FeatureFile(std::unique_ptr<Container> container) : container_(std::move(container)) {}

absl::StatusOr<std::unique_ptr<FeatureFile>> FeatureFile::Open(
    absl::string_view path, const bundle::v1::ShardManifest& shard) {
  ASSIGN_OR_RETURN(std::unique_ptr<Container> container, Container::Open(path));
  if (!shard.has_features() || container->file_length() != shard.features().byte_count()) {
    return absl::DataLossError(absl::StrCat(path, " has ", container->file_length(),
                                            " bytes, its manifest says ",
                                            shard.features().byte_count()));
  }
  if (shard.item_count() < 0) return absl::DataLossError("negative item count");
  std::unique_ptr<FeatureFile> file(new FeatureFile(std::move(container)));
  file->size_ = shard.item_count();
  RETURN_IF_ERROR(file->ReadModels());
  RETURN_IF_ERROR(file->FindTensors());
  RETURN_IF_ERROR(file->FindChecksums());
  return file;
}

absl::Status FeatureFile::ReadModels() {
  ASSIGN_OR_RETURN(const Section* section, container_->Require("models", Dtype::kBytes, 1));
  constexpr size_t kMostModels = 1024;
  if (section->length > static_cast<int64_t>(kMostModels * kDigestLength)) {
    return absl::DataLossError(
        absl::StrCat(container_->path(), ": section models has ", section->length, " bytes"));
  }
  std::string text(static_cast<size_t>(section->length), '\0');
  RETURN_IF_ERROR(container_->Read(*section, 0, section->length, text.data()));
  absl::string_view rest = text;
  while (!rest.empty()) {
    const std::string model(rest.substr(0, kDigestLength));
    const bool known = std::count(models_.begin(), models_.end(), model) != 0;
    if (!IsSha256Hex(model) || known) {
      return absl::DataLossError(absl::StrCat(container_->path(), ": section models holds '",
                                              absl::CHexEscape(model), "' at place ",
                                              models_.size()));
    }
    models_.push_back(model);
    rest.remove_prefix(kDigestLength);
  }
  contents_.resize(models_.size());
  return absl::OkStatus();
}

absl::Status FeatureFile::FindTensors() {
  for (const Section& section : container_->sections()) {
    const absl::string_view name = section.name;
    if (name.size() <= kDigestLength || name[kDigestLength] != '/') continue;
    const auto model = std::find(models_.begin(), models_.end(), name.substr(0, kDigestLength));
    const absl::string_view tensor_name = name.substr(kDigestLength + 1);
    // Offsets have a slash in their name; sections of unknown form are ignored.
    if (model == models_.end() || !IsFeatureName(tensor_name)) continue;
    std::vector<ModelFeatures::Tensor>& tensors = contents_[model - models_.begin()].tensors;
    if (section.shape.size() != 2 || DtypeSize(section.dtype) == 0 ||
        tensors.size() == limits::kMaxFeatureTensors) {
      return absl::DataLossError(absl::StrCat(container_->path(), ": section ", name,
                                              " is not a feature tensor, or one too many"));
    }
    ModelFeatures::Tensor tensor;
    tensor.name = std::string(tensor_name);
    tensor.section = &section;
    ASSIGN_OR_RETURN(tensor.rows, OffsetsSection::Find(*container_, absl::StrCat(name, "/rows"),
                                                       size_, section.shape[0]));
    tensors.push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

absl::Status FeatureFile::FindChecksums() {
  for (size_t i = 0; i < models_.size(); ++i) {
    const std::string name = ItemChecksumsSection(models_[i]);
    if (container_->Find(name) == nullptr) continue;
    ASSIGN_OR_RETURN(contents_[i].checksums, container_->Require(name, Dtype::kInt32, 1));
    const int64_t count = contents_[i].checksums->shape[0];
    if (count == size_) continue;
    return absl::DataLossError(absl::StrCat(container_->path(), ": section ", name, " has ", count,
                                            " checksums for ", size_, " items"));
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> FeatureFile::Find(absl::string_view model) const {
  const auto found = std::find(models_.begin(), models_.end(), model);
  if (found != models_.end()) return static_cast<size_t>(found - models_.begin());
  return absl::NotFoundError(absl::StrCat(container_->path(), " has no features of model '",
                                          absl::CHexEscape(model.substr(0, 100)), "'"));
}

absl::Status FeatureFile::CheckRow(int64_t row) const {
  if (row >= 0 && row < size_) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrCat(container_->path(), ": row ", row, " of ", size_, " rows"));
}

absl::Status FeatureFile::CheckSize(const ModelFeatures& model, int64_t row,
                                    absl::Span<const OffsetsSection::Range> ranges) const {
  int64_t left = limits::kMaxItemFeatureBytes;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const int64_t row_bytes = model.tensors[i].row_bytes();
    if (ranges[i].length() > left / row_bytes) {
      return absl::DataLossError(
          absl::StrCat(container_->path(), ": item ", row, " takes ", ranges[i].length(),
                       " rows of section ", model.tensors[i].section->name, ", which is more than ",
                       limits::kMaxItemFeatureBytes, " bytes in all"));
    }
    left -= ranges[i].length() * row_bytes;
  }
  return absl::OkStatus();
}

absl::StatusOr<ItemFeatures> FeatureFile::ReadItem(const ModelFeatures& model, int64_t row,
                                                   absl::Span<const OffsetsSection::Range> ranges,
                                                   absl::optional<uint32_t> checksum) const {
  RETURN_IF_ERROR(CheckSize(model, row, ranges));
  if (!checksum.has_value()) return Copy(model, ranges, Reading::kChecked);
  ASSIGN_OR_RETURN(ItemFeatures item, Copy(model, ranges, Reading::kUnchecked));
  if (CheckChecksum(row, *checksum, ChecksumOf(item)).ok()) return item;
  ASSIGN_OR_RETURN(item, Copy(model, ranges, Reading::kAgain));
  RETURN_IF_ERROR(CheckChecksum(row, *checksum, ChecksumOf(item)));
  return item;
}

absl::Status FeatureFile::Read(const Section& section, int64_t begin, int64_t length,
                               Reading reading, char* to) const {
  switch (reading) {
    case Reading::kChecked:
      return container_->Read(section, begin, length, to);
    case Reading::kUnchecked:
      return container_->ReadUnchecked(section, begin, length, to);
    case Reading::kAgain:
      return container_->ReadAgain(section, begin, length, to);
  }
  return absl::OkStatus();
}

absl::StatusOr<ItemFeatures> FeatureFile::Copy(const ModelFeatures& model,
                                               absl::Span<const OffsetsSection::Range> ranges,
                                               Reading reading) const {
  ItemFeatures item;
  for (size_t k = 0; k < ranges.size(); ++k) {
    const Section& section = *model.tensors[k].section;
    const int64_t row_bytes = model.tensors[k].row_bytes();
    FeatureTensor copy;
    copy.name = model.tensors[k].name;
    copy.dtype = section.dtype;
    copy.rows = ranges[k].length();
    copy.columns = section.shape[1];
    copy.bytes.resize(static_cast<size_t>(copy.rows * row_bytes));
    if (section.row_stride_bytes == row_bytes) {
      RETURN_IF_ERROR(Read(section, ranges[k].begin * row_bytes, copy.rows * row_bytes, reading,
                           copy.bytes.data()));
    } else {
      for (int64_t i = 0; i < copy.rows; ++i) {
        RETURN_IF_ERROR(Read(section, (ranges[k].begin + i) * section.row_stride_bytes, row_bytes,
                             reading, copy.bytes.data() + i * row_bytes));
      }
    }
    item.tensors.push_back(std::move(copy));
  }
  return item;
}

absl::Status FeatureFile::CheckChecksum(int64_t row, uint32_t stored, uint32_t checksum) const {
  if (checksum == stored) return absl::OkStatus();
  return MakeError(reasons::kChecksumMismatch,
                   absl::StrCat(container_->path(), ": the features of item ", row,
                                " do not have their checksum; fetch the file again, under "
                                "another name, and rename that into place"));
}

}  // namespace sightline
