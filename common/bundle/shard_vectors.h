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
#include "common/bundle/container.h"
#include "common/bundle/item_record.h"
#include "common/bundle/offsets.h"
#include "common/bundle/vectors_file.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Item ids lie in memory, and where records do; embeddings and records themselves do so once they
// are loaded, and records are read from the file before.  Immutable but for Load, thread-safe
// after it.
class ShardVectors {
 public:
  // Reads the item ids.  Errors as VectorsFile::Open.
  static absl::StatusOr<std::unique_ptr<ShardVectors>> Open(absl::string_view path,
                                                            const bundle::v1::ShardManifest& shard,
                                                            int dimension);

  // Copies all that is searched and fetched to memory of our own, and compares it on the
  // way: from then on nothing here touches the file.  Errors as Container::Load.
  absl::Status Load(const CallContext& call);

  int64_t size() const { return file_->size(); }
  int dimension() const { return file_->dimension(); }
  // Once loaded: row-major floats, aligned to 64 bytes; rows start stride() floats apart,
  // the gap is zero.
  const float* data() const { return reinterpret_cast<const float*>(embeddings_.data()); }
  int64_t stride() const { return file_->stride(); }
  // Once loaded, of a row that is there, 0 <= row < size().
  absl::Span<const float> embedding(int64_t row) const;

  // In memory.  Empty, which no id is, for a row that is not there or whose stored offsets
  // lie.
  absl::string_view item_id(int64_t row) const;
  // DataLoss if the stored record is malformed; OutOfRange for a row that is not there.
  absl::StatusOr<ItemRecord> Record(int64_t row) const;
  // Row of the item, or -1.  Binary search: rows are in item-id order.
  int64_t Find(absl::string_view item_id) const;

  // VerifyVectors of what is loaded, and of the file for the rest.
  absl::Status Verify(int shard, int shard_count, const CallContext& call) const;

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
  SectionBytes embeddings_;  // once loaded
  Column item_ids_;          // always loaded
  Column captions_;
  Column uris_;
  Column tags_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_SHARD_VECTORS_H_
