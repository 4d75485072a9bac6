#include "loadtest/synthesize/synthetic_vectors.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

using Matrix = std::vector<std::vector<double>>;

std::vector<uint32_t> Numbers(uint32_t first, uint32_t count) {
  std::vector<uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

std::vector<float> Make(const VectorSpec& spec, const std::vector<uint32_t>& items) {
  std::vector<float> rows(items.size() * spec.dimension);
  SyntheticVectors(spec).Fill(items, rows.data());
  return rows;
}

std::vector<float> MakeQueries(const VectorSpec& spec, const std::vector<uint32_t>& items) {
  std::vector<float> rows(items.size() * spec.dimension);
  SyntheticVectors(spec).FillQueries(items, rows.data());
  return rows;
}

std::vector<double> Mean(const std::vector<float>& rows, int dimension) {
  std::vector<double> mean(dimension);
  const size_t count = rows.size() / dimension;
  for (size_t i = 0; i < rows.size(); ++i) mean[i % dimension] += rows[i] / count;
  return mean;
}

double Product(const float* a, const float* b, int dimension) {
  double sum = 0;
  for (int k = 0; k < dimension; ++k) sum += static_cast<double>(a[k]) * b[k];
  return sum;
}

// Mean of x x^T over all rows.
Matrix SecondMoments(const std::vector<float>& rows, int dimension) {
  Matrix moments(dimension, std::vector<double>(dimension));
  const size_t count = rows.size() / dimension;
  for (size_t i = 0; i < count; ++i) {
    const float* const row = &rows[i * dimension];
    for (int a = 0; a < dimension; ++a) {
      for (int b = 0; b < dimension; ++b) moments[a][b] += row[a] * row[b] / count;
    }
  }
  return moments;
}

// Of a symmetric matrix, greatest first: Jacobi's method.
std::vector<double> Eigenvalues(Matrix m) {
  const int n = static_cast<int>(m.size());
  for (int sweep = 0; sweep < 30; ++sweep) {
    for (int p = 0; p < n; ++p) {
      for (int q = p + 1; q < n; ++q) {
        if (std::abs(m[p][q]) < 1e-15) continue;
        const double angle = 0.5 * std::atan2(2 * m[p][q], m[q][q] - m[p][p]);
        const double c = std::cos(angle), s = std::sin(angle);
        for (int k = 0; k < n; ++k) {
          const double x = m[k][p], y = m[k][q];
          m[k][p] = c * x - s * y;
          m[k][q] = s * x + c * y;
        }
        for (int k = 0; k < n; ++k) {
          const double x = m[p][k], y = m[q][k];
          m[p][k] = c * x - s * y;
          m[q][k] = s * x + c * y;
        }
      }
    }
  }
  std::vector<double> values(n);
  for (int k = 0; k < n; ++k) values[k] = m[k][k];
  std::sort(values.rbegin(), values.rend());
  return values;
}

// The power of the rank that singular values fall with, from rank `first` on.
double MeasuredSpectrum(const std::vector<double>& eigenvalues, int first) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (int rank = first; rank <= static_cast<int>(eigenvalues.size()); ++rank) {
    const double log_rank = std::log(rank);
    const double log_value = 0.5 * std::log(eigenvalues[rank - 1]);
    n += 1, x += log_rank, y += log_value;
    xx += log_rank * log_rank, xy += log_rank * log_value;
  }
  return -(n * xy - x * y) / (n * xx - x * x);
}

using Maker = std::vector<float> (*)(const VectorSpec& spec, const std::vector<uint32_t>& items);

