#include "common/index/probe_queries.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "absl/types/optional.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/vectors_file.h"
#include "common/bundle/vectors_reader.h"

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
    std::unique_ptr<VectorsFile> file;
    absl::optional<VectorsReader> reader;
    for (; next < wanted && next * size / wanted < end; ++next) {
      if (file == nullptr) {
        ASSIGN_OR_RETURN(
            file, VectorsFile::Open(JoinPath(directory, shard.vectors().path()), shard, dimension));
        reader.emplace(*file);
      }
      RETURN_IF_ERROR(reader->Embedding(next * size / wanted - begin, queries.mutable_row(next)));
    }
    begin = end;
  }
  return queries;
}

}  // namespace sightline
