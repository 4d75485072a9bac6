#include "common/bundle/feature_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr size_t kDigestLength = 64;

// Without padding.  The container's reader has checked that it does not overflow.
int64_t RowBytes(const Section& section) {
  return section.shape[1] * static_cast<int64_t>(DtypeSize(section.dtype));
}

}  // namespace

bool IsFeatureName(absl::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
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
  return store;
}

absl::Status FeatureStore::ReadModels() {
  ASSIGN_OR_RETURN(const Section* section, container_->Require("models", Dtype::kBytes, 1));
  absl::string_view rest(section->data, static_cast<size_t>(section->length));
  while (!rest.empty()) {
    const std::string model(rest.substr(0, kDigestLength));
    const bool known = std::count(models_.begin(), models_.end(), model) != 0;
    // Each takes a part of the section table's limit, so there cannot be many.
    if (!IsSha256Hex(model) || known || models_.size() == 1024) {
      return absl::DataLossError(absl::StrCat(container_->path(), ": section models holds '",
                                              absl::CHexEscape(model), "' at place ",
                                              models_.size()));
    }
    models_.push_back(model);
    rest.remove_prefix(kDigestLength);
  }
  tensors_.resize(models_.size());
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
    std::vector<Tensor>& tensors = tensors_[model - models_.begin()];
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
    ASSIGN_OR_RETURN(ItemFeatures item, GetRow(tensors_[found - models_.begin()], row));
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

absl::StatusOr<ItemFeatures> FeatureStore::GetRow(const std::vector<Tensor>& tensors,
                                                  int64_t row) const {
  RETURN_IF_ERROR(CheckRow(tensors, row));
  ItemFeatures item;
  for (const Tensor& tensor : tensors) {
    const Section& section = *tensor.section;
    ASSIGN_OR_RETURN(const Offsets::Range range, tensor.rows.At(row));
    const int64_t row_bytes = RowBytes(section);
    FeatureTensor copy;
    copy.name = tensor.name;
    copy.dtype = section.dtype;
    copy.rows = range.length();
    copy.columns = section.shape[1];
    copy.bytes.reserve(static_cast<size_t>(copy.rows * row_bytes));
    if (section.row_stride_bytes == row_bytes) {
      copy.bytes.assign(section.data + range.begin * row_bytes,
                        static_cast<size_t>(copy.rows * row_bytes));
    } else {
      for (int64_t i = range.begin; i < range.end; ++i) {
        copy.bytes.append(section.data + i * section.row_stride_bytes,
                          static_cast<size_t>(row_bytes));
      }
    }
    item.tensors.push_back(std::move(copy));
  }
  return item;
}

absl::Status FeatureStore::CheckContent(const CallContext& call) const {
  for (const std::vector<Tensor>& tensors : tensors_) {
    for (const Tensor& tensor : tensors) RETURN_IF_ERROR(tensor.rows.CheckAll(call));
    for (int64_t row = 0; row < size_; ++row) {
      if (row % 4096 == 0) RETURN_IF_ERROR(call.Check("verify features"));
      RETURN_IF_ERROR(CheckRow(tensors, row));
    }
  }
  return absl::OkStatus();
}

}  // namespace sightline