TEST_CASE("a vector has the same bits whatever is made with it") {
  for (const Maker make : {&Make, &MakeQueries}) {
    for (const int dimension : {1, 7, 64}) {
      VectorSpec spec;
      spec.dimension = dimension;
      spec.clusters = 5;
      const std::vector<float> all = make(spec, Numbers(0, 100));
      const std::vector<float> part = make(spec, Numbers(37, 41));
      REQUIRE(std::equal(part.begin(), part.end(), all.begin() + 37 * dimension));
      const std::vector<uint32_t> scattered = {99, 0, 32, 31};
      const std::vector<float> rows = make(spec, scattered);
      for (size_t i = 0; i < scattered.size(); ++i) {
        const float* const row = &all[scattered[i] * dimension];
        REQUIRE(std::equal(row, row + dimension, &rows[i * dimension]));
        const std::vector<float> lone = make(spec, {scattered[i]});
        REQUIRE(std::equal(row, row + dimension, lone.data()));
      }
    }
  }
}

TEST_CASE("seeds and items give different vectors") {
  VectorSpec spec, other;
  spec.dimension = other.dimension = 16;
  other.seed = 2;
  const std::vector<float> rows = Make(spec, Numbers(0, 2));
  REQUIRE(Make(other, {0}) != Make(spec, {0}));
  REQUIRE_FALSE(std::equal(rows.begin(), rows.begin() + 16, rows.begin() + 16));
}

