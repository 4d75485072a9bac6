// The kinds of index that there are, by the names that manifests of generations have for them.
#ifndef SIGHTLINE_COMMON_INDEX_INDEX_KINDS_H_
#define SIGHTLINE_COMMON_INDEX_INDEX_KINDS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/index/vector_index.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

struct IndexKind {
  const char* name;

  // Bytes that a shard takes in memory while it is served, its vectors included.
  int64_t (*footprint)(const bundle::v1::ShardManifest& shard);

  // Writes what is read beside the vectors of `manifest`, which are written, below `directory`,
  // the generation's folder, and describes it in the manifest.  Null: nothing is.
  absl::Status (*build)(absl::string_view directory, ComputePool* pool, const CallContext& call,
                        bundle::v1::GenerationManifest* manifest);

  // The index of a shard over its vectors, which lie in memory; they and `pool` outlive it.
  absl::StatusOr<std::unique_ptr<VectorIndex>> (*open)(absl::string_view directory,
                                                       const bundle::v1::ShardManifest& shard,
                                                       const VectorView& vectors,
                                                       ComputePool* pool);
};

// The kind that `manifest` asks for.  FailedPrecondition (UNKNOWN_INDEX_KIND), with those that
// there are, if this program has none of that name.
absl::StatusOr<const IndexKind*> IndexKindOf(const bundle::v1::GenerationManifest& manifest);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_INDEX_KINDS_H_
