#include "common/bundle/feature_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/bundle/little_endian.h"
#include "common/bundle/section_reader.h"

namespace sightline {
namespace {

constexpr size_t kDigestLength = 64;

// Without padding.  The container's reader has checked that it does not overflow.
int64_t RowBytes(const Section& section) {
  return section.shape[1] * static_cast<int64_t>(DtypeSize(section.dtype));
}

uint32_t ChecksumOf(const ItemFeatures& item) {
  uint32_t checksum = 0;
  for (const FeatureTensor& tensor : item.tensors) {
    checksum = ItemChecksum(checksum, tensor.rows, tensor.bytes);
  }
  return checksum;
}

}  // namespace

bool IsFeatureName(absl::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
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

FeatureStore::FeatureStore(std::unique_ptr<Container> container)
    : container_(std::move(container)) {}

absl::StatusOr<std::unique_ptr<FeatureStore>> FeatureStore::Open(
    absl::string_view path, const bundle::v1::ShardManifest& shard) {
  ASSIGN_OR_RETURN(std::unique_ptr<Container> container, Container::Open(path));
  if (!shard.has_features() || container->file_length() != shard.features().byte_count()) {
    return absl::DataLossError(absl::StrCat(path, " has ", container->file_length(),
                                            " bytes, its manifest says ",
                                            shard.features().byte_count()));
  }
  if (shard.item_count() < 0) return absl::DataLossError("negative item count");
  std::unique_ptr<FeatureStore> store(new FeatureStore(std::move(container)));
  store->size_ = shard.item_count();
  RETURN_IF_ERROR(store->ReadModels());
  RETURN_IF_ERROR(store->ReadTensors());
  RETURN_IF_ERROR(store->ReadChecksums());
  return store;
}

absl::Status FeatureStore::ReadModels() {
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

absl::Status FeatureStore::ReadTensors() {
  for (const Section& section : container_->sections()) {
    const absl::string_view name = section.name;
    if (name.size() <= kDigestLength || name[kDigestLength] != '/') continue;
    const auto model = std::find(models_.begin(), models_.end(), name.substr(0, kDigestLength));
    const absl::string_view tensor_name = name.substr(kDigestLength + 1);
    // Offsets have a slash in their name; sections of unknown form are ignored.
    if (model == models_.end() || !IsFeatureName(tensor_name)) continue;
    std::vector<Tensor>& tensors = contents_[model - models_.begin()].tensors;
    if (section.shape.size() != 2 || DtypeSize(section.dtype) == 0 ||
        tensors.size() == kMaxFeatureTensors) {
      return absl::DataLossError(absl::StrCat(container_->path(), ": section ", name,
                                              " is not a feature tensor, or one too many"));
    }
    Tensor tensor;
    tensor.name = std::string(tensor_name);
    tensor.section = &section;
    ASSIGN_OR_RETURN(tensor.rows, Offsets::Open(*container_, absl::StrCat(name, "/rows"), size_,
                                                section.shape[0]));
    tensors.push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ItemFeatures>> FeatureStore::Get(absl::string_view model,
                                                            absl::Span<const int64_t> rows) const {
  const auto found = std::find(models_.begin(), models_.end(), model);
  if (found == models_.end()) {
    return absl::NotFoundError(absl::StrCat(container_->path(), " has no features of model '",
                                            absl::CHexEscape(model.substr(0, 100)), "'"));
  }
  std::vector<ItemFeatures> features;
  features.reserve(rows.size());
  for (const int64_t row : rows) {
    if (row < 0 || row >= size_) {
      return absl::OutOfRangeError(
          absl::StrCat(container_->path(), ": row ", row, " of ", size_, " rows"));
    }
    ASSIGN_OR_RETURN(ItemFeatures item, GetRow(contents_[found - models_.begin()], row));
    features.push_back(std::move(item));
  }
  return features;
}

absl::Status FeatureStore::CheckRow(const std::vector<Tensor>& tensors, int64_t row) const {
  int64_t left = kMaxItemFeatureBytes;
  for (const Tensor& tensor : tensors) {
    ASSIGN_OR_RETURN(const Offsets::Range range, tensor.rows.At(row));
    const int64_t row_bytes = RowBytes(*tensor.section);
    if (range.length() > left / row_bytes) {
      return absl::DataLossError(absl::StrCat(
          container_->path(), ": item ", row, " takes ", range.length(), " rows of section ",
          tensor.section->name, ", which is more than ", kMaxItemFeatureBytes, " bytes in all"));
    }
    left -= range.length() * row_bytes;
  }
  return absl::OkStatus();
}

absl::StatusOr<ItemFeatures> FeatureStore::GetRow(const Model& model, int64_t row) const {
  RETURN_IF_ERROR(CheckRow(model.tensors, row));
  if (model.checksums.data() == nullptr) return ReadRow(model, row, Reading::kChecked);
  ASSIGN_OR_RETURN(ItemFeatures item, ReadRow(model, row, Reading::kUnchecked));
  if (CheckChecksum(model, row, ChecksumOf(item)).ok()) return item;
  ASSIGN_OR_RETURN(item, ReadRow(model, row, Reading::kAgain));
  RETURN_IF_ERROR(CheckChecksum(model, row, ChecksumOf(item)));
  return item;
}

absl::StatusOr<ItemFeatures> FeatureStore::ReadRow(const Model& model, int64_t row,
                                                   Reading reading) const {
  const auto read = [&](const Section& section, int64_t begin, int64_t length, char* to) {
    switch (reading) {
      case Reading::kChecked:
        return container_->Read(section, begin, length, to);
      case Reading::kUnchecked:
        return container_->ReadUnchecked(section, begin, length, to);
      case Reading::kAgain:
        return container_->ReadAgain(section, begin, length, to);
    }
    return absl::OkStatus();
  };
  ItemFeatures item;
  for (const Tensor& tensor : model.tensors) {
    const Section& section = *tensor.section;
    ASSIGN_OR_RETURN(const Offsets::Range range, tensor.rows.At(row));
    const int64_t row_bytes = RowBytes(section);
    FeatureTensor copy;
    copy.name = tensor.name;
    copy.dtype = section.dtype;
    copy.rows = range.length();
    copy.columns = section.shape[1];
    copy.bytes.resize(static_cast<size_t>(copy.rows * row_bytes));
    if (section.row_stride_bytes == row_bytes) {
      RETURN_IF_ERROR(
          read(section, range.begin * row_bytes, copy.rows * row_bytes, copy.bytes.data()));
    } else {
      for (int64_t i = 0; i < copy.rows; ++i) {
        RETURN_IF_ERROR(read(section, (range.begin + i) * section.row_stride_bytes, row_bytes,
                             copy.bytes.data() + i * row_bytes));
      }
    }
    item.tensors.push_back(std::move(copy));
  }
  return item;
}

absl::Status FeatureStore::CheckChecksum(const Model& model, int64_t row, uint32_t checksum) const {
  const char* const stored = model.checksums.data() + row * static_cast<int64_t>(sizeof(checksum));
  if (checksum == LoadLittleEndian<uint32_t>(stored)) return absl::OkStatus();
  return WithReason(
      absl::DataLossError(absl::StrCat(container_->path(), ": the features of item ", row,
                                       " do not have their checksum; fetch the file again, under "
                                       "another name, and rename that into place")),
      "CHECKSUM_MISMATCH");
}

absl::Status FeatureStore::ReadChecksums() {
  for (size_t i = 0; i < models_.size(); ++i) {
    const std::string name = ItemChecksumsSection(models_[i]);
    if (container_->Find(name) == nullptr) continue;
    ASSIGN_OR_RETURN(const Section* section, container_->Require(name, Dtype::kInt32, 1));
    if (section->shape[0] != size_) {
      return absl::DataLossError(absl::StrCat(container_->path(), ": section ", name, " has ",
                                              section->shape[0], " checksums for ", size_,
                                              " items"));
    }
    ASSIGN_OR_RETURN(contents_[i].checksums, container_->Load(*section, CallContext::Unbounded()));
  }
  return absl::OkStatus();
}

absl::Status FeatureStore::VerifyModel(const Model& model, const CallContext& call) const {
  for (const Tensor& tensor : model.tensors) RETURN_IF_ERROR(tensor.rows.CheckAll(call));
  for (int64_t row = 0; row < size_; ++row) RETURN_IF_ERROR(CheckRow(model.tensors, row));
  std::vector<uint32_t> checksums(static_cast<size_t>(size_), 0);
  for (const Tensor& tensor : model.tensors) {
    const Section& section = *tensor.section;
    SectionReader reader(*container_, section, nullptr);
    std::string packed;  // an item's rows without the gaps between them
    for (int64_t row = 0; row < size_; ++row) {
      if (row % 1024 == 0) RETURN_IF_ERROR(call.Check("verify features"));
      ASSIGN_OR_RETURN(const Offsets::Range range, tensor.rows.At(row));
      if (section.row_stride_bytes == RowBytes(section)) {
        ASSIGN_OR_RETURN(const absl::string_view bytes,
                         reader.View(range.begin * section.row_stride_bytes,
                                     range.length() * section.row_stride_bytes));
        checksums[row] = ItemChecksum(checksums[row], range.length(), bytes);
        continue;
      }
      packed.clear();
      for (int64_t i = range.begin; i < range.end; ++i) {
        ASSIGN_OR_RETURN(const absl::string_view bytes,
                         reader.View(i * section.row_stride_bytes, section.row_stride_bytes));
        packed.append(bytes.data(), static_cast<size_t>(RowBytes(section)));
      }
      checksums[row] = ItemChecksum(checksums[row], range.length(), packed);
    }
  }
  if (model.checksums.data() == nullptr) return absl::OkStatus();
  for (int64_t row = 0; row < size_; ++row) {
    RETURN_IF_ERROR(CheckChecksum(model, row, checksums[row]));
  }
  return absl::OkStatus();
}

absl::Status FeatureStore::Verify(const CallContext& call) const {
  std::vector<const Section*> read;
  for (const Model& model : contents_) {
    RETURN_IF_ERROR(VerifyModel(model, call));
    for (const Tensor& tensor : model.tensors) {
      read.push_back(tensor.section);
      read.push_back(&tensor.rows.section());
    }
  }
  return container_->Verify(call, read);
}

}  // namespace sightline
