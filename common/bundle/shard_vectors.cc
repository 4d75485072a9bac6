#include "common/bundle/shard_vectors.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"
#include "common/bundle/layout.h"
#include "common/bundle/little_endian.h"
#include "common/bundle/section_reader.h"
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

// Messages do not name the item.
absl::StatusOr<ItemRecord> DecodeRecord(absl::string_view id, absl::string_view caption,
                                        absl::string_view uri, absl::string_view tags) {
  if (id.empty()) return absl::DataLossError("malformed item id");
  ItemRecord record;
  record.item_id = std::string(id);
  record.caption = std::string(caption);
  record.uri = std::string(uri);
  ASSIGN_OR_RETURN(record.tags, DecodeTags(tags));
  bool valid = IsValidUtf8(id) && IsValidUtf8(caption) && IsValidUtf8(uri);
  for (const std::string& tag : record.tags) valid = valid && IsValidUtf8(tag);
  if (!valid) return absl::DataLossError("a text is not UTF-8");
  return record;
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
  vectors->embedding_section_ = embeddings;
  RETURN_IF_ERROR(vectors->OpenColumn("item_id", &vectors->item_ids_));
  Column& ids = vectors->item_ids_;
  ASSIGN_OR_RETURN(ids.bytes, vectors->container_->Load(*ids.section, CallContext::Unbounded()));
  RETURN_IF_ERROR(vectors->OpenColumn("caption", &vectors->captions_));
  RETURN_IF_ERROR(vectors->OpenColumn("uri", &vectors->uris_));
  RETURN_IF_ERROR(vectors->OpenColumn("tags", &vectors->tags_));
  RETURN_IF_ERROR(vectors->OpenContentHashes());
  return vectors;
}

absl::Status ShardVectors::OpenColumn(absl::string_view name, Column* column) const {
  ASSIGN_OR_RETURN(column->section, container_->Require(name, Dtype::kBytes, 1));
  ASSIGN_OR_RETURN(column->offsets, Offsets::Open(*container_, absl::StrCat(name, "/offsets"),
                                                  size_, column->section->length));
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
  content_hashes_ = hashes;
  return absl::OkStatus();
}

absl::Status ShardVectors::Load(const CallContext& call) {
  for (Column* column : {&captions_, &uris_, &tags_}) {
    ASSIGN_OR_RETURN(column->bytes, container_->Load(*column->section, call));
  }
  // Last, and most of it.
  ASSIGN_OR_RETURN(embeddings_, container_->Load(*embedding_section_, call));
  return absl::OkStatus();
}

absl::StatusOr<Offsets::Range> ShardVectors::FieldAt(const Column& column, int64_t row) const {
  ASSIGN_OR_RETURN(const Offsets::Range range, column.offsets.At(row));
  if (range.length() > kMaxRecordFieldBytes) {
    return absl::DataLossError(absl::StrCat(container_->path(), ": a field of item ", row, " has ",
                                            range.length(), " bytes; at most ",
                                            kMaxRecordFieldBytes, " are read"));
  }
  return range;
}

absl::StatusOr<std::string> ShardVectors::Field(const Column& column, int64_t row) const {
  ASSIGN_OR_RETURN(const Offsets::Range range, FieldAt(column, row));
  std::string field(static_cast<size_t>(range.length()), '\0');
  if (column.loaded() != nullptr) {
    std::copy_n(column.bytes.data() + range.begin, range.length(), field.data());
  } else {
    RETURN_IF_ERROR(container_->Read(*column.section, range.begin, range.length(), field.data()));
  }
  return field;
}

absl::Span<const float> ShardVectors::embedding(int64_t row) const {
  return absl::MakeConstSpan(data() + row * stride_, static_cast<size_t>(dimension_));
}

absl::Status ShardVectors::ReadEmbedding(int64_t row, absl::Span<float> to) const {
  return container_->ReadUnchecked(*embedding_section_, row * embedding_section_->row_stride_bytes,
                                   static_cast<int64_t>(to.size() * sizeof(float)),
                                   reinterpret_cast<char*>(to.data()));
}

absl::StatusOr<std::string> ShardVectors::ReadContentHash(int64_t row) const {
  std::string hash;
  if (content_hashes_ == nullptr) return hash;
  hash.resize(kContentHashBytes);
  RETURN_IF_ERROR(container_->ReadUnchecked(*content_hashes_, row * kContentHashBytes,
                                            kContentHashBytes, hash.data()));
  return hash;
}

absl::string_view ShardVectors::item_id(int64_t row) const {
  if (row < 0 || row >= size_) return "";
  const absl::StatusOr<Offsets::Range> range = item_ids_.offsets.At(row);
  if (!range.ok() || range->length() > kMaxItemIdBytes) return "";
  return absl::string_view(item_ids_.bytes.data() + range->begin,
                           static_cast<size_t>(range->length()));
}

