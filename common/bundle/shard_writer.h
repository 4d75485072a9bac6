// Writing one shard of a generation.
#ifndef SIGHTLINE_COMMON_BUNDLE_SHARD_WRITER_H_
#define SIGHTLINE_COMMON_BUNDLE_SHARD_WRITER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/dtype.h"
#include "common/bundle/item_features.h"
#include "common/bundle/item_record.h"
#include "common/bundle/vector_dtype.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// One item on its way to disk.
struct EncodedItem {
  ItemRecord record;
  std::vector<float> embedding;
  std::vector<ItemFeatures> features;  // of each cross-encoder
};

// Writes one shard's two files below `directory`, the generation's folder, and returns
// what the manifest says of them: shards/00000-of-00002.vectors and, unless there are no
// `rerankers` (cross-encoders' hashes, each once), shards/00000-of-00002.features.  `items`
// are sorted by id here; equal input gives equal bytes, in whatever order they come.
// Embeddings are stored as `vector_dtype` (vector_dtype.h), rounded to the nearest.
//
// InvalidArgument, naming the item: duplicate ids, an item of another shard, a dimension
// that differs, a number that is not finite or beyond what `vector_dtype` holds, a text that is too
// long or not UTF-8, features of more or fewer rerankers, features whose tensors differ in name,
// dtype or columns from item to item or do not have the bytes that they claim.
absl::StatusOr<bundle::v1::ShardManifest> WriteShard(absl::string_view directory, int shard,
                                                     int shard_count, int dimension,
                                                     absl::Span<const std::string> rerankers,
                                                     std::vector<EncodedItem> items,
                                                     Dtype vector_dtype = kDefaultVectorDtype);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_SHARD_WRITER_H_
