#include "loadtest/synthesize/synthetic_vectors.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "loadtest/synthesize/counter_random.h"

namespace sightline {
namespace {

// Items that are made side by side, coordinate by coordinate: a constant, so that loops
// over them become vector instructions and no item is treated differently at an end.
constexpr int kLanes = 32;

// Each round pairs all coordinates at random and turns each pair by a random angle.  After
// log2(dimension) rounds a coordinate has reached all others; some more level them.
constexpr int kExtraRounds = 4;

constexpr int64_t kItemsPerCluster = 32;

// The factor that makes the squares of `law`, over the axes, add up to what a mean of length `mean`
// leaves of a length of one.
double ScaleOf(const RankLaw& law, int dimension, double mean) {
  double sum = 0;
  for (int axis = 0; axis < dimension; ++axis) sum += law.At(axis + 1) * law.At(axis + 1);
  return std::sqrt((1 - mean * mean) / sum);
}

double Product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

int64_t ClustersFor(int64_t items) {
  return std::max<int64_t>(1, items / kItemsPerCluster);
}

SyntheticVectors::SyntheticVectors(const VectorSpec& spec) : spec_(spec) {
  PlaceItems();
  PlaceQueries();
  DrawRotation();
}

// Of length one, and spread over the axes as queries are.
std::vector<double> SyntheticVectors::Direction(uint64_t number) const {
  const uint64_t key = StreamKey(spec_.seed, RandomUse::kMean, number);
  std::vector<double> direction(spec_.dimension);
  for (int axis = 0; axis < spec_.dimension; ++axis) {
    direction[axis] = spec_.shape.queries.At(axis + 1) *
                      NearlyNormal(RandomBits(key, static_cast<uint64_t>(axis)));
  }
  const double length = std::sqrt(Product(direction, direction));
  for (double& number_of_axis : direction) number_of_axis /= std::max(length, 1e-30);
  return direction;
}

void SyntheticVectors::PlaceItems() {
  const VectorShape& shape = spec_.shape;
  const double scale = ScaleOf(shape.items, spec_.dimension, shape.item_mean);
  const std::vector<double> direction = Direction(0);
  for (int axis = 0; axis < spec_.dimension; ++axis) {
    items_.push_back({static_cast<float>(shape.item_mean * direction[axis]),
                      static_cast<float>(scale * shape.items.At(axis + 1)), 0});
  }
}

void SyntheticVectors::PlaceQueries() {
  const VectorShape& shape = spec_.shape;
  const double scale = ScaleOf(shape.queries, spec_.dimension, shape.query_mean);
  const std::vector<double> items = Direction(0);
  std::vector<double> aside = Direction(1);  // at right angles to the items' mean
  const double along = Product(items, aside);
  for (int axis = 0; axis < spec_.dimension; ++axis) aside[axis] -= along * items[axis];
  const double length = std::max(std::sqrt(Product(aside, aside)), 1e-30);
  const double sine = std::sqrt(1 - shape.mean_cosine * shape.mean_cosine);
  for (int axis = 0; axis < spec_.dimension; ++axis) {
    const double mean = shape.mean_cosine * items[axis] + sine * aside[axis] / length;
    const double deviation = scale * shape.queries.At(axis + 1);
    const double shared = std::min(shape.shared.At(axis + 1), 1.0);
    queries_.push_back({static_cast<float>(shape.query_mean * mean),
                        static_cast<float>(deviation * shared),
                        static_cast<float>(deviation * std::sqrt(1 - shared * shared))});
  }
}

void SyntheticVectors::DrawRotation() {
  int rounds = kExtraRounds;
  while ((int64_t{1} << (rounds - kExtraRounds)) < spec_.dimension) ++rounds;
  const uint64_t key = StreamKey(spec_.seed, RandomUse::kRotation, 0);
  uint64_t drawn = 0;
  std::vector<int> order(spec_.dimension);
  std::iota(order.begin(), order.end(), 0);
  for (int round = 0; round < rounds; ++round) {
    for (int i = spec_.dimension - 1; i > 0; --i) {
      std::swap(order[i], order[RandomBits(key, drawn++) % static_cast<uint64_t>(i + 1)]);
    }
    for (int i = 0; i + 1 < spec_.dimension; i += 2) {
      const double angle = 2 * M_PI * Even(RandomBits(key, drawn++));
      rotation_.push_back({order[i], order[i + 1], static_cast<float>(std::cos(angle)),
                           static_cast<float>(std::sin(angle))});
    }
  }
}

int64_t SyntheticVectors::ClusterOf(uint32_t item) const {
  const double drawn = Even(RandomBits(StreamKey(spec_.seed, RandomUse::kCluster, item), 0));
  // Squared, it lies below x with probability sqrt(x).
  return static_cast<int64_t>(drawn * drawn * static_cast<double>(spec_.clusters));
}

// Drawn for each cluster, so that a group has large and small ones.
int64_t SyntheticVectors::GroupOf(int64_t cluster) const {
  const int64_t groups = std::max<int64_t>(1, spec_.clusters / kClustersInGroup);
  const uint64_t key = StreamKey(spec_.seed, RandomUse::kGroup, static_cast<uint64_t>(cluster));
  return static_cast<int64_t>(RandomBits(key, 0) % static_cast<uint64_t>(groups));
}

double SyntheticVectors::OwnShareOf(int64_t cluster) const {
  if (spec_.clusters == 1) return 1;
  const uint64_t key =
      StreamKey(spec_.seed, RandomUse::kClusterSpread, static_cast<uint64_t>(cluster));
  return spec_.shape.own_share * Even(RandomBits(key, 0));
}

double SyntheticVectors::EffectiveDimension() const {
  double sum = 0, squares = 0;
  for (const Placement& axis : items_) {
    const double variance = static_cast<double>(axis.scale) * axis.scale;
    sum += variance;
    squares += variance * variance;
  }
  return sum * sum / squares;
}

// z of kLanes items.
void SyntheticVectors::FillLanes(const uint32_t* items, float* lanes) const {
  uint64_t own[kLanes], cluster[kLanes], group[kLanes];
  float own_scale[kLanes], cluster_scale[kLanes], group_scale[kLanes];
  for (int j = 0; j < kLanes; ++j) {
    const int64_t of = ClusterOf(items[j]);
    own[j] = StreamKey(spec_.seed, RandomUse::kItem, items[j]);
    cluster[j] = StreamKey(spec_.seed, RandomUse::kClusterCenter, static_cast<uint64_t>(of));
    group[j] = StreamKey(spec_.seed, RandomUse::kGroupCenter, static_cast<uint64_t>(GroupOf(of)));
    const double share = OwnShareOf(of);
    own_scale[j] = static_cast<float>(std::sqrt(share));
    cluster_scale[j] = static_cast<float>(std::sqrt((1 - share) * (1 - spec_.shape.group_share)));
    group_scale[j] = static_cast<float>(std::sqrt((1 - share) * spec_.shape.group_share));
  }
  for (int axis = 0; axis < spec_.dimension; ++axis) {
    float* const out = lanes + static_cast<int64_t>(axis) * kLanes;
    for (int j = 0; j < kLanes; ++j) {
      out[j] = own_scale[j] * NearlyNormal(RandomBits(own[j], axis));
    }
    if (spec_.clusters == 1) continue;
    for (int j = 0; j < kLanes; ++j) {
      out[j] += cluster_scale[j] * NearlyNormal(RandomBits(cluster[j], axis));
    }
    for (int j = 0; j < kLanes; ++j) {
      out[j] += group_scale[j] * NearlyNormal(RandomBits(group[j], axis));
    }
  }
}

void SyntheticVectors::Place(const std::vector<Placement>& placements, const uint32_t* items,
                             float* lanes) const {
  uint64_t noise[kLanes];
  for (int j = 0; j < kLanes; ++j) noise[j] = StreamKey(spec_.seed, RandomUse::kQuery, items[j]);
  for (int axis = 0; axis < spec_.dimension; ++axis) {
    float* const out = lanes + static_cast<int64_t>(axis) * kLanes;
    const Placement& placement = placements[axis];
    for (int j = 0; j < kLanes; ++j) out[j] = placement.mean + placement.scale * out[j];
    if (placement.noise == 0) continue;
    for (int j = 0; j < kLanes; ++j) {
      out[j] += placement.noise * NearlyNormal(RandomBits(noise[j], axis));
    }
  }
}

void SyntheticVectors::Rotate(float* lanes) const {
  for (const Turn& turn : rotation_) {
    float* const a = lanes + static_cast<int64_t>(turn.first) * kLanes;
    float* const b = lanes + static_cast<int64_t>(turn.second) * kLanes;
    for (int j = 0; j < kLanes; ++j) {
      const float x = a[j], y = b[j];
      a[j] = turn.cosine * x - turn.sine * y;
      b[j] = turn.sine * x + turn.cosine * y;
    }
  }
}

void SyntheticVectors::Fill(absl::Span<const uint32_t> items, float* rows) const {
  FillRows(items, items_, rows);
}

void SyntheticVectors::FillQueries(absl::Span<const uint32_t> items, float* rows) const {
  FillRows(items, queries_, rows);
}

void SyntheticVectors::FillRows(absl::Span<const uint32_t> items,
                                const std::vector<Placement>& placements, float* rows) const {
  const int dimension = spec_.dimension;
  std::vector<float> lanes(static_cast<size_t>(dimension) * kLanes);
  for (size_t first = 0; first < items.size(); first += kLanes) {
    const int count = static_cast<int>(std::min<size_t>(kLanes, items.size() - first));
    uint32_t numbers[kLanes];
    for (int j = 0; j < kLanes; ++j) numbers[j] = items[first + std::min(j, count - 1)];
    FillLanes(numbers, lanes.data());
    Place(placements, numbers, lanes.data());
    Rotate(lanes.data());
    double squares[kLanes] = {};
    for (int axis = 0; axis < dimension; ++axis) {
      for (int j = 0; j < kLanes; ++j) {
        const double value = lanes[static_cast<size_t>(axis) * kLanes + j];
        squares[j] += value * value;
      }
    }
    for (int j = 0; j < count; ++j) {
      float* const row = rows + static_cast<int64_t>(first + j) * dimension;
      // Zero is possible for one dimension only, and even there once in 2^48 items.
      const double scale = squares[j] > 0 ? 1 / std::sqrt(squares[j]) : 0;
      for (int axis = 0; axis < dimension; ++axis) {
        row[axis] = static_cast<float>(lanes[static_cast<size_t>(axis) * kLanes + j] * scale);
      }
    }
  }
}

}  // namespace sightline
