#include "common/index/recall_probes.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/bundle/shard_vectors.h"

namespace sightline {
namespace {

absl::StatusOr<Probes> TrueNeighbors(const VectorView& view, const EmbeddingMatrix& queries,
                                     int neighbor_count, ComputePool* pool,
                                     const CallContext& call) {
  ASSIGN_OR_RETURN(const std::unique_ptr<VectorIndex> exact, OpenFlatIndex(view, pool));
  ASSIGN_OR_RETURN(const auto found, exact->Search(queries, {neighbor_count}, call));
  Probes probes;
  probes.queries = queries;
  for (const std::vector<Neighbor>& neighbors : found) {
    std::vector<int64_t>& rows = probes.neighbors.emplace_back();
    for (const Neighbor& neighbor : neighbors) rows.push_back(neighbor.row);
  }
  return probes;
}

}  // namespace

absl::Status AddRecallProbes(absl::string_view directory, const EmbeddingMatrix& queries,
                             const RecallProbeOptions& options, ComputePool* pool,
                             const CallContext& call, bundle::v1::GenerationManifest* manifest) {
  if (queries.rows() == 0 || manifest->item_count() == 0) return absl::OkStatus();
  const int shard_count = manifest->shards_size();
  for (int i = 0; i < shard_count; ++i) {
    bundle::v1::ShardManifest* const shard = manifest->mutable_shards(i);
    ASSIGN_OR_RETURN(const std::unique_ptr<ShardVectors> vectors,
                     ShardVectors::Open(JoinPath(directory, shard->vectors().path()), *shard,
                                        manifest->embedding().dimension()));
    const VectorView view{vectors->data(), vectors->size(), vectors->dimension(),
                          vectors->stride()};
    ASSIGN_OR_RETURN(const Probes probes,
                     TrueNeighbors(view, queries, options.neighbor_count, pool, call));
    ASSIGN_OR_RETURN(*shard->mutable_probes(),
                     WriteProbes(directory, ShardFileName(i, shard_count, "probes"), probes));
  }
  bundle::v1::RecallProbe* const probe = manifest->mutable_recall_probe();
  probe->set_query_count(static_cast<int>(queries.rows()));
  probe->set_neighbor_count(options.neighbor_count);
  probe->set_floor(options.floor);
  return absl::OkStatus();
}

absl::StatusOr<double> MeasureRecall(const VectorIndex& index, const Probes& probes,
                                     const CallContext& call) {
  int64_t wanted = 0;
  int64_t hits = 0;
  const size_t list = probes.neighbors.empty() ? 0 : probes.neighbors.front().size();
  if (list == 0) return 1.0;
  ASSIGN_OR_RETURN(const auto found, index.Search(probes.queries, {static_cast<int>(list)}, call));
  for (size_t i = 0; i < probes.neighbors.size(); ++i) {
    const std::vector<int64_t>& truth = probes.neighbors[i];
    wanted += static_cast<int64_t>(truth.size());
    hits += std::count_if(truth.begin(), truth.end(), [&](int64_t row) {
      return std::any_of(found[i].begin(), found[i].end(),
                         [row](const Neighbor& neighbor) { return neighbor.row == row; });
    });
  }
  return static_cast<double>(hits) / static_cast<double>(wanted);
}

}  // namespace sightline
