#include "common/bundle/shard_vectors.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"
#include "common/bundle/layout.h"
#include "common/bundle/little_endian.h"
#include "common/embedding/embedding_matrix.h"

namespace sightline {
namespace {

// Texts of u32 length and bytes, one behind another.
absl::StatusOr<std::vector<std::string>> DecodeTags(absl::string_view bytes) {
  std::vector<std::string> tags;
  while (!bytes.empty()) {
    uint32_t length = 0;
    if (bytes.size() < sizeof(length)) return absl::DataLossError("tags end inside a length");
    length = LoadLittleEndian<uint32_t>(bytes.data());
    bytes.remove_prefix(sizeof(length));
    if (length > bytes.size()) return absl::DataLossError("tags end inside a tag");
    tags.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return tags;
}

}  // namespace

ShardVectors::ShardVectors(std::unique_ptr<Container> container)
    : container_(std::move(container)) {}

absl::StatusOr<std::unique_ptr<ShardVectors>> ShardVectors::Open(
    absl::string_view path, const bundle::v1::ShardManifest& shard, int dimension) {
  ASSIGN_OR_RETURN(std::unique_ptr<Container> container, Container::Open(path));
  if (container->file_length() != shard.vectors().byte_count()) {
    return absl::DataLossError(absl::StrCat(path, " has ", container->file_length(),
                                            " bytes, its manifest says ",
                                            shard.vectors().byte_count()));
  }
  ASSIGN_OR_RETURN(const Section* embeddings, container->Require("embeddings", Dtype::kFloat32, 2));
  if (embeddings->shape[0] != shard.item_count() || embeddings->shape[1] != dimension) {
    return absl::DataLossError(
        absl::StrCat(path, " holds ", embeddings->shape[0], " embeddings of ", embeddings->shape[1],
                     ", its manifest says ", shard.item_count(), " of ", dimension));
  }
  if (embeddings->row_stride_bytes % 64 != 0) {
    return absl::DataLossError(absl::StrCat(path, ": embeddings are not padded to 64 bytes"));
  }
  std::unique_ptr<ShardVectors> vectors(new ShardVectors(std::move(container)));
  vectors->size_ = embeddings->shape[0];
  vectors->dimension_ = dimension;
  vectors->stride_ = embeddings->row_stride_bytes / static_cast<int64_t>(sizeof(float));
  // The file is mapped at a page and sections start at multiples of 4 KiB.
  vectors->data_ = reinterpret_cast<const float*>(embeddings->data);
  RETURN_IF_ERROR(vectors->OpenColumn("item_id", &vectors->item_ids_));
  RETURN_IF_ERROR(vectors->OpenColumn("caption", &vectors->captions_));
  RETURN_IF_ERROR(vectors->OpenColumn("uri", &vectors->uris_));
  RETURN_IF_ERROR(vectors->OpenColumn("tags", &vectors->tags_));
  RETURN_IF_ERROR(vectors->OpenContentHashes());
  return vectors;
}

absl::Status ShardVectors::OpenColumn(absl::string_view name, Column* column) const {
  ASSIGN_OR_RETURN(const Section* bytes, container_->Require(name, Dtype::kBytes, 1));
  column->data = bytes->data;
  ASSIGN_OR_RETURN(column->offsets, Offsets::Open(*container_, absl::StrCat(name, "/offsets"),
                                                  size_, bytes->length));
  return absl::OkStatus();
}

absl::Status ShardVectors::OpenContentHashes() {
  if (container_->Find("content_hash") == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Section* hashes, container_->Require("content_hash", Dtype::kBytes, 2));
  if (hashes->shape[0] != size_ || hashes->shape[1] != kContentHashBytes ||
      hashes->row_stride_bytes != kContentHashBytes) {
    return absl::DataLossError(absl::StrCat(container_->path(), ": section content_hash is ",
                                            hashes->shape[0], " x ", hashes->shape[1], ", not ",
                                            size_, " x ", kContentHashBytes));
  }
  content_hashes_ = hashes->data;
  return absl::OkStatus();
}

absl::StatusOr<absl::string_view> ShardVectors::Value(const Column& column, int64_t row) const {
  ASSIGN_OR_RETURN(const Offsets::Range range, column.offsets.At(row));
  if (range.length() > kMaxRecordFieldBytes) {
    return absl::DataLossError(absl::StrCat(container_->path(), ": a field of item ", row, " has ",
                                            range.length(), " bytes; at most ",
                                            kMaxRecordFieldBytes, " are read"));
  }
  return absl::string_view(column.data + range.begin, static_cast<size_t>(range.length()));
}

absl::Span<const float> ShardVectors::embedding(int64_t row) const {
  return absl::MakeConstSpan(data_ + row * stride_, static_cast<size_t>(dimension_));
}

absl::string_view ShardVectors::item_id(int64_t row) const {
  if (row < 0 || row >= size_) return "";
  const absl::StatusOr<absl::string_view> id = Value(item_ids_, row);
  return id.ok() && static_cast<int64_t>(id->size()) <= kMaxItemIdBytes ? *id : "";
}

absl::string_view ShardVectors::content_hash(int64_t row) const {
  if (content_hashes_ == nullptr) return "";
  return absl::string_view(content_hashes_ + row * kContentHashBytes, kContentHashBytes);
}

absl::StatusOr<ItemRecord> ShardVectors::Record(int64_t row) const {
  if (row < 0 || row >= size_) {
    return absl::OutOfRangeError(
        absl::StrCat(container_->path(), ": row ", row, " of ", size_, " rows"));
  }
  const auto malformed = [&](absl::string_view why) {
    return absl::DataLossError(absl::StrCat(container_->path(), ": item ", row, ": ", why));
  };
  ItemRecord record;
  record.item_id = std::string(item_id(row));
  if (record.item_id.empty()) return malformed("malformed item id");
  ASSIGN_OR_RETURN(const absl::string_view caption, Value(captions_, row));
  ASSIGN_OR_RETURN(const absl::string_view uri, Value(uris_, row));
  ASSIGN_OR_RETURN(const absl::string_view tags, Value(tags_, row));
  record.caption = std::string(caption);
  record.uri = std::string(uri);
  absl::StatusOr<std::vector<std::string>> decoded = DecodeTags(tags);
  if (!decoded.ok()) return malformed(decoded.status().message());
  record.tags = *std::move(decoded);
  bool valid =
      IsValidUtf8(record.item_id) && IsValidUtf8(record.caption) && IsValidUtf8(record.uri);
  for (const std::string& tag : record.tags) valid = valid && IsValidUtf8(tag);
  if (!valid) return malformed("a text is not UTF-8");
  return record;
}

int64_t ShardVectors::Find(absl::string_view item_id) const {
  int64_t low = 0;
  int64_t high = size_;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (this->item_id(middle) < item_id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < size_ && !item_id.empty() && this->item_id(low) == item_id ? low : -1;
}

absl::Status ShardVectors::CheckItem(int64_t row, absl::string_view previous_id, int shard,
                                     int shard_count) const {
  const auto wrong = [&](absl::string_view why) {
    return absl::DataLossError(absl::StrCat(container_->path(), ": item ", row, " ", why));
  };
  RETURN_IF_ERROR(Record(row).status());
  const absl::string_view id = item_id(row);
  if (row > 0 && id <= previous_id) return wrong("is not in item-id order");
  if (ShardOf(id, shard_count) != shard) {
    return wrong(absl::StrCat("belongs to shard ", ShardOf(id, shard_count), ", not ", shard));
  }
  if (!AllFinite(embedding(row))) return wrong("has an embedding that is not finite");
  for (int64_t i = row * stride_ + dimension_; i < (row + 1) * stride_; ++i) {
    if (data_[i] != 0.0f) return wrong("has an embedding whose padding is not zero");
  }
  return absl::OkStatus();
}

absl::Status ShardVectors::CheckContent(int shard, int shard_count, const CallContext& call) const {
  for (const Column* column : {&item_ids_, &captions_, &uris_, &tags_}) {
    RETURN_IF_ERROR(column->offsets.CheckAll(call));
  }
  absl::string_view previous_id;
  for (int64_t row = 0; row < size_; ++row) {
    if (row % 1024 == 0) RETURN_IF_ERROR(call.Check("verify items"));
    RETURN_IF_ERROR(CheckItem(row, previous_id, shard, shard_count));
    previous_id = item_id(row);
  }
  return absl::OkStatus();
}

}  // namespace sightline
