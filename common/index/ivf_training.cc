#include "common/index/ivf_training.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <random>
#include <utility>

#include "common/base/status_macros.h"
#include "common/index/nearest_centroids.h"

namespace sightline {
namespace {

constexpr int kRounds = 10;
constexpr int64_t kRowsAtOnce = 1024;
constexpr int64_t kCodesOfPart = 16;
// Half of the distance, as a share of each number, at which a centroid is put beside another.
constexpr float kApart = 1.0f / 1024;
// Deviations above the centroid that a list's best rows lie at.
constexpr double kDeviations = 2.5;
// Rows of the mean list that each is taken to have beside its own.
constexpr double kSharedRows = 4;

// `count` different rows where there are as many, drawn in an order of our own: what the standard
// library draws is not told by a seed alone.
std::vector<int64_t> DrawnRows(int64_t rows, int64_t count, uint64_t seed) {
  std::vector<int64_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < std::min(count, rows); ++i) {
    std::swap(order[i], order[i + static_cast<int64_t>(random() % (rows - i))]);
  }
  std::vector<int64_t> drawn(count);
  for (int64_t i = 0; i < count; ++i) drawn[i] = order[i % rows];
  return drawn;
}

// One run of Lloyd's algorithm.
class Lloyd {
 public:
  Lloyd(const Sample& sample, int64_t count, uint64_t seed)
      : sample_(sample), count_(count), nearest_(sample.rows()) {
    for (const int64_t row : DrawnRows(sample.rows(), count, seed)) {
      centroids_.insert(centroids_.end(), sample.row(row), sample.row(row) + sample.dimension);
    }
  }

  absl::Status Round(ComputePool* pool, const CallContext& call) {
    const NearestCentroids nearest(centroids_.data(), count_, sample_.dimension);
    pool->ParallelFor(sample_.rows(), kRowsAtOnce, [&](int64_t begin, int64_t end) {
      for (; begin < end; begin += kRowsAtOnce) {
        if (call.cancelled() || call.expired()) return;
        nearest.Assign(sample_.row(begin), std::min(kRowsAtOnce, end - begin), &nearest_[begin]);
      }
    });
    RETURN_IF_ERROR(call.Check("training of centroids"));
    MoveToMeans(pool);
    SplitLargest();
    return absl::OkStatus();
  }

  std::vector<float> Take() && { return std::move(centroids_); }

 private:
  float* centroid(int64_t i) { return centroids_.data() + i * sample_.dimension; }

  // Rows are added in their order, so that a sum is the same on any number of threads.
  void MoveToMeans(ComputePool* pool) {
    std::vector<int64_t> ends(count_);
    for (const int32_t list : nearest_) ++ends[list];
    sizes_ = ends;
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    std::vector<int64_t> begins(count_);
    for (int64_t i = 0; i < count_; ++i) begins[i] = ends[i] - sizes_[i];
    std::vector<int32_t> members(nearest_.size());
    std::vector<int64_t> next = begins;
    for (size_t row = 0; row < nearest_.size(); ++row) {
      members[next[nearest_[row]]++] = static_cast<int32_t>(row);
    }
    pool->ParallelFor(count_, 16, [&](int64_t begin, int64_t end) {
      std::vector<double> sum(sample_.dimension);
      for (int64_t i = begin; i < end; ++i) {
        if (sizes_[i] == 0) continue;
        std::fill(sum.begin(), sum.end(), 0.0);
        for (int64_t m = begins[i]; m < ends[i]; ++m) {
          const float* const row = sample_.row(members[m]);
          for (int j = 0; j < sample_.dimension; ++j) sum[j] += row[j];
        }
        const double share = 1 / static_cast<double>(sizes_[i]);
        for (int j = 0; j < sample_.dimension; ++j) {
          centroid(i)[j] = static_cast<float>(sum[j] * share);
        }
      }
    });
  }

