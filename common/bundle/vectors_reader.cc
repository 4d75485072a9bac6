#include "common/bundle/vectors_reader.h"

#include <algorithm>

#include "common/base/status_macros.h"
#include "common/bundle/item_record.h"
#include "common/bundle/vector_dtype.h"

namespace sightline {

VectorsReader::VectorsReader(const VectorsFile& file, int64_t keep)
    : file_(&file),
      id_offsets_(file.item_ids().offsets, nullptr, keep),
      ids_(file.container(), *file.item_ids().bytes, nullptr, keep),
      embeddings_(file.container(), file.embeddings(), nullptr, keep) {
  if (file.content_hashes() != nullptr) {
    content_hashes_.emplace(file.container(), *file.content_hashes(), nullptr, keep);
  }
}

absl::StatusOr<absl::string_view> VectorsReader::ItemId(int64_t row) {
  ASSIGN_OR_RETURN(const OffsetsSection::Range range, id_offsets_.At(row));
  RETURN_IF_ERROR(file_->CheckField(row, range));
  return ids_.View(range.begin, range.length());
}

// The first row whose id is not less.  Who asks in order is answered by the next rows, so the
// search begins where the last one ended, in steps that double until the row lies between two,
// and halves what is left.
absl::StatusOr<int64_t> VectorsReader::LowerBound(absl::string_view item_id) {
  int64_t low = 0;
  int64_t high = file_->size();
  bool less_seen = false;
  bool other_seen = false;
  int64_t row = std::min(near_, high - 1);
  for (int64_t step = 0; low < high; step = 2 * step + 1) {
    ASSIGN_OR_RETURN(const absl::string_view id, ItemId(row));
    if (id < item_id) {
      less_seen = true;
      low = row + 1;
    } else {
      other_seen = true;
      high = row;
    }
    if (less_seen && other_seen) {
      row = low + (high - low) / 2;
    } else {
      row = less_seen ? std::min(low + step, high - 1) : std::max(high - 1 - step, low);
    }
  }
  return low;
}

absl::StatusOr<int64_t> VectorsReader::Find(absl::string_view item_id) {
  ASSIGN_OR_RETURN(const int64_t row, LowerBound(item_id));
  near_ = row;
  if (row == file_->size() || item_id.empty()) return -1;
  ASSIGN_OR_RETURN(const absl::string_view id, ItemId(row));
  return id == item_id ? row : -1;
}

absl::Status VectorsReader::Embedding(int64_t row, absl::Span<float> to) {
  ASSIGN_OR_RETURN(
      const absl::string_view bytes,
      embeddings_.View(row * file_->embeddings().row_stride_bytes, file_->row_bytes()));
  WidenVector(bytes.data(), file_->dtype(), to);
  return absl::OkStatus();
}

absl::StatusOr<absl::string_view> VectorsReader::ContentHash(int64_t row) {
  if (!content_hashes_.has_value()) return absl::string_view();
  return content_hashes_->View(row * kContentHashBytes, kContentHashBytes);
}

}  // namespace sightline
