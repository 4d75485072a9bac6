// Writing one shard whose items are too many to be held at once.
#ifndef SIGHTLINE_COMMON_BUNDLE_SHARD_SOURCE_H_
#define SIGHTLINE_COMMON_BUNDLE_SHARD_SOURCE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/dtype.h"
#include "common/bundle/item_features.h"
#include "common/bundle/item_record.h"
#include "common/bundle/vector_dtype.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// The items of one shard, in the bytewise order of their ids.  They are read from the
// first to the last, several times over, since a file holds one column after another; an
// item must be the same each time.  What a function gives lives until it is called again.
class ShardSource {
 public:
  virtual ~ShardSource() = default;

  virtual int64_t size() const = 0;

  // Of item `i`, 0 <= i < size().  An error ends the writing and is passed on.
  virtual absl::StatusOr<const ItemRecord*> Record(int64_t i) = 0;
  virtual absl::StatusOr<absl::Span<const float>> Embedding(int64_t i) = 0;
  // What the `reranker`-th of the cross-encoders that the shard is written for needs of it.
  // Read twice or more.
  virtual absl::StatusOr<const ItemFeatures*> Features(int64_t i, int reranker) = 0;

  // Digest of all that item `i` was made from (kContentHashBytes, item_record.h), by which
  // a later run knows that it need not make it again.  Empty for all items: the file has
  // no such column.
  virtual absl::string_view ContentHash(int64_t i) {
    static_cast<void>(i);
    return "";
  }
};

// WriteShard of shard_writer.h for a source: the same files, the same errors, and
// InvalidArgument for items that are out of order.  Holds a MiB of each file and twelve
// bytes an item.  Embeddings are checked while they are written; when one is bad, or
// writing fails, no file of that name appears.
absl::StatusOr<bundle::v1::ShardManifest> WriteShardFrom(absl::string_view directory, int shard,
                                                         int shard_count, int dimension,
                                                         absl::Span<const std::string> rerankers,
                                                         ShardSource& source,
                                                         Dtype vector_dtype = kDefaultVectorDtype);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_SHARD_SOURCE_H_
