// Recall as a server measures it before it serves: the share of the true neighbors of some
// queries that its index finds.
#ifndef SIGHTLINE_COMMON_INDEX_RECALL_PROBES_H_
#define SIGHTLINE_COMMON_INDEX_RECALL_PROBES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/bundle/probe_file.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/vector_index.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

struct RecallProbeOptions {
  int neighbor_count = 10;
  double floor = 0.99;
  // Rows of a shard that are in memory at once, which may be less than a shard.  More would
  // make nothing faster, as these fit into a cache.
  int64_t bytes_at_once = int64_t{4} << 20;
};

// Searches every shard of `manifest`, whose vectors are written, for the neighbors of
// `queries`, exactly, and writes its probes file below `directory`, the generation's folder.
// Fills recall_probe and the shards' probes in.  With no queries or no items nothing is
// written and nothing will be measured.  `pool` computes.
absl::Status AddRecallProbes(absl::string_view directory, const EmbeddingMatrix& queries,
                             const RecallProbeOptions& options, ComputePool* pool,
                             const CallContext& call, bundle::v1::GenerationManifest* manifest);

// The share of the true neighbors that `index` finds among as many, 0 to 1; 1 when there are
// none to find.  `pool` computes; null: the index's own.  Errors as VectorIndex::Search.
absl::StatusOr<double> MeasureRecall(const VectorIndex& index, const Probes& probes,
                                     ComputePool* pool, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_RECALL_PROBES_H_
