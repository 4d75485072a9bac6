#include "common/index/recall_probes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/bundle/vectors_file.h"
#include "common/bundle/vectors_reader.h"
#include "common/index/effort_curve.h"
#include "common/index/index_kinds.h"

namespace sightline {
namespace {

// By which a floor lies below what was found, however sure that is.
constexpr double kLeastMargin = 0.01;

// Takes the neighbors of one query in a stretch of rows that begins at `first_row` to those
// found before.  Rows come in order, so that earlier ones keep their place in a tie.
void Take(const std::vector<Neighbor>& found, int64_t first_row, int count,
          std::vector<Neighbor>* best) {
  const auto middle = static_cast<std::ptrdiff_t>(best->size());
  for (const Neighbor& neighbor : found) {
    best->push_back({first_row + neighbor.row, neighbor.score});
  }
  std::inplace_merge(best->begin(), best->begin() + middle, best->end(),
                     [](const Neighbor& a, const Neighbor& b) { return a.score > b.score; });
  best->resize(std::min(best->size(), static_cast<size_t>(count)));
}

absl::StatusOr<Probes> TrueNeighbors(const VectorsFile& vectors, const EmbeddingMatrix& queries,
                                     const RecallProbeOptions& options, ComputePool* pool,
                                     const CallContext& call) {
  const int dimension = vectors.dimension();
  const int64_t row_bytes = dimension * static_cast<int64_t>(sizeof(float));
  const int64_t stretch = std::max<int64_t>(options.bytes_at_once / row_bytes, 1);
  std::vector<std::vector<Neighbor>> best(queries.rows());
  VectorsReader reader(vectors);
  for (int64_t first = 0; first < vectors.size(); first += stretch) {
    EmbeddingMatrix rows(std::min(stretch, vectors.size() - first), dimension);
    for (int64_t i = 0; i < rows.rows(); ++i) {
      RETURN_IF_ERROR(reader.Embedding(first + i, rows.mutable_row(i)));
    }
    ASSIGN_OR_RETURN(
        const std::unique_ptr<VectorIndex> exact,
        OpenFlatIndex({rows.values().data(), rows.rows(), dimension, dimension}, pool));
    ASSIGN_OR_RETURN(const auto found, exact->Search(queries, {options.neighbor_count}, call));
    for (size_t i = 0; i < best.size(); ++i)
      Take(found[i], first, options.neighbor_count, &best[i]);
  }
  Probes probes;
  probes.queries = queries;
  for (const std::vector<Neighbor>& neighbors : best) {
    std::vector<int64_t>& rows = probes.neighbors.emplace_back();
    for (const Neighbor& neighbor : neighbors) rows.push_back(neighbor.row);
  }
  return probes;
}

double Mean(const std::vector<double>& recalls) {
  if (recalls.empty()) return 1;
  return std::accumulate(recalls.begin(), recalls.end(), 0.0) / static_cast<double>(recalls.size());
}

bool IsAmong(int64_t row, const std::vector<Neighbor>& found) {
  return std::any_of(found.begin(), found.end(),
                     [row](const Neighbor& neighbor) { return neighbor.row == row; });
}

}  // namespace

absl::StatusOr<ProbePlan> PlanProbes(const bundle::v1::GenerationManifest& manifest,
                                     double exact_floor) {
  ASSIGN_OR_RETURN(const IndexKind* kind, IndexKindOf(manifest));
  ProbePlan plan;
  if (kind->exact) {
    plan.query_count = kExactProbeQueries;
    plan.options.floor = exact_floor;
    return plan;
  }
  plan.query_count = kApproximateProbeQueries;
  plan.options.neighbor_count = limits::kMaxProbeNeighbors;
  plan.options.floor = 0;
  return plan;
}

absl::Status AddRecallProbes(absl::string_view directory, const EmbeddingMatrix& queries,
                             const RecallProbeOptions& options, ComputePool* pool,
                             const CallContext& call, bundle::v1::GenerationManifest* manifest) {
  if (queries.rows() == 0 || manifest->item_count() == 0) return absl::OkStatus();
  const int shard_count = manifest->shards_size();
  for (int i = 0; i < shard_count; ++i) {
    bundle::v1::ShardManifest* const shard = manifest->mutable_shards(i);
    ASSIGN_OR_RETURN(const std::unique_ptr<VectorsFile> vectors,
                     VectorsFile::Open(JoinPath(directory, shard->vectors().path()), *shard,
                                       manifest->embedding().dimension()));
    ASSIGN_OR_RETURN(const Probes probes, TrueNeighbors(*vectors, queries, options, pool, call));
    ASSIGN_OR_RETURN(*shard->mutable_probes(),
                     WriteProbes(directory, ShardFileName(i, shard_count, "probes"), probes));
  }
  bundle::v1::RecallProbe* const probe = manifest->mutable_recall_probe();
  probe->set_query_count(static_cast<int>(queries.rows()));
  probe->set_neighbor_count(options.neighbor_count);
  probe->set_floor(options.floor);
  return absl::OkStatus();
}

SearchOptions RecallSearch(const bundle::v1::GenerationManifest& manifest, int shard,
                           ComputePool* pool) {
  SearchOptions options;
  options.top_k = std::clamp(manifest.recall_probe().neighbor_count(), 1, kRecallAmong);
  options.pool = pool;
  options.effort =
      EffortCurve(manifest.shards(shard)).EffortFor(DefaultRecallOf(manifest), kRecallAmong);
  return options;
}

absl::StatusOr<double> MeasureRecall(const VectorIndex& index, const Probes& probes,
                                     const SearchOptions& options, const CallContext& call) {
  ASSIGN_OR_RETURN(const std::vector<double> recalls, MeasureRecalls(index, probes, options, call));
  return Mean(recalls);
}

absl::StatusOr<std::vector<double>> MeasureRecalls(const VectorIndex& index, const Probes& probes,
                                                   const SearchOptions& options,
                                                   const CallContext& call) {
  // All lists are equally long.
  const size_t list = probes.neighbors.empty() ? 0 : probes.neighbors.front().size();
  const size_t wanted = std::min(list, static_cast<size_t>(std::max(options.top_k, 0)));
  std::vector<double> recalls;
  if (wanted == 0) return recalls;
  SearchOptions as_many = options;
  as_many.top_k = static_cast<int>(wanted);
  ASSIGN_OR_RETURN(const auto found, index.Search(probes.queries, as_many, call));
  for (size_t i = 0; i < probes.neighbors.size(); ++i) {
    const auto begin = probes.neighbors[i].begin();
    const auto hits = std::count_if(begin, begin + static_cast<std::ptrdiff_t>(wanted),
                                    [&](int64_t row) { return IsAmong(row, found[i]); });
    recalls.push_back(static_cast<double>(hits) / static_cast<double>(wanted));
  }
  return recalls;
}

double RecallFloor(const std::vector<double>& recalls) {
  const double mean = Mean(recalls);
  double squares = 0;
  for (const double recall : recalls) squares += (recall - mean) * (recall - mean);
  const auto count = static_cast<double>(std::max<size_t>(recalls.size(), 2));
  const double standard_error = std::sqrt(squares / (count - 1) / count);
  return std::max(mean - std::max(3 * standard_error, kLeastMargin), 0.0);
}

}  // namespace sightline
