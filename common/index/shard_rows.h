// The stored rows of a shard, as an index is built over them: in memory where they have room,
// else on the disk.
#ifndef SIGHTLINE_COMMON_INDEX_SHARD_ROWS_H_
#define SIGHTLINE_COMMON_INDEX_SHARD_ROWS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/bundle/container.h"
#include "common/bundle/rows_on_disk.h"
#include "common/bundle/vectors_file.h"
#include "common/index/vector_index.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

enum class RowPlace { kMemory, kDisk };

// Bytes that a row takes, in memory or in its file, padding included.
int64_t RowBytes(const bundle::v1::GenerationManifest& manifest);

// Bytes that the rows of shard `shard` take, in memory or in their file; INT64_MAX where a
// manifest's lies add up to more.
int64_t RowBytes(const bundle::v1::GenerationManifest& manifest, int shard);
// What a server has of them in memory, with the rows where the index was built for: all, or a
// checksum of each where they stay on the disk.
int64_t RowBytesInMemory(const bundle::v1::GenerationManifest& manifest, int shard);

// Immutable, thread-safe.
class ShardRows {
 public:
  // Of shard `shard` of `manifest`, whose files lie below `directory`.  Rows are read and compared
  // with their checksums here, those that stay on the disk again whenever they are read.  Errors as
  // VectorsFile::Open, Container::Load and RowsOnDisk::Load.
  static absl::StatusOr<std::unique_ptr<ShardRows>> Open(
      absl::string_view directory, const bundle::v1::GenerationManifest& manifest, int shard,
      RowPlace place, const CallContext& call);

  // Lives as long as this does.
  VectorView view() const;

 private:
  ShardRows() = default;

  std::unique_ptr<VectorsFile> file_;
  SectionBytes bytes_;                  // of rows in memory
  std::unique_ptr<RowsOnDisk> reader_;  // of rows on a disk
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_SHARD_ROWS_H_
