#include "services/index_search/shard_footprint.h"

#include <algorithm>
#include <limits>

#include "absl/types/optional.h"
#include "common/base/files.h"
#include "common/bundle/rows_on_disk.h"
#include "common/bundle/tag_postings.h"
#include "common/bundle/vectors_file.h"
#include "common/index/shard_rows.h"

namespace sightline {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
// Of an item: where its id, caption, uri and tags begin.
constexpr int64_t kOffsetBytes = 4 * static_cast<int64_t>(sizeof(int64_t));

int64_t Times(int64_t count, int64_t bytes) {
  int64_t product = 0;
  return __builtin_mul_overflow(count, bytes, &product) ? kMost : product;
}

// What the tags of a shard take in its file; nothing where that cannot be looked at.
absl::optional<int64_t> StoredTagBytes(absl::string_view directory,
                                       const bundle::v1::ShardManifest& shard, int dimension) {
  const auto file =
      VectorsFile::Open(JoinPath(directory, shard.vectors().path()), shard, dimension);
  if (!file.ok()) return absl::nullopt;
  return (*file)->tags().bytes->length;
}

}  // namespace

int64_t AddBytes(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kMost : sum;
}

int64_t ShardFootprint::total() const {
  return AddBytes(AddBytes(rows, records), AddBytes(postings, index));
}

ShardFootprint FootprintOf(const IndexKind& kind, absl::string_view directory,
                           const bundle::v1::GenerationManifest& manifest, int shard,
                           const ShardPlace& place) {
  const bundle::v1::ShardManifest& described = manifest.shards(shard);
  const int64_t stored = RowBytes(manifest, shard);
  ShardFootprint told;
  told.rows = place.rows == EmbeddingPlace::kDisk
                  ? Times(described.item_count(), RowsOnDisk::ByteCount(1))
                  : stored;
  told.records = std::max<int64_t>(described.vectors().byte_count() - stored, 0);
  const auto tag_bytes = StoredTagBytes(directory, described, manifest.embedding().dimension());
  told.postings =
      tag_bytes.has_value()
          ? TagPostings::MostBytes(*tag_bytes)
          : std::max<int64_t>(told.records - Times(described.item_count(), kOffsetBytes), 0);
  if (place.on_device) {
    const ScanBytes bytes = kind.on_device->footprint(manifest, shard);
    told.index = bytes.host;
    told.device = bytes.device;
  } else {
    told.index = kind.footprint(manifest, shard);
  }
  return told;
}

ShardFootprint TakenBy(const SearchableShard& shard) {
  ShardFootprint taken;
  taken.rows = shard.vectors->row_bytes_in_memory();
  taken.records = shard.vectors->record_bytes_in_memory();
  taken.postings = shard.tags.byte_count();
  taken.index = shard.index->byte_count();
  taken.device = shard.device_bytes;
  return taken;
}

}  // namespace sightline
