#include "loadtest/synthesize/shape_fit.h"

#include <cmath>
#include <vector>

#include "common/base/compute_pool.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("a law is found again in its values") {
  RankLaw law;
  law.head = 0.3;
  law.exponents = {0.25, 0.75, 1.5};
  std::vector<double> values;
  for (int rank = 1; rank <= 256; ++rank) values.push_back(law.At(rank));
  values.back() = 0;  // the last dimension of embeddings that have fewer
  values[255 - 4] /= 10;
  const RankLaw fitted = FitRankLaw(values);
  REQUIRE(fitted.head == Approx(0.3).margin(0.001));
  for (int i = 0; i < 3; ++i) {
    REQUIRE(fitted.exponents[i] == Approx(law.exponents[i]).margin(0.002));
  }
}

TEST_CASE("of few ranks the stretches that they reach are told") {
  const RankLaw fitted = FitRankLaw({1, 0.5, 1.0 / 3, 0.25});
  REQUIRE(fitted.exponents[0] == Approx(1).margin(0.002));
  REQUIRE(fitted.exponents[1] == 0);
  REQUIRE(fitted.exponents[2] == 0);
}

EmbeddingMeasures Sizes(int64_t items, int dimension) {
  EmbeddingMeasures sizes;
  sizes.items = sizes.queries = items;
  sizes.dimension = dimension;
  return sizes;
}

TEST_CASE("measures are those of the embeddings") {
  ComputePool pool(1);
  VectorShape shape = PowerShape(0.2, 0.6);
  shape.item_mean = 0.3;
  shape.query_mean = 0.5;
  shape.mean_cosine = 0.4;
  const PairedEmbeddings drawn = DrawLike(Sizes(4000, 64), shape, &pool);
  const auto measures = MeasureEmbeddings(drawn, &pool, CallContext::Unbounded());
  REQUIRE(measures.ok());
  REQUIRE(measures->items == 4000);
  REQUIRE(measures->dimension == 64);
  REQUIRE(measures->query_mean == Approx(0.5).margin(0.02));
  REQUIRE(measures->mean_cosine == Approx(0.4).margin(0.1));
  double variance = measures->item_mean * measures->item_mean;
  for (const double deviation : measures->item_deviations) variance += deviation * deviation;
  REQUIRE(variance == Approx(1).epsilon(1e-4));
  REQUIRE(std::is_sorted(measures->item_deviations.rbegin(), measures->item_deviations.rend()));
  double correlation = 0;  // of one axis it tells little, since there are few clusters
  for (int rank = 8; rank < 56; ++rank) correlation += measures->correlations[rank] / 48;
  REQUIRE(correlation == Approx(0.6).margin(0.05));
  const double rest = std::sqrt((1 - 0.09) * (1 - 0.25));
  REQUIRE(measures->own_cosine == Approx(0.3 * 0.5 * 0.4 + 0.6 * rest).margin(0.03));
  // Without an own share, items lie as near to each other as two of a cluster.
  REQUIRE(measures->item_neighbors.first > measures->item_neighbors.tenth);
  REQUIRE(measures->item_neighbors.tenth > measures->item_neighbors.hundredth);
  REQUIRE(measures->query_neighbors.first > measures->query_neighbors.hundredth);
}

TEST_CASE("neighbors are those of all items, a row itself left out") {
  // 300 unit vectors of two dimensions, a third of a degree apart.
  EmbeddingMatrix items(300, 2);
  for (int i = 0; i < 300; ++i) {
    const double angle = i * M_PI / 540;
    items.mutable_row(i)[0] = static_cast<float>(std::cos(angle));
    items.mutable_row(i)[1] = static_cast<float>(std::sin(angle));
  }
  EmbeddingMatrix query(1, 2);
  query.mutable_row(0)[0] = 1;  // the first of the items
  ComputePool pool(1);
  const CallContext call = CallContext::Unbounded();
  const auto found = MeasureNeighbors(items, query, /*themselves=*/false, &pool, call);
  REQUIRE(found->first == Approx(1).epsilon(1e-6));
  REQUIRE(found->tenth == Approx(std::cos(9 * M_PI / 540)).epsilon(1e-6));
  REQUIRE(found->hundredth == Approx(std::cos(99 * M_PI / 540)).epsilon(1e-6));
  const auto others = MeasureNeighbors(items, items, /*themselves=*/true, &pool, call);
  REQUIRE(others->first == Approx(std::cos(M_PI / 540)).epsilon(1e-6));
}

TEST_CASE("a shape is found again in what was drawn by it") {
  ComputePool pool(1);
  VectorShape shape = PowerShape(0.3, 0.7);
  shape.item_mean = 0.3;
  shape.query_mean = 0.4;
  shape.mean_cosine = 0.5;
  shape.own_share = 0.6;
  shape.group_share = 0.3;
  const CallContext call = CallContext::Unbounded();
  const auto measures = MeasureEmbeddings(DrawLike(Sizes(800, 24), shape, &pool), &pool, call);
  REQUIRE(measures.ok());
  const auto fitted = FitShape(*measures, &pool, call);
  REQUIRE(fitted.ok());
  REQUIRE(fitted->query_mean == Approx(measures->query_mean).margin(0.001));
  const auto again = MeasureEmbeddings(DrawLike(*measures, *fitted, &pool), &pool, call);
  REQUIRE(again->own_cosine == Approx(measures->own_cosine).margin(0.04));
  REQUIRE(again->item_neighbors.first == Approx(measures->item_neighbors.first).margin(0.03));
  REQUIRE(again->item_neighbors.tenth == Approx(measures->item_neighbors.tenth).margin(0.03));
  REQUIRE(again->query_neighbors.tenth == Approx(measures->query_neighbors.tenth).margin(0.05));
}

TEST_CASE("too few embeddings are refused, and a call that is over stops the fit") {
  ComputePool pool(1);
  const PairedEmbeddings few = DrawLike(Sizes(50, 8), PowerShape(0, 1), &pool);
  REQUIRE(
      absl::IsInvalidArgument(MeasureEmbeddings(few, &pool, CallContext::Unbounded()).status()));
  const auto cancellation = std::make_shared<Cancellation>();
  cancellation->Cancel();
  const CallContext call(Clock::Real(), absl::InfiniteFuture(), cancellation);
  EmbeddingMeasures measures = Sizes(300, 8);
  measures.item_deviations = measures.query_deviations = measures.correlations =
      std::vector<double>(8, 0.5);
  REQUIRE(absl::IsCancelled(FitShape(measures, &pool, call).status()));
}

}  // namespace
}  // namespace sightline
