// The vectors file of one shard: embedding matrix and item table.
//
// A container (container.h) with these sections, rows in the bytewise order of item ids:
//
//   embeddings           fp32 or fp16 [n, dimension], rows padded to 64 bytes
//   item_id              bytes, and item_id/offsets: int64 [n + 1]
//   caption              likewise
//   uri                  likewise
//   tags                 likewise; an item's tags are u32 length, text, u32 length, ...
//   content_hash         bytes [n, 32], may be absent: what each item was made from
//
// There are two ways to read it: ShardVectors (shard_vectors.h), which has it in memory and
// answers many threads, and VectorsReader (vectors_reader.h), which has next to nothing there
// and goes through the rows.
#ifndef SIGHTLINE_COMMON_BUNDLE_VECTORS_FILE_H_
#define SIGHTLINE_COMMON_BUNDLE_VECTORS_FILE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/base/dtype.h"
#include "common/bundle/container.h"
#include "common/bundle/offsets.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// A section of bytes with its offsets.
struct VectorsColumn {
  const Section* bytes = nullptr;
  OffsetsSection offsets;
};

// Its sections, found and checked in their sizes.  Nothing that grows with the items is read or
// held, but for four bytes a MiB.  Immutable, thread-safe.
class VectorsFile {
 public:
  // DataLoss if the file is not what `shard` says; otherwise as reading a container
  // (container.h).
  static absl::StatusOr<std::unique_ptr<VectorsFile>> Open(absl::string_view path,
                                                           const bundle::v1::ShardManifest& shard,
                                                           int dimension);

  int64_t size() const { return embeddings_->shape[0]; }
  int dimension() const { return static_cast<int>(embeddings_->shape[1]); }
  // What embeddings are stored as (vector_dtype.h).
  Dtype dtype() const { return embeddings_->dtype; }
  // Numbers from one row to the next; what is behind an embedding is zero.
  int64_t stride() const {
    return embeddings_->row_stride_bytes / static_cast<int64_t>(DtypeSize(dtype()));
  }
  // Bytes of an embedding, without what is behind it.
  int64_t row_bytes() const { return dimension() * static_cast<int64_t>(DtypeSize(dtype())); }

  const Section& embeddings() const { return *embeddings_; }
  const VectorsColumn& item_ids() const { return item_ids_; }
  const VectorsColumn& captions() const { return captions_; }
  const VectorsColumn& uris() const { return uris_; }
  const VectorsColumn& tags() const { return tags_; }
  // Null: there are none.
  const Section* content_hashes() const { return content_hashes_; }

  // Whether a field of `row` may be as long as its offsets say: DataLoss.
  absl::Status CheckField(int64_t row, OffsetsSection::Range range) const;

  // Whether `bytes`, which are those of `row` with its padding, are an embedding: DataLoss unless
  // its numbers are finite and what is behind them is zero.
  absl::Status CheckEmbedding(int64_t row, absl::string_view bytes) const;

  const Container& container() const { return *container_; }

 private:
  explicit VectorsFile(std::unique_ptr<Container> container);
  absl::Status FindEmbeddings(const bundle::v1::ShardManifest& shard, int dimension);
  absl::Status FindColumn(absl::string_view name, VectorsColumn* column) const;
  absl::Status FindContentHashes();

  std::unique_ptr<Container> container_;
  const Section* embeddings_ = nullptr;
  VectorsColumn item_ids_, captions_, uris_, tags_;
  const Section* content_hashes_ = nullptr;
};

// What of a vectors file is in memory already; null what is not.
struct LoadedVectors {
  struct Column {
    const SectionBytes* bytes = nullptr;
    const SectionBytes* offsets = nullptr;
  };
  const SectionBytes* embeddings = nullptr;
  // Whether they were compared, and looked at, where they lie; they are not read then.
  bool embeddings_checked = false;
  Column item_ids, captions, uris, tags;
};

// Reads the file once, or what is loaded of it in memory, and compares it: DataLoss unless
// checksums are right and, since who wrote them may have lied, every embedding is finite and
// padded with zeros, every record whole, and the items are those of shard `shard` of
// `shard_count`, in order, each once.  Takes a MiB or two of each section.
absl::Status VerifyVectors(const VectorsFile& file, const LoadedVectors& loaded, int shard,
                           int shard_count, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_VECTORS_FILE_H_