absl::StatusOr<ItemRecord> ShardVectors::Record(int64_t row) const {
  if (row < 0 || row >= size_) {
    return absl::OutOfRangeError(
        absl::StrCat(container_->path(), ": row ", row, " of ", size_, " rows"));
  }
  ASSIGN_OR_RETURN(const std::string caption, Field(captions_, row));
  ASSIGN_OR_RETURN(const std::string uri, Field(uris_, row));
  ASSIGN_OR_RETURN(const std::string tags, Field(tags_, row));
  absl::StatusOr<ItemRecord> record = DecodeRecord(item_id(row), caption, uri, tags);
  if (record.ok()) return record;
  return absl::DataLossError(
      absl::StrCat(container_->path(), ": item ", row, ": ", record.status().message()));
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

// The rows from the first to the last, from memory or from the file.
class ShardVectors::Content {
 public:
  explicit Content(const ShardVectors& vectors)
      : vectors_(vectors),
        captions_(ReaderOf(vectors.captions_)),
        uris_(ReaderOf(vectors.uris_)),
        tags_(ReaderOf(vectors.tags_)),
        embeddings_(*vectors.container_, *vectors.embedding_section_,
                    vectors.embeddings_.data() == nullptr ? nullptr : &vectors.embeddings_) {}

  absl::Status CheckRow(int64_t row, absl::string_view previous_id, int shard, int shard_count) {
    RETURN_IF_ERROR(CheckRecord(row));
    const absl::string_view id = vectors_.item_id(row);
    if (row > 0 && id <= previous_id) return Wrong(row, "is not in item-id order");
    if (ShardOf(id, shard_count) != shard) {
      return Wrong(row,
                   absl::StrCat("belongs to shard ", ShardOf(id, shard_count), ", not ", shard));
    }
    return CheckEmbedding(row);
  }

 private:
  absl::Status Wrong(int64_t row, absl::string_view why) const {
    return absl::DataLossError(absl::StrCat(vectors_.container_->path(), ": item ", row, " ", why));
  }

  SectionReader ReaderOf(const Column& column) const {
    return SectionReader(*vectors_.container_, *column.section, column.loaded());
  }

  absl::StatusOr<absl::string_view> FieldOf(SectionReader& reader, const Column& column,
                                            int64_t row) const {
    ASSIGN_OR_RETURN(const Offsets::Range range, vectors_.FieldAt(column, row));
    return reader.View(range.begin, range.length());
  }

  absl::Status CheckRecord(int64_t row) {
    ASSIGN_OR_RETURN(const absl::string_view caption, FieldOf(captions_, vectors_.captions_, row));
    ASSIGN_OR_RETURN(const absl::string_view uri, FieldOf(uris_, vectors_.uris_, row));
    ASSIGN_OR_RETURN(const absl::string_view tags, FieldOf(tags_, vectors_.tags_, row));
    const absl::Status decoded = DecodeRecord(vectors_.item_id(row), caption, uri, tags).status();
    if (decoded.ok()) return decoded;
    return absl::DataLossError(
        absl::StrCat(vectors_.container_->path(), ": item ", row, ": ", decoded.message()));
  }

  absl::Status CheckEmbedding(int64_t row) {
    const int64_t row_bytes = vectors_.embedding_section_->row_stride_bytes;
    ASSIGN_OR_RETURN(const absl::string_view bytes, embeddings_.View(row * row_bytes, row_bytes));
    // Rows are whole multiples of 64 bytes, and so are MiBs.
    const absl::Span<const float> numbers(reinterpret_cast<const float*>(bytes.data()),
                                          static_cast<size_t>(vectors_.stride_));
    const auto dimension = static_cast<size_t>(vectors_.dimension_);
    if (!AllFinite(numbers.first(dimension))) {
      return Wrong(row, "has an embedding that is not finite");
    }
    for (const float number : numbers.subspan(dimension)) {
      if (number != 0.0f) return Wrong(row, "has an embedding whose padding is not zero");
    }
    return absl::OkStatus();
  }

  const ShardVectors& vectors_;
  SectionReader captions_, uris_, tags_, embeddings_;
};

absl::Status ShardVectors::Verify(int shard, int shard_count, const CallContext& call) const {
  // What is read below, or was when the file was opened, is compared there.
  std::vector<const Section*> read = {embedding_section_};
  for (const Column* column : {&item_ids_, &captions_, &uris_, &tags_}) {
    RETURN_IF_ERROR(column->offsets.CheckAll(call));
    read.push_back(column->section);
    read.push_back(&column->offsets.section());
  }
  Content content(*this);
  absl::string_view previous_id;
  for (int64_t row = 0; row < size_; ++row) {
    if (row % 1024 == 0) RETURN_IF_ERROR(call.Check("verify items"));
    RETURN_IF_ERROR(content.CheckRow(row, previous_id, shard, shard_count));
    previous_id = item_id(row);
  }
  return container_->Verify(call, read);
}

}  // namespace sightline