  // Those that have no rows stand beside the largest, each a little to its side.
  void SplitLargest() {
    std::priority_queue<std::pair<int64_t, int64_t>> largest;  // size, less the number
    for (int64_t i = 0; i < count_; ++i) largest.push({sizes_[i], -i});
    for (int64_t i = 0; i < count_; ++i) {
      if (sizes_[i] > 0) continue;
      const auto [size, number] = largest.top();
      if (size < 2) return;
      largest.pop();
      float* const whole = centroid(-number);
      float* const half = centroid(i);
      for (int j = 0; j < sample_.dimension; ++j) {
        const float apart = (j % 2 == 0 ? kApart : -kApart) * whole[j];
        half[j] = whole[j] - apart;
        whole[j] += apart;
      }
      largest.push({size / 2, number});
      largest.push({size - size / 2, -i});
    }
  }

  const Sample& sample_;
  const int64_t count_;
  std::vector<float> centroids_;
  std::vector<int32_t> nearest_;
  std::vector<int64_t> sizes_;
};

// The numbers of one part, of all rows.
Sample PartOf(const Sample& residuals, int64_t begin, int64_t end) {
  Sample part;
  part.dimension = static_cast<int>(end - begin);
  part.values.reserve(residuals.rows() * part.dimension);
  for (int64_t i = 0; i < residuals.rows(); ++i) {
    part.values.insert(part.values.end(), residuals.row(i) + begin, residuals.row(i) + end);
  }
  return part;
}

}  // namespace

absl::StatusOr<std::vector<float>> TrainCentroids(const Sample& sample, int64_t count,
                                                  uint64_t seed, ComputePool* pool,
                                                  const CallContext& call) {
  if (sample.rows() == 0) return std::vector<float>(count * sample.dimension);
  Lloyd lloyd(sample, count, seed);
  for (int round = 0; round < kRounds; ++round) RETURN_IF_ERROR(lloyd.Round(pool, call));
  return std::move(lloyd).Take();
}

std::vector<float> ReachesOf(const Sample& residuals, const std::vector<int32_t>& lists,
                             int64_t count) {
  const int64_t rows = residuals.rows();
  std::vector<double> squares(count), sizes(count);
  double all = 0, cosines = 0, pairs = 0, before = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const float* const r = residuals.row(row);
    const float* const other = residuals.row(std::max<int64_t>(0, row - 1));
    double length = 0, product = 0;
    for (int j = 0; j < residuals.dimension; ++j) {
      length += double{r[j]} * r[j];
      product += double{r[j]} * other[j];
    }
    squares[lists[row]] += length;
    ++sizes[lists[row]];
    all += length;
    if (length > 0 && before > 0) {
      cosines += product * product / (length * before);
      ++pairs;
    }
    before = length;
  }
  const double deviation = pairs > 0 ? std::sqrt(cosines / pairs) : 0;
  const double mean = rows > 0 ? all / static_cast<double>(rows) : 0;
  std::vector<float> reaches(count);
  for (int64_t list = 0; list < count; ++list) {
    const double length =
        std::sqrt((squares[list] + kSharedRows * mean) / (sizes[list] + kSharedRows));
    reaches[list] = static_cast<float>(kDeviations * deviation * length);
  }
  return reaches;
}

absl::StatusOr<std::vector<float>> TrainCodebooks(const Sample& residuals, const IvfShape& shape,
                                                  ComputePool* pool, const CallContext& call) {
  std::vector<float> codebooks(kCodesOfPart * shape.dimension);
  std::vector<absl::Status> statuses(shape.parts);
  pool->ParallelFor(shape.parts, 1, [&](int64_t first, int64_t last) {
    ComputePool alone(1);
    for (int64_t p = first; p < last; ++p) {
      const int64_t begin = shape.PartBegin(p), end = shape.PartBegin(p + 1);
      const auto centroids =
          TrainCentroids(PartOf(residuals, begin, end), kCodesOfPart, shape.seed + p, &alone, call);
      statuses[p] = centroids.status();
      if (!centroids.ok()) return;
      for (int64_t j = begin; j < end; ++j) {
        for (int64_t code = 0; code < kCodesOfPart; ++code) {
          codebooks[j * kCodesOfPart + code] = (*centroids)[code * (end - begin) + (j - begin)];
        }
      }
    }
  });
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  return codebooks;
}

}  // namespace sightline
