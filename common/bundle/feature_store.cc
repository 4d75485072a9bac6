#include "common/bundle/feature_store.h"

#include <utility>

#include "absl/types/optional.h"
#include "common/base/little_endian.h"
#include "common/base/status_macros.h"
#include "common/bundle/section_reader.h"

namespace sightline {

FeatureStore::FeatureStore(std::unique_ptr<FeatureFile> file) : file_(std::move(file)) {}

absl::StatusOr<std::unique_ptr<FeatureStore>> FeatureStore::Open(
    absl::string_view path, const bundle::v1::ShardManifest& shard) {
  ASSIGN_OR_RETURN(std::unique_ptr<FeatureFile> file, FeatureFile::Open(path, shard));
  std::unique_ptr<FeatureStore> store(new FeatureStore(std::move(file)));
  for (const ModelFeatures& described : store->file_->contents()) {
    Model model;
    for (const ModelFeatures::Tensor& tensor : described.tensors) {
      ASSIGN_OR_RETURN(Offsets rows, Offsets::Load(tensor.rows));
      model.rows.push_back(std::move(rows));
    }
    if (described.checksums != nullptr) {
      ASSIGN_OR_RETURN(model.checksums,
                       store->container().Load(*described.checksums, CallContext::Unbounded()));
    }
    store->loaded_.push_back(std::move(model));
  }
  return store;
}

absl::StatusOr<std::vector<ItemFeatures>> FeatureStore::Get(absl::string_view model,
                                                            absl::Span<const int64_t> rows) const {
  ASSIGN_OR_RETURN(const size_t place, file_->Find(model));
  std::vector<ItemFeatures> features;
  features.reserve(rows.size());
  for (const int64_t row : rows) {
    RETURN_IF_ERROR(file_->CheckRow(row));
    ASSIGN_OR_RETURN(ItemFeatures item, GetRow(place, row));
    features.push_back(std::move(item));
  }
  return features;
}

absl::StatusOr<std::vector<Offsets::Range>> FeatureStore::RangesOf(const Model& model,
                                                                   int64_t row) const {
  std::vector<Offsets::Range> ranges;
  ranges.reserve(model.rows.size());
  for (const Offsets& rows : model.rows) {
    ASSIGN_OR_RETURN(const Offsets::Range range, rows.At(row));
    ranges.push_back(range);
  }
  return ranges;
}

uint32_t FeatureStore::StoredChecksum(const Model& model, int64_t row) const {
  return LoadLittleEndian<uint32_t>(model.checksums.data() +
                                    row * static_cast<int64_t>(sizeof(uint32_t)));
}

absl::StatusOr<ItemFeatures> FeatureStore::GetRow(size_t model, int64_t row) const {
  const Model& loaded = loaded_[model];
  ASSIGN_OR_RETURN(const std::vector<Offsets::Range> ranges, RangesOf(loaded, row));
  absl::optional<uint32_t> checksum;
  if (loaded.checksums.data() != nullptr) checksum = StoredChecksum(loaded, row);
  return file_->ReadItem(file_->contents()[model], row, ranges, checksum);
}

absl::Status FeatureStore::VerifyModel(size_t model, const CallContext& call) const {
  const ModelFeatures& described = file_->contents()[model];
  const Model& loaded = loaded_[model];
  for (const Offsets& rows : loaded.rows) RETURN_IF_ERROR(rows.CheckAll(call));
  for (int64_t row = 0; row < size(); ++row) {
    ASSIGN_OR_RETURN(const std::vector<Offsets::Range> ranges, RangesOf(loaded, row));
    RETURN_IF_ERROR(file_->CheckSize(described, row, ranges));
  }
  std::vector<uint32_t> checksums(static_cast<size_t>(size()), 0);
  for (size_t k = 0; k < described.tensors.size(); ++k) {
    const Section& section = *described.tensors[k].section;
    const int64_t row_bytes = described.tensors[k].row_bytes();
    SectionReader reader(container(), section, nullptr);
    std::string packed;  // an item's rows without the gaps between them
    for (int64_t row = 0; row < size(); ++row) {
      if (row % 1024 == 0) RETURN_IF_ERROR(call.Check("verify features"));
      ASSIGN_OR_RETURN(const Offsets::Range range, loaded.rows[k].At(row));
      if (section.row_stride_bytes == row_bytes) {
        ASSIGN_OR_RETURN(const absl::string_view bytes,
                         reader.View(range.begin * row_bytes, range.length() * row_bytes));
        checksums[row] = ItemChecksum(checksums[row], range.length(), bytes);
        continue;
      }
      packed.clear();
      for (int64_t i = range.begin; i < range.end; ++i) {
        ASSIGN_OR_RETURN(const absl::string_view bytes,
                         reader.View(i * section.row_stride_bytes, section.row_stride_bytes));
        packed.append(bytes.data(), static_cast<size_t>(row_bytes));
      }
      checksums[row] = ItemChecksum(checksums[row], range.length(), packed);
    }
  }
  if (loaded.checksums.data() == nullptr) return absl::OkStatus();
  for (int64_t row = 0; row < size(); ++row) {
    RETURN_IF_ERROR(file_->CheckChecksum(row, StoredChecksum(loaded, row), checksums[row]));
  }
  return absl::OkStatus();
}

absl::Status FeatureStore::Verify(const CallContext& call) const {
  std::vector<const Section*> read;
  for (size_t model = 0; model < loaded_.size(); ++model) {
    RETURN_IF_ERROR(VerifyModel(model, call));
    for (const ModelFeatures::Tensor& tensor : file_->contents()[model].tensors) {
      read.push_back(tensor.section);
      read.push_back(&tensor.rows.section());
    }
  }
  return container().Verify(call, read);
}

}  // namespace sightline
