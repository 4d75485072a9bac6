#include "loadtest/synthesize/grown_vectors.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>
#include <vector>

#include "loadtest/synthesize/counter_random.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int kDimension = 8;
constexpr int kPictures = 40;
constexpr int kQueries = 60;

// Pictures around a mean, spread along the first axes the most; captions about them.
std::shared_ptr<PairedEmbeddings> Pairs() {
  auto pairs = std::make_shared<PairedEmbeddings>();
  pairs->items = EmbeddingMatrix(kPictures, kDimension);
  pairs->queries = EmbeddingMatrix(kQueries, kDimension);
  const auto fill = [](EmbeddingMatrix& rows, uint64_t seed) {
    for (int64_t i = 0; i < rows.rows(); ++i) {
      for (int k = 0; k < kDimension; ++k) {
        rows.mutable_row(i)[k] =
            0.5f + NearlyNormal(RandomBits(seed, i * kDimension + k)) / (1 + k);
      }
    }
    NormalizeRows(rows);
  };
  fill(pairs->items, 1);
  fill(pairs->queries, 2);
  for (int i = 0; i < kQueries; ++i) pairs->about.push_back(i * 7 % kPictures);
  return pairs;
}

std::vector<uint32_t> Numbers(uint32_t count) {
  std::vector<uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::vector<float> Filled(const ItemVectors& vectors, const std::vector<uint32_t>& items) {
  std::vector<float> rows(items.size() * kDimension);
  vectors.Fill(items, rows.data());
  return rows;
}

std::vector<double> MeanOfPictures(const PairedEmbeddings& pairs) {
  std::vector<double> mean(kDimension);
  for (int64_t i = 0; i < kPictures; ++i) {
    for (int k = 0; k < kDimension; ++k) mean[k] += pairs.items.row(i)[k] / kPictures;
  }
  return mean;
}

TEST_CASE("a vector has length one and the same bits, whatever else is asked for") {
  const GrownVectors vectors(Pairs(), 5, 0.5);
  const std::vector<float> all = Filled(vectors, Numbers(100));
  for (uint32_t item = 0; item < 100; item += 9) {
    const std::vector<float> alone = Filled(vectors, {item});
    double squares = 0;
    for (int k = 0; k < kDimension; ++k) {
      REQUIRE(alone[k] == all[item * kDimension + k]);
      squares += double{alone[k]} * alone[k];
    }
    REQUIRE(squares == Approx(1));
  }
  REQUIRE(Filled(GrownVectors(Pairs(), 6, 0.5), Numbers(100)) != all);
}

TEST_CASE("without a share of their own items are the pictures that they grow from") {
  const auto pairs = Pairs();
  const GrownVectors vectors(pairs, 5, 0);
  std::set<int64_t> clusters;
  for (uint32_t item = 0; item < 1000; ++item) {
    const int64_t cluster = vectors.ClusterOf(item);
    REQUIRE(cluster >= 0);
    REQUIRE(cluster < vectors.clusters());
    clusters.insert(cluster);
    const std::vector<float> row = Filled(vectors, {item});
    for (int k = 0; k < kDimension; ++k) {
      REQUIRE(row[k] == Approx(pairs->items.row(pairs->about[cluster])[k]).margin(1e-5));
    }
  }
  REQUIRE(clusters.size() == kQueries);
}

TEST_CASE("the query about an item is the caption of the picture that it grew from") {
  const auto pairs = Pairs();
  const GrownVectors vectors(pairs, 5, 0.5);
  const std::vector<uint32_t> items = {3, 77, 4'000'000'000, 3};
  std::vector<float> rows(items.size() * kDimension);
  vectors.FillQueries(items, rows.data());
  for (size_t i = 0; i < items.size(); ++i) {
    const absl::Span<const float> query = pairs->queries.row(vectors.ClusterOf(items[i]));
    REQUIRE(std::equal(query.begin(), query.end(), rows.begin() + i * kDimension));
  }
}

// Items are scaled to length one, which moves them little where their deviations are small.  Some
// pictures keep more of their deviation than others, which the covariance of so few shows.
TEST_CASE("items lie as the pictures do, around their mean and along their axes") {
  auto pairs = Pairs();
  for (int64_t i = 0; i < kPictures; ++i) {
    const std::vector<double> mean = MeanOfPictures(*Pairs());
    for (int k = 0; k < kDimension; ++k) {
      float& number = pairs->items.mutable_row(i)[k];
      number = static_cast<float>(mean[k] + 0.1 * (number - mean[k]));
    }
  }
  NormalizeRows(pairs->items);
  for (int i = 0; i < kQueries; ++i) pairs->about[i] = i % kPictures;
  pairs->queries = EmbeddingMatrix(kPictures, kDimension);  // each picture is grown from alike
  constexpr uint32_t kItems = 20'000;
  const std::vector<float> rows = Filled(GrownVectors(pairs, 5, 1), Numbers(kItems));
  const std::vector<double> mean = MeanOfPictures(*pairs);
  for (int a = 0; a < kDimension; ++a) {
    for (int b = 0; b <= a; ++b) {
      double grown = 0, pictures = 0, scale_a = 0, scale_b = 0;
      for (uint32_t i = 0; i < kItems; ++i) {
        grown +=
            (rows[i * kDimension + a] - mean[a]) * (rows[i * kDimension + b] - mean[b]) / kItems;
      }
      for (int64_t i = 0; i < kPictures; ++i) {
        const absl::Span<const float> row = pairs->items.row(i);
        pictures += (row[a] - mean[a]) * (row[b] - mean[b]) / kPictures;
        scale_a += (row[a] - mean[a]) * (row[a] - mean[a]) / kPictures;
        scale_b += (row[b] - mean[b]) * (row[b] - mean[b]) / kPictures;
      }
      REQUIRE(std::abs(grown - pictures) < 0.25 * std::sqrt(scale_a * scale_b));
    }
  }
}

TEST_CASE("the effective dimension is that of the pictures") {
  auto pairs = std::make_shared<PairedEmbeddings>();
  pairs->items = EmbeddingMatrix(4, 3);
  pairs->queries = EmbeddingMatrix(1, 3);
  pairs->about = {0};
  const float rows[4][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}};
  for (int i = 0; i < 4; ++i) std::copy_n(rows[i], 3, pairs->items.mutable_row(i).begin());
  REQUIRE(GrownVectors(pairs, 1, 0.5).EffectiveDimension() == Approx(2));
}

}  // namespace
}  // namespace sightline
