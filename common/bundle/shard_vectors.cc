#include "common/bundle/shard_vectors.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/item_record.h"
#include "common/bundle/stored_record.h"
#include "common/bundle/vector_dtype.h"

namespace sightline {

absl::StatusOr<std::unique_ptr<ShardVectors>> ShardVectors::Open(
    absl::string_view path, const bundle::v1::ShardManifest& shard, int dimension) {
  ASSIGN_OR_RETURN(std::unique_ptr<VectorsFile> file, VectorsFile::Open(path, shard, dimension));
  std::unique_ptr<ShardVectors> vectors(new ShardVectors(std::move(file)));
  const VectorsFile& described = *vectors->file_;
  vectors->item_ids_.described = &described.item_ids();
  vectors->captions_.described = &described.captions();
  vectors->uris_.described = &described.uris();
  vectors->tags_.described = &described.tags();
  for (Column* column :
       {&vectors->item_ids_, &vectors->captions_, &vectors->uris_, &vectors->tags_}) {
    ASSIGN_OR_RETURN(column->offsets, Offsets::Load(column->described->offsets));
  }
  Column& ids = vectors->item_ids_;
  ASSIGN_OR_RETURN(ids.bytes,
                   vectors->container().Load(*ids.described->bytes, CallContext::Unbounded()));
  return vectors;
}

absl::Status ShardVectors::Load(const CallContext& call, EmbeddingPlace place) {
  for (Column* column : {&captions_, &uris_, &tags_}) {
    ASSIGN_OR_RETURN(column->bytes, container().Load(*column->described->bytes, call));
  }
  // Last, and most of it.
  if (place == EmbeddingPlace::kDisk) {
    ASSIGN_OR_RETURN(rows_on_disk_, RowsOnDisk::Load(*file_, call));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(embeddings_, container().Load(file_->embeddings(), call));
  return absl::OkStatus();
}

absl::StatusOr<std::string> ShardVectors::Field(const Column& column, int64_t row) const {
  ASSIGN_OR_RETURN(const Offsets::Range range, column.offsets.At(row));
  RETURN_IF_ERROR(file_->CheckField(row, range));
  std::string field(static_cast<size_t>(range.length()), '\0');
  if (column.bytes.data() != nullptr) {
    std::copy_n(column.bytes.data() + range.begin, range.length(), field.data());
  } else {
    RETURN_IF_ERROR(
        container().Read(*column.described->bytes, range.begin, range.length(), field.data()));
  }
  return field;
}

absl::Status ShardVectors::CopyEmbedding(int64_t row, absl::Span<float> to) const {
  if (rows_on_disk_ == nullptr) {
    WidenVector(embeddings_.data() + row * file_->embeddings().row_stride_bytes, dtype(), to);
    return absl::OkStatus();
  }
  std::string stored(static_cast<size_t>(file_->row_bytes()), '\0');
  RETURN_IF_ERROR(rows_on_disk_->Read({row}, &stored[0]));
  WidenVector(stored.data(), dtype(), to);
  return absl::OkStatus();
}

absl::StatusOr<absl::string_view> ShardVectors::StoredTags(int64_t row) const {
  ASSIGN_OR_RETURN(const Offsets::Range range, tags_.offsets.At(row));
  RETURN_IF_ERROR(file_->CheckField(row, range));
  return tags_.bytes.view().substr(static_cast<size_t>(range.begin),
                                   static_cast<size_t>(range.length()));
}

int64_t ShardVectors::row_bytes_in_memory() const {
  return rows_on_disk_ != nullptr ? rows_on_disk_->byte_count()
                                  : static_cast<int64_t>(embeddings_.view().size());
}

int64_t ShardVectors::record_bytes_in_memory() const {
  size_t bytes = 0;
  for (const Column* column : {&item_ids_, &captions_, &uris_, &tags_}) {
    bytes += column->bytes.view().size() + column->offsets.bytes().view().size();
  }
  return static_cast<int64_t>(bytes);
}

absl::string_view ShardVectors::item_id(int64_t row) const {
  if (row < 0 || row >= size()) return "";
  const absl::StatusOr<Offsets::Range> range = item_ids_.offsets.At(row);
  if (!range.ok() || range->length() > limits::kMaxItemIdBytes) return "";
  return absl::string_view(item_ids_.bytes.data() + range->begin,
                           static_cast<size_t>(range->length()));
}

absl::StatusOr<ItemRecord> ShardVectors::Record(int64_t row) const {
  if (row < 0 || row >= size()) {
    return absl::OutOfRangeError(
        absl::StrCat(container().path(), ": row ", row, " of ", size(), " rows"));
  }
  ASSIGN_OR_RETURN(const std::string caption, Field(captions_, row));
  ASSIGN_OR_RETURN(const std::string uri, Field(uris_, row));
  ASSIGN_OR_RETURN(const std::string tags, Field(tags_, row));
  absl::StatusOr<ItemRecord> record = DecodeRecord(item_id(row), caption, uri, tags);
  if (record.ok()) return record;
  return absl::DataLossError(
      absl::StrCat(container().path(), ": item ", row, ": ", record.status().message()));
}

int64_t ShardVectors::Find(absl::string_view item_id) const {
  int64_t low = 0;
  int64_t high = size();
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (this->item_id(middle) < item_id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < size() && !item_id.empty() && this->item_id(low) == item_id ? low : -1;
}

absl::Status ShardVectors::Verify(int shard, int shard_count, const CallContext& call) const {
  const auto loaded = [](const Column& column) {
    return LoadedVectors::Column{column.bytes.data() == nullptr ? nullptr : &column.bytes,
                                 &column.offsets.bytes()};
  };
  return VerifyVectors(*file_,
                       {embeddings_.data() == nullptr ? nullptr : &embeddings_,
                        /*embeddings_checked=*/rows_on_disk_ != nullptr, loaded(item_ids_),
                        loaded(captions_), loaded(uris_), loaded(tags_)},
                       shard, shard_count, call);
}

}  // namespace sightline
