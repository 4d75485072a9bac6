// What an index is opened over.
#ifndef SIGHTLINE_COMMON_INDEX_SHARD_VIEW_H_
#define SIGHTLINE_COMMON_INDEX_SHARD_VIEW_H_

#include "common/bundle/shard_vectors.h"
#include "common/index/vector_index.h"

namespace sightline {

// The embeddings of `vectors`, which are loaded and outlive the view.
inline VectorView ViewOf(const ShardVectors& vectors) {
  return {vectors.data(),   vectors.size(),  vectors.dimension(),
          vectors.stride(), vectors.dtype(), vectors.rows_on_disk()};
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_SHARD_VIEW_H_