TEST_CASE("vectors have length one") {
  for (const int dimension : {1, 3, 100, 768}) {
    VectorSpec spec;
    spec.dimension = dimension;
    for (const Maker make : {&Make, &MakeQueries}) {
      const std::vector<float> rows = make(spec, Numbers(1000, 50));
      for (int i = 0; i < 50; ++i) {
        const float* const row = &rows[i * dimension];
        REQUIRE(std::sqrt(Product(row, row, dimension)) == Approx(1).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("singular values fall with the rank as asked") {
  for (const double spectrum : {0.0, 0.5, 1.0}) {
    for (const int64_t clusters : {1, 20000}) {
      VectorSpec spec;
      spec.dimension = 48;
      spec.shape = PowerShape(spectrum, 0.5);
      spec.clusters = clusters;
      const auto eigenvalues = Eigenvalues(SecondMoments(Make(spec, Numbers(0, 12000)), 48));
      CAPTURE(spectrum, clusters);
      REQUIRE(MeasuredSpectrum(eigenvalues, 5) == Approx(spectrum).margin(0.06));
    }
  }
}

TEST_CASE("the effective dimension is what the spread says") {
  VectorSpec spec;
  spec.dimension = 48;
  spec.shape = PowerShape(0, 1);
  REQUIRE(SyntheticVectors(spec).EffectiveDimension() == Approx(48));
  spec.shape = PowerShape(0.5, 1);
  const auto eigenvalues = Eigenvalues(SecondMoments(Make(spec, Numbers(0, 12000)), 48));
  double sum = 0, squares = 0;
  for (const double value : eigenvalues) sum += value, squares += value * value;
  // Scaling to length one draws the first few together, so a little more is found.
  const double stated = SyntheticVectors(spec).EffectiveDimension();
  REQUIRE(sum * sum / squares > stated);
  REQUIRE(sum * sum / squares < 1.4 * stated);
}

TEST_CASE("no coordinate means much more than another") {
  VectorSpec spec;
  spec.dimension = 64;
  spec.shape = PowerShape(0.5, 1);
  const Matrix moments = SecondMoments(Make(spec, Numbers(0, 2000)), 64);
  for (int k = 0; k < 64; ++k) {
    REQUIRE(moments[k][k] < 4.0 / 64);
    REQUIRE(moments[k][k] > 0.25 / 64);
  }
}

TEST_CASE("items of a cluster are alike, those of its group less, others are not") {
  VectorSpec spec;
  spec.dimension = 256;
  spec.clusters = 64;
  spec.shape = PowerShape(0, 1);
  spec.shape.own_share = 0.6;
  spec.shape.group_share = 0.5;
  const SyntheticVectors vectors(spec);
  const std::vector<float> rows = Make(spec, Numbers(0, 600));
  double alike = 0, expected = 0, grouped = 0, unlike = 0;
  int alike_count = 0, grouped_count = 0, unlike_count = 0;
  for (uint32_t i = 0; i < 600; ++i) {
    const int64_t cluster = vectors.ClusterOf(i);
    REQUIRE(cluster >= 0);
    REQUIRE(cluster < 64);
    REQUIRE(vectors.OwnShareOf(cluster) >= 0);
    REQUIRE(vectors.OwnShareOf(cluster) < 0.6);
    for (uint32_t j = 0; j < i; ++j) {
      const int64_t other = vectors.ClusterOf(j);
      const double cosine = Product(&rows[i * 256], &rows[j * 256], 256);
      const double common =
          std::sqrt((1 - vectors.OwnShareOf(cluster)) * (1 - vectors.OwnShareOf(other)));
      if (cluster == other) {
        alike += cosine, expected += common, ++alike_count;
      } else if (vectors.GroupOf(cluster) == vectors.GroupOf(other)) {
        grouped += cosine / common, ++grouped_count;
      } else {
        unlike += cosine, ++unlike_count;
      }
    }
  }
  REQUIRE(alike / alike_count == Approx(expected / alike_count).margin(0.03));
  REQUIRE(grouped / grouped_count == Approx(0.5).margin(0.05));
  REQUIRE(unlike / unlike_count == Approx(0).margin(0.03));
}

TEST_CASE("the share of a cluster falls with the root of its number") {
  VectorSpec spec;
  spec.clusters = 100;
  const SyntheticVectors vectors(spec);
  int first = 0, quarter = 0;
  for (uint32_t i = 0; i < 20000; ++i) {
    first += vectors.ClusterOf(i) == 0 ? 1 : 0;
    quarter += vectors.ClusterOf(i) < 25 ? 1 : 0;
  }
  REQUIRE(first == Approx(2000).epsilon(0.1));      // sqrt(1 / 100)
  REQUIRE(quarter == Approx(10000).epsilon(0.05));  // sqrt(25 / 100)
}

TEST_CASE("means of items and of queries have the lengths and the angle of the shape") {
  VectorSpec spec;
  spec.dimension = 200;
  spec.shape = PowerShape(0.1, 0.5);
  spec.shape.item_mean = 0.3;
  spec.shape.query_mean = 0.5;
  spec.shape.mean_cosine = 0.4;
  const std::vector<double> items = Mean(Make(spec, Numbers(0, 8000)), 200);
  const std::vector<double> queries = Mean(MakeQueries(spec, Numbers(0, 8000)), 200);
  const auto product = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  const double item_length = std::sqrt(product(items, items));
  const double query_length = std::sqrt(product(queries, queries));
  REQUIRE(item_length == Approx(0.3).margin(0.01));
  REQUIRE(query_length == Approx(0.5).margin(0.01));
  REQUIRE(product(items, queries) / item_length / query_length == Approx(0.4).margin(0.03));
}

TEST_CASE("a query tells as much of its item as is shared, and nothing of others") {
  for (const double shared : {0.0, 0.5, 0.9}) {
    VectorSpec spec;
    spec.dimension = 300;
    spec.clusters = 500;
    spec.shape = PowerShape(0.2, shared);
    const std::vector<float> items = Make(spec, Numbers(0, 500));
    const std::vector<float> queries = MakeQueries(spec, Numbers(0, 500));
    double own = 0, other = 0;
    for (int i = 0; i < 500; ++i) {
      own += Product(&items[i * 300], &queries[i * 300], 300) / 500;
      other += Product(&items[i * 300], &queries[(i + 250) % 500 * 300], 300) / 500;
    }
    CAPTURE(shared);
    REQUIRE(own == Approx(shared).margin(0.02));
    REQUIRE(other == Approx(0).margin(0.02));
  }
}

}  // namespace
}  // namespace sightline
