// A vectors file (vectors_file.h) in memory, for those that answer out of it.
#ifndef SIGHTLINE_COMMON_BUNDLE_SHARD_VECTORS_H_
#define SIGHTLINE_COMMON_BUNDLE_SHARD_VECTORS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/base/dtype.h"
#include "common/bundle/container.h"
#include "common/bundle/item_record.h"
#include "common/bundle/offsets.h"
#include "common/bundle/rows_on_disk.h"
#include "common/bundle/vectors_file.h"
#include "common/embedding/row_reader.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Where embeddings are once a shard is loaded.
enum class EmbeddingPlace {
  kMemory,  // of our own
  kDisk,    // read when they are asked for, and compared each time (rows_on_disk.h)
};

// Item ids lie in memory, and where records do; embeddings and records themselves do so once they
// are loaded, unless embeddings are left on the disk, and records are read from the file before.
// Immutable but for Load, thread-safe after it.
class ShardVectors {
 public:
  // Reads the item ids.  Errors as VectorsFile::Open.
  static absl::StatusOr<std::unique_ptr<ShardVectors>> Open(absl::string_view path,
                                                            const bundle::v1::ShardManifest& shard,
                                                            int dimension);

  // Copies all that is searched and fetched to memory of our own, and compares it on the
  // way: from then on nothing here touches the file.  Embeddings that stay on the disk are read and
  // compared, too, and looked at (RowsOnDisk::Load).  Errors as Container::Load.
  absl::Status Load(const CallContext& call, EmbeddingPlace place = EmbeddingPlace::kMemory);

  int64_t size() const { return file_->size(); }
  int dimension() const { return file_->dimension(); }
  Dtype dtype() const { return file_->dtype(); }
  // Once loaded to memory: row-major numbers of dtype(), aligned to 64 bytes; rows start stride()
  // numbers apart, the gap is zero.  Null where they lie on the disk.
  const void* data() const { return embeddings_.data(); }
  int64_t stride() const { return file_->stride(); }
  // Once loaded and left on the disk; else null.
  const RowReader* rows_on_disk() const { return rows_on_disk_.get(); }

  // Once loaded, of a row that is there, 0 <= row < size(), whatever it is stored as and wherever:
  // dimension() numbers.  Errors as RowReader::Read, of a row on the disk.
  absl::Status CopyEmbedding(int64_t row, absl::Span<float> to) const;

  // Once loaded, of a row that is there: its tags as they are stored (ForEachStoredTag).  They live
  // as long as this does.  DataLoss for offsets that lie.
  absl::StatusOr<absl::string_view> StoredTags(int64_t row) const;
  // The section that they lie in, once loaded.
  absl::string_view StoredTagSection() const { return tags_.bytes.view(); }

  // In memory.  Empty, which no id is, for a row that is not there or whose stored offsets
  // lie.
  absl::string_view item_id(int64_t row) const;
  // DataLoss if the stored record is malformed; OutOfRange for a row that is not there.
  absl::StatusOr<ItemRecord> Record(int64_t row) const;
  // Row of the item, or -1.  Binary search: rows are in item-id order.
  int64_t Find(absl::string_view item_id) const;

  // VerifyVectors of what is loaded, and of the file for the rest.
  absl::Status Verify(int shard, int shard_count, const CallContext& call) const;

  // Bytes in memory: embeddings or their checksums, and all the rest.
  int64_t row_bytes_in_memory() const;
  int64_t record_bytes_in_memory() const;

  const Container& container() const { return file_->container(); }

 private:
  // A section of bytes with its offsets.
  struct Column {
    const VectorsColumn* described = nullptr;
    Offsets offsets;
    SectionBytes bytes;  // once loaded
  };

  explicit ShardVectors(std::unique_ptr<VectorsFile> file) : file_(std::move(file)) {}
  absl::StatusOr<std::string> Field(const Column& column, int64_t row) const;

  std::unique_ptr<VectorsFile> file_;
  SectionBytes embeddings_;                   // once loaded to memory
  std::unique_ptr<RowsOnDisk> rows_on_disk_;  // once loaded otherwise
  Column item_ids_;                           // always loaded
  Column captions_;
  Column uris_;
  Column tags_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_SHARD_VECTORS_H_
