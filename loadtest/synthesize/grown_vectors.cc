#include "loadtest/synthesize/grown_vectors.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/embedding/embedding_matrix.h"
#include "loadtest/synthesize/counter_random.h"

namespace sightline {
namespace {

constexpr int kOthers = 64;  // J of the header

}  // namespace

GrownVectors::GrownVectors(std::shared_ptr<const PairedEmbeddings> pairs, uint64_t seed,
                           double own_share)
    : pairs_(std::move(pairs)), seed_(seed), own_share_(own_share) {
  const EmbeddingMatrix& pictures = pairs_->items;
  std::vector<double> mean(pictures.dimension());
  for (int64_t i = 0; i < pictures.rows(); ++i) {
    for (int k = 0; k < pictures.dimension(); ++k) mean[k] += pictures.row(i)[k];
  }
  for (const double sum : mean) {
    mean_.push_back(static_cast<float>(sum / static_cast<double>(pictures.rows())));
  }
}

int64_t GrownVectors::ClusterOf(uint32_t item) const {
  const uint64_t bits = RandomBits(StreamKey(seed_, RandomUse::kCluster, item), 0);
  return static_cast<int64_t>(bits % static_cast<uint64_t>(clusters()));
}

void GrownVectors::AddDeviation(int64_t picture, float factor, float* row) const {
  const float* const embedding = pairs_->items.row(picture).data();
  for (int k = 0; k < dimension(); ++k) row[k] += factor * (embedding[k] - mean_[k]);
}

void GrownVectors::Grow(uint32_t item, float* row) const {
  const int64_t picture = pairs_->about[ClusterOf(item)];
  const uint64_t spread =
      StreamKey(seed_, RandomUse::kClusterSpread, static_cast<uint64_t>(picture));
  const double own = own_share_ * Even(RandomBits(spread, 0));
  std::copy(mean_.begin(), mean_.end(), row);
  AddDeviation(picture, static_cast<float>(std::sqrt(1 - own)), row);
  const uint64_t key = StreamKey(seed_, RandomUse::kItem, item);
  const auto factor = static_cast<float>(std::sqrt(own / kOthers));
  for (uint64_t j = 0; j < kOthers; ++j) {
    const uint64_t other = RandomBits(key, 2 * j) % static_cast<uint64_t>(pairs_->items.rows());
    AddDeviation(static_cast<int64_t>(other), factor * NearlyNormal(RandomBits(key, 2 * j + 1)),
                 row);
  }
}

void GrownVectors::Fill(absl::Span<const uint32_t> items, float* rows) const {
  for (const uint32_t item : items) {
    Grow(item, rows);
    double squares = 0;
    for (int k = 0; k < dimension(); ++k) squares += static_cast<double>(rows[k]) * rows[k];
    const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
    for (int k = 0; k < dimension(); ++k) *rows++ *= static_cast<float>(scale);
  }
}

void GrownVectors::FillQueries(absl::Span<const uint32_t> items, float* rows) const {
  for (const uint32_t item : items) {
    const absl::Span<const float> query = pairs_->queries.row(ClusterOf(item));
    rows = std::copy(query.begin(), query.end(), rows);
  }
}

// The sum of squared variances along the axes is that of all squared covariances.
double GrownVectors::EffectiveDimension() const {
  const EmbeddingMatrix& pictures = pairs_->items;
  const int n = dimension();
  std::vector<double> moments(static_cast<size_t>(n) * n);
  for (int64_t i = 0; i < pictures.rows(); ++i) {
    const absl::Span<const float> row = pictures.row(i);
    for (int a = 0; a < n; ++a) {
      const double factor = row[a] - mean_[a];
      for (int b = 0; b < n; ++b) {
        moments[static_cast<size_t>(a) * n + b] += factor * (row[b] - mean_[b]);
      }
    }
  }
  double sum = 0, squares = 0;
  for (int a = 0; a < n; ++a) sum += moments[static_cast<size_t>(a) * n + a];
  for (const double moment : moments) squares += moment * moment;
  return squares > 0 ? sum * sum / squares : 0;
}

}  // namespace sightline
