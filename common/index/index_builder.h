// Building what lies beside the vectors of a generation, and measuring what it is worth.
//
//   manifest.mutable_index_spec()->set_kind("ivf");                 // shards are written
//   ASSIGN_OR_RETURN(const IndexKind* kind, IndexKindOf(manifest));
//   RETURN_IF_ERROR(AddRecallProbes(directory, queries, ..., &manifest));
//   RETURN_IF_ERROR(BuildIndexes(directory, *kind, {}, &pool, call, &progress, &manifest));
//   RETURN_IF_ERROR(WriteGenerationManifest(store, manifest));
//   RETURN_IF_ERROR(RemoveIndexWork(directory));
#ifndef SIGHTLINE_COMMON_INDEX_INDEX_BUILDER_H_
#define SIGHTLINE_COMMON_INDEX_INDEX_BUILDER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/index/calibration.h"
#include "common/index/index_kind.h"
#include "common/index/shard_rows.h"
#include "common/log/progress.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

struct IndexBuildOptions {
  // Memory that building may take, rows included; 0: four fifths of what is usable.
  int64_t max_bytes = 0;
  EffortCalibrationOptions calibration;
};

// What a build will take, told before it starts.
struct IndexBuildPlan {
  RowPlace rows = RowPlace::kMemory;  // while it builds
  int shards_at_once = 1;
  int64_t bytes = 0;  // at most, by what the kind says
};

// InvalidArgument for parameters that `kind`, which `spec` names, does not take for rows of
// `dimension` numbers.
absl::Status CheckIndexSpec(const bundle::v1::IndexSpec& spec, int dimension,
                            const IndexKind& kind);

// Rows lie in memory where that is enough for the greatest shard, else on the disk if the kind can
// build from there; a kind that builds a shard on one thread has as many of `threads` at once as
// memory is for.  InvalidArgument for parameters of the manifest's index_spec that the kind does
// not take, ResourceExhausted, saying what to change, if memory is too small for one shard.
absl::StatusOr<IndexBuildPlan> PlanIndexBuild(const bundle::v1::GenerationManifest& manifest,
                                              const IndexKind& kind,
                                              const IndexBuildOptions& options, int threads);

// Builds what `kind`, which the index_spec of `manifest` names, has beside each shard's vectors,
// which are written below `directory`, the generation's folder, and fills index_files in; then
// measures the efforts of a kind that is not exact with the shards' probes, if there are any, and
// fills efforts in, and the floor of recall_probe.  Logs the plan first.  A kind that builds
// nothing: nothing is done.
//
// ResourceExhausted if the disk has no room for the indexes, told before the first is begun.
//
// What is done is kept below IndexWorkFolder(directory), and a build that was killed, or whose call
// has ended, goes on from there; files have the same bytes then.  Aborted while another process
// builds the same.  Its errors are those of
// PlanIndexBuild, of the kind, and of reading and writing files.  `progress` may be null.
absl::Status BuildIndexes(absl::string_view directory, const IndexKind& kind,
                          const IndexBuildOptions& options, ComputePool* pool,
                          const CallContext& call, Progress* progress,
                          bundle::v1::GenerationManifest* manifest);

// Where BuildIndexes keeps what it goes on from.
std::string IndexWorkFolder(absl::string_view directory);

// Removes that: once the manifest is written, which tells what was built.
absl::Status RemoveIndexWork(absl::string_view directory);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_INDEX_BUILDER_H_
