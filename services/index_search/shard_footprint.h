// What a shard takes in memory: as it is told before it is loaded, and as it is then.
#ifndef SIGHTLINE_SERVICES_INDEX_SEARCH_SHARD_FOOTPRINT_H_
#define SIGHTLINE_SERVICES_INDEX_SEARCH_SHARD_FOOTPRINT_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "common/bundle/shard_vectors.h"
#include "common/index/index_kind.h"
#include "services/index_search/searchable_shard.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// In bytes.  What a manifest's lies would add up to is INT64_MAX.
struct ShardFootprint {
  int64_t rows = 0;      // embeddings in memory, or the checksums of those on the disk
  int64_t records = 0;   // ids, captions, uris and tags, and where they begin
  int64_t postings = 0;  // of tags
  int64_t index = 0;     // what the kind of index keeps beside the rows
  int64_t device = 0;    // of a device's memory

  int64_t total() const;  // of the machine's
};

// Where a shard's parts are.
struct ShardPlace {
  EmbeddingPlace rows = EmbeddingPlace::kMemory;
  bool on_device = false;  // the index, whose kind has such a form then
};

// Of shard `shard` of `manifest`, whose files lie below `directory`.  What it says of rows and
// index is as much as they take.  Of records it knows what the file has beside the embeddings, a
// little more than is loaded.  Postings take no more than is told, which follows from the length of
// the file's section of tags; where there is no file yet to look at, they are told as all texts
// once more, which mostly is too much.
ShardFootprint FootprintOf(const IndexKind& kind, absl::string_view directory,
                           const bundle::v1::GenerationManifest& manifest, int shard,
                           const ShardPlace& place);

ShardFootprint TakenBy(const SearchableShard& shard);

// Sums of lies stay lies, and do not wrap.  None is negative.
int64_t AddBytes(int64_t a, int64_t b);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_INDEX_SEARCH_SHARD_FOOTPRINT_H_
