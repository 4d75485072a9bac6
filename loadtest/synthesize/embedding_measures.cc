#include "loadtest/synthesize/embedding_measures.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/index/vector_index.h"

extern "C" {
// LAPACK's, of a symmetric matrix by columns: eigenvalues to `w`, ascending, vectors to `a`.
void dsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w,
             double* work, const int* lwork, int* iwork, const int* liwork, int* info);
}

namespace sightline {
namespace {

constexpr int64_t kLeastRows = 200;  // a hundredth neighbor needs some
constexpr int64_t kSample = 1000;    // whose neighbors are looked for
constexpr int64_t kQueriesAtOnce = 64;

std::vector<double> MeanOf(const EmbeddingMatrix& rows) {
  std::vector<double> mean(rows.dimension());
  for (int64_t i = 0; i < rows.rows(); ++i) {
    for (int k = 0; k < rows.dimension(); ++k) mean[k] += rows.row(i)[k];
  }
  for (double& number : mean) number /= static_cast<double>(rows.rows());
  return mean;
}

double Product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Row k is the k-th principal axis of `rows` around `mean`.
absl::StatusOr<std::vector<std::vector<double>>> PrincipalAxes(const EmbeddingMatrix& rows,
                                                               const std::vector<double>& mean,
                                                               ComputePool* pool) {
  const int n = rows.dimension();
  std::vector<double> moments(static_cast<size_t>(n) * n);
  pool->ParallelFor(n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < rows.rows(); ++i) {
      const absl::Span<const float> row = rows.row(i);
      for (int64_t a = begin; a < end; ++a) {
        const double factor = row[a] - mean[a];
        for (int b = 0; b < n; ++b) moments[a * n + b] += factor * (row[b] - mean[b]);
      }
    }
  });
  std::vector<double> values(n);
  int info = 0, work_size = 1 + 6 * n + 2 * n * n, int_work_size = 3 + 5 * n;
  std::vector<double> work(work_size);
  std::vector<int> int_work(int_work_size);
  dsyevd_("V", "U", &n, moments.data(), &n, values.data(), work.data(), &work_size, int_work.data(),
          &int_work_size, &info);
  if (info != 0) return absl::InternalError("the principal axes could not be computed");
  std::vector<std::vector<double>> axes;
  for (int k = n - 1; k >= 0; --k) {  // vectors are columns, which lie one after another
    const auto first = moments.begin() + static_cast<std::ptrdiff_t>(k) * n;
    axes.emplace_back(first, first + n);
  }
  return axes;
}

// Coordinates of each row around `mean`, axis by axis.
std::vector<std::vector<double>> Along(const std::vector<std::vector<double>>& axes,
                                       const EmbeddingMatrix& rows, const std::vector<double>& mean,
                                       ComputePool* pool) {
  std::vector<std::vector<double>> coordinates(axes.size(), std::vector<double>(rows.rows()));
  pool->ParallelFor(static_cast<int64_t>(axes.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t axis = begin; axis < end; ++axis) {
      const double offset = Product(axes[axis], mean);
      for (int64_t i = 0; i < rows.rows(); ++i) {
        const absl::Span<const float> row = rows.row(i);
        double sum = 0;
        for (size_t k = 0; k < row.size(); ++k) sum += axes[axis][k] * row[k];
        coordinates[axis][i] = sum - offset;
      }
    }
  });
  return coordinates;
}

double Deviation(const std::vector<double>& centred) {
  return std::sqrt(Product(centred, centred) / static_cast<double>(centred.size()));
}

double Correlation(const std::vector<double>& queries, const std::vector<double>& items,
                   const std::vector<int64_t>& about) {
  std::vector<double> own(queries.size());
  for (size_t i = 0; i < own.size(); ++i) own[i] = items[about[i]];
  const double lengths = std::sqrt(Product(queries, queries) * Product(own, own));
  return lengths > 0 ? Product(queries, own) / lengths : 0;
}

