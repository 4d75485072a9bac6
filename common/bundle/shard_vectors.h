// The vectors file of one shard: embedding matrix and item table.
//
// A container (container.h) with these sections, rows in the bytewise order of item ids:
//
//   embeddings           fp32 [n, dimension], rows padded to 64 bytes
//   item_id              bytes, and item_id/offsets: int64 [n + 1]
//   caption              likewise
//   uri                  likewise
//   tags                 likewise; an item's tags are u32 length, text, u32 length, ...
//   content_hash         bytes [n, 32], may be absent: what each item was made from
#ifndef SIGHTLINE_COMMON_BUNDLE_SHARD_VECTORS_H_
#define SIGHTLINE_COMMON_BUNDLE_SHARD_VECTORS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/bundle/container.h"
#include "common/bundle/item_record.h"
#include "common/bundle/offsets.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// A vectors file.  Item ids lie in memory; embeddings and records do so once they are loaded,
// and are read from the file before.  Immutable but for Load, thread-safe after it.
class ShardVectors {
 public:
  // Checks sizes and reads the item ids.  DataLoss if the file is not what `shard` says;
  // otherwise as reading a container (container.h).
  static absl::StatusOr<std::unique_ptr<ShardVectors>> Open(absl::string_view path,
                                                            const bundle::v1::ShardManifest& shard,
                                                            int dimension);

  // Copies all that is searched and fetched to memory of our own, and compares it on the
  // way: from then on nothing here touches the file.  Errors as Container::Load.
  absl::Status Load(const CallContext& call);

  int64_t size() const { return size_; }
  int dimension() const { return dimension_; }
  // Once loaded: row-major floats, aligned to 64 bytes; rows start stride() floats apart,
  // the gap is zero.
  const float* data() const { return reinterpret_cast<const float*>(embeddings_.data()); }
  int64_t stride() const { return stride_; }
  // Once loaded, of a row that is there, 0 <= row < size().
  absl::Span<const float> embedding(int64_t row) const;

  // Of a row that is there, from the file, into `to`, which has dimension() numbers; not
  // compared, for those who have verified the file.
  absl::Status ReadEmbedding(int64_t row, absl::Span<float> to) const;
  // Likewise, kContentHashBytes.  Empty in a file without them.
  absl::StatusOr<std::string> ReadContentHash(int64_t row) const;

  // In memory.  Empty, which no id is, for a row that is not there or whose stored offsets
  // lie.
  absl::string_view item_id(int64_t row) const;
  // DataLoss if the stored record is malformed; OutOfRange for a row that is not there.
  absl::StatusOr<ItemRecord> Record(int64_t row) const;
  // Row of the item, or -1.  Binary search: rows are in item-id order.
  int64_t Find(absl::string_view item_id) const;

  // Compares what is not loaded with its checksums, and reads everything that checksums
  // cannot vouch for, since who wrote them may have lied: DataLoss unless every embedding is
  // finite and padded with zeros, every record whole, and the items are those of shard
  // `shard` of `shard_count`, in order, each once.
  absl::Status Verify(int shard, int shard_count, const CallContext& call) const;

  const Container& container() const { return *container_; }

 private:
  // A section of bytes with its offsets.
  struct Column {
    const Section* section = nullptr;
    Offsets offsets;
    SectionBytes bytes;  // once loaded

    const SectionBytes* loaded() const { return bytes.data() == nullptr ? nullptr : &bytes; }
  };
  class Content;

  explicit ShardVectors(std::unique_ptr<Container> container);
  absl::Status OpenColumn(absl::string_view name, Column* column) const;
  absl::Status OpenContentHashes();
  absl::StatusOr<Offsets::Range> FieldAt(const Column& column, int64_t row) const;
  absl::StatusOr<std::string> Field(const Column& column, int64_t row) const;

  std::unique_ptr<Container> container_;
  int64_t size_ = 0;
  int dimension_ = 0;
  int64_t stride_ = 0;
  const Section* embedding_section_ = nullptr;
  SectionBytes embeddings_;  // once loaded
  Column item_ids_;          // always loaded
  Column captions_;
  Column uris_;
  Column tags_;
  const Section* content_hashes_ = nullptr;  // null: there are none
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_SHARD_VECTORS_H_
