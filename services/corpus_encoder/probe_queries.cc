#include "services/corpus_encoder/probe_queries.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/shard_vectors.h"

namespace sightline {

absl::StatusOr<EmbeddingMatrix> ProbeQueries(absl::string_view directory,
                                             const std::vector<bundle::v1::ShardManifest>& shards,
                                             int dimension, int count) {
  int64_t size = 0;
  for (const bundle::v1::ShardManifest& shard : shards) size += shard.item_count();
  const int64_t wanted = std::min<int64_t>(count, size);
  EmbeddingMatrix queries(wanted, dimension);
  int64_t next = 0, begin = 0;
  for (const bundle::v1::ShardManifest& shard : shards) {
    const int64_t end = begin + shard.item_count();
    std::unique_ptr<ShardVectors> vectors;
    for (; next < wanted && next * size / wanted < end; ++next) {
      if (vectors == nullptr) {
        ASSIGN_OR_RETURN(vectors, ShardVectors::Open(JoinPath(directory, shard.vectors().path()),
                                                     shard, dimension));
      }
      RETURN_IF_ERROR(
          vectors->ReadEmbedding(next * size / wanted - begin, queries.mutable_row(next)));
    }
    begin = end;
  }
  return queries;
}

}  // namespace sightline
