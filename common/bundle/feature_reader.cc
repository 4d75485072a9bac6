#include "common/bundle/feature_reader.h"

#include <utility>

#include "common/base/little_endian.h"
#include "common/base/status_macros.h"

namespace sightline {

FeatureReader::FeatureReader(const FeatureFile& file, int64_t keep) : file_(&file) {
  for (const ModelFeatures& described : file.contents()) {
    Model model;
    for (const ModelFeatures::Tensor& tensor : described.tensors) {
      model.rows.emplace_back(tensor.rows, nullptr, keep);
    }
    if (described.checksums != nullptr) {
      model.checksums.emplace(file.container(), *described.checksums, nullptr, keep);
    }
    models_.push_back(std::move(model));
  }
}

absl::StatusOr<ItemFeatures> FeatureReader::Get(absl::string_view model, int64_t row) {
  ASSIGN_OR_RETURN(const size_t place, file_->Find(model));
  RETURN_IF_ERROR(file_->CheckRow(row));
  Model& reader = models_[place];
  std::vector<OffsetsSection::Range> ranges;
  for (OffsetReader& rows : reader.rows) {
    ASSIGN_OR_RETURN(const OffsetsSection::Range range, rows.At(row));
    ranges.push_back(range);
  }
  absl::optional<uint32_t> checksum;
  if (reader.checksums.has_value()) {
    constexpr auto kBytes = static_cast<int64_t>(sizeof(uint32_t));
    ASSIGN_OR_RETURN(const absl::string_view stored, reader.checksums->View(row * kBytes, kBytes));
    checksum = LoadLittleEndian<uint32_t>(stored.data());
  }
  return file_->ReadItem(file_->contents()[place], row, ranges, checksum);
}

}  // namespace sightline
