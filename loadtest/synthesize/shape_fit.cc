#include "loadtest/synthesize/shape_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/base/status_macros.h"
#include "loadtest/synthesize/synthetic_vectors.h"

namespace sightline {
namespace {

constexpr int64_t kGrain = 128;
constexpr double kMostCorrelation = 1;

// How far `rank` goes into each stretch of a law, in logarithms; the first is for the head.
std::array<double, 4> Stretches(double rank) {
  std::array<double, 4> stretches = {1, 0, 0, 0};
  double from = 1;
  for (int i = 0; i < 3; ++i) {
    const double to = i < 2 ? std::min(rank, RankLaw::kKnees[i]) : rank;
    if (to > from) stretches[i + 1] = -std::log(to / from);
    if (i < 2) from = RankLaw::kKnees[i];
  }
  return stretches;
}

// Solves `a` x = `b` by Gauss's elimination; what is not determined is 0.
std::array<double, 4> Solve(std::array<std::array<double, 4>, 4> a, std::array<double, 4> b) {
  constexpr double kNothing = 1e-9;
  for (int column = 0; column < 4; ++column) {
    int pivot = column;
    for (int row = column + 1; row < 4; ++row) {
      if (std::abs(a[row][column]) > std::abs(a[pivot][column])) pivot = row;
    }
    std::swap(a[column], a[pivot]);
    std::swap(b[column], b[pivot]);
    if (std::abs(a[column][column]) < kNothing) continue;
    for (int row = 0; row < 4; ++row) {
      if (row == column) continue;
      const double factor = a[row][column] / a[column][column];
      for (int k = 0; k < 4; ++k) a[row][k] -= factor * a[column][k];
      b[row] -= factor * b[column];
    }
  }
  std::array<double, 4> x = {};
  for (int i = 0; i < 4; ++i) x[i] = std::abs(a[i][i]) < kNothing ? 0 : b[i] / a[i][i];
  return x;
}

// Three digits behind the point are more than the fit is worth.
double Rounded(double value) {
  return std::round(value * 1000) / 1000;
}

// Makes the mean cosine of queries and their items what was measured: of sums over the axes, that
// the correlations' head is a factor of.
void ScaleShared(const EmbeddingMeasures& measures, VectorShape* shape) {
  double squares_of_items = 0, squares_of_queries = 0, shared = 0;
  for (int rank = 1; rank <= measures.dimension; ++rank) {
    const double item = shape->items.At(rank), query = shape->queries.At(rank);
    squares_of_items += item * item;
    squares_of_queries += query * query;
    shared += item * query * shape->shared.At(rank);
  }
  const double item_rest = 1 - shape->item_mean * shape->item_mean;
  const double query_rest = 1 - shape->query_mean * shape->query_mean;
  const double own =
      shared * std::sqrt(item_rest / squares_of_items) * std::sqrt(query_rest / squares_of_queries);
  const double means = shape->item_mean * shape->query_mean * shape->mean_cosine;
  const double factor = std::max(measures.own_cosine - means, 0.01) / own;
  shape->shared.head = Rounded(std::min(shape->shared.head * factor, kMostCorrelation));
}

double Distance(const NeighborCosines& a, const NeighborCosines& b) {
  const double first = a.first - b.first, tenth = a.tenth - b.tenth;
  const double hundredth = a.hundredth - b.hundredth;
  return first * first + tenth * tenth + hundredth * hundredth;
}

// Chooses the shares that items have for themselves and with their group.
absl::Status FitShares(const EmbeddingMeasures& measures, ComputePool* pool,
                       const CallContext& call, VectorShape* shape) {
  EmbeddingMeasures few = measures;
  few.queries = 0;
  double least = HUGE_VAL;
  VectorShape best = *shape;
  for (const double step : {0.1, 0.025}) {
    const bool anew = step == 0.1;
    const VectorShape around = best;
    const int from = anew ? 0 : -3, to = anew ? 10 : 3;
    for (int own = from; own <= to; ++own) {
      for (int group = from; group <= to; ++group) {
        RETURN_IF_ERROR(call.Check("fitting a shape"));
        VectorShape tried = *shape;
        tried.own_share = (anew ? 0 : around.own_share) + own * step;
        tried.group_share = (anew ? 0 : around.group_share) + group * step;
        if (std::min(tried.own_share, tried.group_share) < 0) continue;
        if (std::max(tried.own_share, tried.group_share) > 1) continue;
        const EmbeddingMatrix items = DrawLike(few, tried, pool).items;
        ASSIGN_OR_RETURN(const NeighborCosines neighbors,
                         MeasureNeighbors(items, items, /*themselves=*/true, pool, call));
        const double distance = Distance(neighbors, measures.item_neighbors);
        if (distance >= least) continue;
        least = distance;
        best = tried;
      }
    }
  }
  shape->own_share = Rounded(best.own_share);
  shape->group_share = Rounded(best.group_share);
  return absl::OkStatus();
}

}  // namespace

RankLaw FitRankLaw(const std::vector<double>& values) {
  std::array<std::array<double, 4>, 4> a = {};
  std::array<double, 4> b = {};
  const size_t count = values.size() - values.size() / 16;
  for (size_t i = 0; i < count; ++i) {
    if (!(values[i] > 0)) continue;
    const double rank = static_cast<double>(i + 1), weight = 1 / rank;
    const std::array<double, 4> stretches = Stretches(rank);
    for (int j = 0; j < 4; ++j) {
      for (int k = 0; k < 4; ++k) a[j][k] += weight * stretches[j] * stretches[k];
      b[j] += weight * stretches[j] * std::log(values[i]);
    }
  }
  const std::array<double, 4> x = Solve(a, b);
  RankLaw law;
  law.head = Rounded(std::exp(x[0]));
  for (int i = 0; i < 3; ++i) law.exponents[i] = Rounded(std::min(std::max(x[i + 1], -1.0), 4.0));
  return law;
}

absl::StatusOr<VectorShape> FitShape(const EmbeddingMeasures& measures, ComputePool* pool,
                                     const CallContext& call) {
  VectorShape shape;
  shape.items = FitRankLaw(measures.item_deviations);
  shape.queries = FitRankLaw(measures.query_deviations);
  shape.shared = FitRankLaw(measures.correlations);
  shape.item_mean = Rounded(std::min(measures.item_mean, 0.99));
  shape.query_mean = Rounded(std::min(measures.query_mean, 0.99));
  shape.mean_cosine = Rounded(measures.mean_cosine);
  ScaleShared(measures, &shape);
  RETURN_IF_ERROR(FitShares(measures, pool, call, &shape));
  return shape;
}

PairedEmbeddings DrawLike(const EmbeddingMeasures& measures, const VectorShape& shape,
                          ComputePool* pool) {
  VectorSpec spec;
  spec.dimension = measures.dimension;
  spec.clusters = ClustersFor(measures.items);
  spec.shape = shape;
  const SyntheticVectors vectors(spec);
  const int64_t queries = std::min(measures.queries, measures.items);  // one about each item
  std::vector<uint32_t> numbers(measures.items);
  std::iota(numbers.begin(), numbers.end(), 0);
  const auto all = absl::MakeConstSpan(numbers);
  PairedEmbeddings drawn;
  drawn.items = EmbeddingMatrix(measures.items, measures.dimension);
  drawn.queries = EmbeddingMatrix(queries, measures.dimension);
  pool->ParallelFor(measures.items, kGrain, [&](int64_t begin, int64_t end) {
    vectors.Fill(all.subspan(begin, end - begin), drawn.items.mutable_row(begin).data());
  });
  for (int64_t i = 0; i < queries; ++i) drawn.about.push_back(i);
  vectors.FillQueries(all.subspan(0, queries), drawn.queries.mutable_data());
  return drawn;
}

}  // namespace sightline
