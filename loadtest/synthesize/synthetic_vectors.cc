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

double AxisDeviation(const VectorSpec& spec, int axis) {
  return std::pow(axis + 1, -spec.spectrum);
}

}  // namespace

SyntheticVectors::SyntheticVectors(const VectorSpec& spec) : spec_(spec) {
  const bool clustered = spec.clusters > 1;
  for (int axis = 0; axis < spec.dimension; ++axis) {
    const double deviation = AxisDeviation(spec, axis);
    const double own_share = clustered ? 1 - kClusterShare : 1;
    own_scale_.push_back(static_cast<float>(deviation * std::sqrt(own_share)));
    if (!clustered) continue;
    cluster_scale_.push_back(static_cast<float>(deviation * std::sqrt(kClusterShare)));
  }
  DrawRotation();
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
      const double angle =
          2 * M_PI * 0x1.0p-53 * static_cast<double>(RandomBits(key, drawn++) >> 11);
      rotation_.push_back({order[i], order[i + 1], static_cast<float>(std::cos(angle)),
                           static_cast<float>(std::sin(angle))});
    }
  }
}

int64_t SyntheticVectors::ClusterOf(uint32_t item) const {
  const uint64_t bits = RandomBits(StreamKey(spec_.seed, RandomUse::kCluster, item), 0);
  return static_cast<int64_t>(bits % static_cast<uint64_t>(spec_.clusters));
}

double SyntheticVectors::EffectiveDimension() const {
  double sum = 0, squares = 0;
  for (int axis = 0; axis < spec_.dimension; ++axis) {
    const double deviation = AxisDeviation(spec_, axis);
    const double variance = deviation * deviation;
    sum += variance;
    squares += variance * variance;
  }
  return sum * sum / squares;
}

void SyntheticVectors::FillLanes(const uint32_t* items, float* lanes) const {
  uint64_t own[kLanes], cluster[kLanes];
  for (int j = 0; j < kLanes; ++j) {
    own[j] = StreamKey(spec_.seed, RandomUse::kItem, items[j]);
    cluster[j] = StreamKey(spec_.seed, RandomUse::kClusterCenter,
                           static_cast<uint64_t>(ClusterOf(items[j])));
  }
  for (int axis = 0; axis < spec_.dimension; ++axis) {
    float* const out = lanes + static_cast<int64_t>(axis) * kLanes;
    for (int j = 0; j < kLanes; ++j) {
      out[j] = own_scale_[axis] * NearlyNormal(RandomBits(own[j], axis));
    }
    if (cluster_scale_.empty()) continue;
    for (int j = 0; j < kLanes; ++j) {
      out[j] += cluster_scale_[axis] * NearlyNormal(RandomBits(cluster[j], axis));
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
  const int dimension = spec_.dimension;
  std::vector<float> lanes(static_cast<size_t>(dimension) * kLanes);
  for (size_t first = 0; first < items.size(); first += kLanes) {
    const int count = static_cast<int>(std::min<size_t>(kLanes, items.size() - first));
    uint32_t numbers[kLanes];
    for (int j = 0; j < kLanes; ++j) numbers[j] = items[first + std::min(j, count - 1)];
    FillLanes(numbers, lanes.data());
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