absl::Status Check(const PairedEmbeddings& embeddings) {
  if (embeddings.items.rows() < kLeastRows || embeddings.queries.rows() < kLeastRows) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", embeddings.items.rows(), " items and ", embeddings.queries.rows(),
        " queries about them; ", kLeastRows, " of each are needed to tell how they lie"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<EmbeddingMeasures> MeasureEmbeddings(const PairedEmbeddings& embeddings,
                                                    ComputePool* pool, const CallContext& call) {
  RETURN_IF_ERROR(Check(embeddings));
  const EmbeddingMatrix& items = embeddings.items;
  const EmbeddingMatrix& queries = embeddings.queries;
  EmbeddingMeasures measures;
  measures.items = items.rows();
  measures.queries = queries.rows();
  measures.dimension = items.dimension();

  const std::vector<double> item_mean = MeanOf(items), query_mean = MeanOf(queries);
  measures.item_mean = std::sqrt(Product(item_mean, item_mean));
  measures.query_mean = std::sqrt(Product(query_mean, query_mean));
  const double lengths = measures.item_mean * measures.query_mean;
  measures.mean_cosine = lengths > 0 ? Product(item_mean, query_mean) / lengths : 0;

  ASSIGN_OR_RETURN(const auto axes, PrincipalAxes(items, item_mean, pool));
  RETURN_IF_ERROR(call.Check("measuring embeddings"));
  const auto of_items = Along(axes, items, item_mean, pool);
  const auto of_queries = Along(axes, queries, query_mean, pool);
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    measures.item_deviations.push_back(Deviation(of_items[axis]));
    measures.query_deviations.push_back(Deviation(of_queries[axis]));
    measures.correlations.push_back(
        Correlation(of_queries[axis], of_items[axis], embeddings.about));
  }
  for (int64_t i = 0; i < queries.rows(); ++i) {
    const absl::Span<const float> query = queries.row(i), item = items.row(embeddings.about[i]);
    measures.own_cosine += std::inner_product(query.begin(), query.end(), item.begin(), 0.0) /
                           static_cast<double>(queries.rows());
  }
  ASSIGN_OR_RETURN(measures.item_neighbors,
                   MeasureNeighbors(items, items, /*themselves=*/true, pool, call));
  ASSIGN_OR_RETURN(measures.query_neighbors,
                   MeasureNeighbors(items, queries, /*themselves=*/false, pool, call));
  return measures;
}

absl::StatusOr<NeighborCosines> MeasureNeighbors(const EmbeddingMatrix& items,
                                                 const EmbeddingMatrix& queries, bool themselves,
                                                 ComputePool* pool, const CallContext& call) {
  const VectorView view = {items.data(), items.rows(), items.dimension(), items.dimension()};
  ASSIGN_OR_RETURN(const std::unique_ptr<VectorIndex> index, OpenFlatIndex(view, pool));
  const int64_t count = std::min(kSample, queries.rows());
  const int skipped = themselves ? 1 : 0;
  NeighborCosines sums;
  for (int64_t first = 0; first < count; first += kQueriesAtOnce) {
    EmbeddingMatrix some(std::min(kQueriesAtOnce, count - first), queries.dimension());
    for (int64_t i = 0; i < some.rows(); ++i) {
      const absl::Span<const float> query = queries.row((first + i) * queries.rows() / count);
      std::copy(query.begin(), query.end(), some.mutable_row(i).begin());
    }
    ASSIGN_OR_RETURN(const auto found, index->Search(some, {100 + skipped}, call));
    for (const std::vector<Neighbor>& neighbors : found) {
      sums.first += neighbors[skipped].score;
      sums.tenth += neighbors[9 + skipped].score;
      sums.hundredth += neighbors[99 + skipped].score;
    }
  }
  const auto n = static_cast<double>(count);
  return NeighborCosines{sums.first / n, sums.tenth / n, sums.hundredth / n};
}

double EffectiveDimension(const std::vector<double>& deviations) {
  double sum = 0, squares = 0;
  for (const double deviation : deviations) {
    sum += deviation * deviation;
    squares += deviation * deviation * deviation * deviation;
  }
  return sum * sum / squares;
}

}  // namespace sightline
