#include "common/index/shard_rows.h"

#include <limits>

#include "absl/memory/memory.h"
#include "common/base/dtype.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/vector_dtype.h"

namespace sightline {
namespace {

// Rows in a container start at multiples of it.
constexpr int64_t kRowAlignment = 64;

}  // namespace

int64_t RowBytes(const bundle::v1::GenerationManifest& manifest) {
  const int64_t row =
      manifest.embedding().dimension() * static_cast<int64_t>(DtypeSize(VectorDtypeOf(manifest)));
  return (row + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
}

int64_t RowBytes(const bundle::v1::GenerationManifest& manifest, int shard) {
  int64_t bytes = 0;
  return __builtin_mul_overflow(manifest.shards(shard).item_count(), RowBytes(manifest), &bytes)
             ? std::numeric_limits<int64_t>::max()
             : bytes;
}

int64_t RowBytesInMemory(const bundle::v1::GenerationManifest& manifest, int shard) {
  return manifest.index_spec().rows_on_disk()
             ? RowsOnDisk::ByteCount(manifest.shards(shard).item_count())
             : RowBytes(manifest, shard);
}

absl::StatusOr<std::unique_ptr<ShardRows>> ShardRows::Open(
    absl::string_view directory, const bundle::v1::GenerationManifest& manifest, int shard,
    RowPlace place, const CallContext& call) {
  auto rows = absl::WrapUnique(new ShardRows);
  const bundle::v1::ShardManifest& described = manifest.shards(shard);
  ASSIGN_OR_RETURN(rows->file_, VectorsFile::Open(JoinPath(directory, described.vectors().path()),
                                                  described, manifest.embedding().dimension()));
  if (place == RowPlace::kDisk) {
    ASSIGN_OR_RETURN(rows->reader_, RowsOnDisk::Load(*rows->file_, call));
    return rows;
  }
  ASSIGN_OR_RETURN(rows->bytes_, rows->file_->container().Load(rows->file_->embeddings(), call));
  return rows;
}

VectorView ShardRows::view() const {
  VectorView view;
  view.rows = file_->size();
  view.dimension = file_->dimension();
  view.dtype = file_->dtype();
  view.stride = file_->stride();
  view.data = reader_ == nullptr && view.rows > 0 ? bytes_.data() : nullptr;
  view.reader = reader_.get();
  return view;
}

}  // namespace sightline
