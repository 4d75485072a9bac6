// Recall as a builder measures it, and a server before it serves: the share of the true neighbors
// of some queries that an index finds.
#ifndef SIGHTLINE_COMMON_INDEX_RECALL_PROBES_H_
#define SIGHTLINE_COMMON_INDEX_RECALL_PROBES_H_

#include <cstdint>
#include <vector>

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

// Queries of a generation whose index is exact, and so should find all, and of one whose index
// is not, whose recall is to be known to a hundredth.
inline constexpr int kExactProbeQueries = 64;
inline constexpr int kApproximateProbeQueries = 512;

struct RecallProbeOptions {
  int neighbor_count = 10;
  double floor = 0.99;
  // Rows of a shard that are in memory at once, which may be less than a shard.  More would
  // make nothing faster, as these fit into a cache.
  int64_t bytes_at_once = int64_t{4} << 20;
};

// What the kind that `manifest` names is probed with: an exact one for ten neighbors, held to
// `exact_floor`; another for a hundred, so that its recall among ten and among a hundred can be
// told, and its floor is left to BuildIndexes (index_builder.h), which knows what it finds.
// FailedPrecondition for a kind that there is none of.
struct ProbePlan {
  int query_count = 0;
  RecallProbeOptions options;
};
absl::StatusOr<ProbePlan> PlanProbes(const bundle::v1::GenerationManifest& manifest,
                                     double exact_floor);

// Searches every shard of `manifest`, whose vectors are written, for the neighbors of
// `queries`, exactly, and writes its probes file below `directory`, the generation's folder.
// Fills recall_probe and the shards' probes in.  With no queries or no items nothing is
// written and nothing will be measured.  `pool` computes.
absl::Status AddRecallProbes(absl::string_view directory, const EmbeddingMatrix& queries,
                             const RecallProbeOptions& options, ComputePool* pool,
                             const CallContext& call, bundle::v1::GenerationManifest* manifest);

// What a server searches with to compare a shard's recall with the floor, which a builder has set
// by the same search: ten neighbors, or as few as the probes have, at the effort of one that asks
// for no recall.
SearchOptions RecallSearch(const bundle::v1::GenerationManifest& manifest, int shard,
                           ComputePool* pool);

// The share of the `options.top_k` nearest, or of all where the probes have fewer, that `index`
// finds among as many, 0 to 1; 1 when there are none to find.  Errors as VectorIndex::Search.
absl::StatusOr<double> MeasureRecall(const VectorIndex& index, const Probes& probes,
                                     const SearchOptions& options, const CallContext& call);

// The same of each query.
absl::StatusOr<std::vector<double>> MeasureRecalls(const VectorIndex& index, const Probes& probes,
                                                   const SearchOptions& options,
                                                   const CallContext& call);

// What a shard has to find when it is served, if it found these shares when it was built: three
// standard errors of their mean below that, and 0.01 at least.  The measurement is of the same
// queries and the same effort, so that a sound index finds the same but for what CPUs round
// differently; an index that was damaged, or another one, is beyond chance below.
double RecallFloor(const std::vector<double>& recalls);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_RECALL_PROBES_H_
