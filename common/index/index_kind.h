// What a kind of index is to those who build, hold and search one.
//
// A kind is a file of this folder that defines its constant, and a line of index_kinds.cc:
//
//   extern const IndexKind kFlatIndexKind = {"flat", &Footprint, /*build=*/nullptr, &Open};
#ifndef SIGHTLINE_COMMON_INDEX_INDEX_KIND_H_
#define SIGHTLINE_COMMON_INDEX_INDEX_KIND_H_

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

// Its functions are called by any number of threads.
struct IndexKind {
  const char* name;  // that an IndexSpec has; lower-case

  // Bytes that a shard takes in memory while it is served, its vectors included; INT64_MAX
  // where a manifest's lies add up to more.
  int64_t (*footprint)(const bundle::v1::ShardManifest& shard);

  // Writes what is read beside the vectors of `manifest`, which are written, below `directory`,
  // the generation's folder, and describes it in each shard's index_files.  Replaces what a run
  // that was killed has left.  CANCELLED or DEADLINE_EXCEEDED if `call` is over.  Null: there is
  // nothing beside the vectors.
  absl::Status (*build)(absl::string_view directory, ComputePool* pool, const CallContext& call,
                        bundle::v1::GenerationManifest* manifest);

  // The index of shard `shard` of `manifest`, whose index_spec may have parameters, over the
  // shard's vectors, which lie in memory; they and `pool` outlive it, the other arguments need
  // not.  Of index_files the lengths were compared, and not always the content: DataLoss, with
  // a reason (CHECKSUM_MISMATCH, CONTENT_INVALID), if they are not what was built.
  absl::StatusOr<std::unique_ptr<VectorIndex>> (*open)(
      absl::string_view directory, const bundle::v1::GenerationManifest& manifest, int shard,
      const VectorView& vectors, ComputePool* pool, const CallContext& call);
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_INDEX_KIND_H_
