#include "common/index/nearest_centroids.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "common/kernels/cpu.h"

namespace sightline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// Rows that are looked at together: enough of them want the same group.
constexpr int64_t kTileRows = 512;
// Nearest groups of a row whose centroids are compared with it.
constexpr int64_t kGroupsOfRow = 8;
// Moves of the groups' own centroids.
constexpr int kRounds = 4;

// Centroids with what makes products distances behind each.
std::vector<float> Widened(const float* centroids, const std::vector<int32_t>& numbers,
                           int dimension) {
  const int64_t width = int64_t{dimension} + 1;
  std::vector<float> widened(static_cast<int64_t>(numbers.size()) * width);
  for (size_t i = 0; i < numbers.size(); ++i) {
    float* const to = widened.data() + static_cast<int64_t>(i) * width;
    std::copy_n(centroids + int64_t{numbers[i]} * dimension, dimension, to);
    double squares = 0;
    for (int j = 0; j < dimension; ++j) squares += double{to[j]} * to[j];
    to[dimension] = static_cast<float>(-squares / 2);
  }
  return widened;
}

std::vector<int32_t> UpTo(int64_t count) {
  std::vector<int32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

kernels::QueryPanels PanelsOf(const float* centroids, const std::vector<int32_t>& numbers,
                              int dimension) {
  const std::vector<float> widened = Widened(centroids, numbers, dimension);
  return kernels::QueryPanels(widened.data(), dimension + 1, static_cast<int64_t>(numbers.size()),
                              dimension + 1);
}

// The mean of the rows that are nearest to each center; those that have none stay.
void MoveToMeans(const float* rows, const std::vector<int32_t>& nearest, int dimension,
                 std::vector<float>* centers) {
  const size_t count = centers->size() / dimension;
  std::vector<double> sums(centers->size());
  std::vector<int64_t> sizes(count);
  for (size_t row = 0; row < nearest.size(); ++row) {
    double* const sum = sums.data() + int64_t{nearest[row]} * dimension;
    for (int j = 0; j < dimension; ++j) sum[j] += rows[row * dimension + j];
    ++sizes[nearest[row]];
  }
  for (size_t i = 0; i < centers->size(); ++i) {
    const int64_t size = sizes[i / dimension];
    if (size > 0) (*centers)[i] = static_cast<float>(sums[i] / static_cast<double>(size));
  }
}

// Every product of `rows`, at most kMostProductRows, with a group's panels.
int64_t AllProducts(const kernels::QueryPanels& panels, const float* rows, int64_t count,
                    int64_t width, std::vector<kernels::Reached>* reached) {
  std::vector<float> limits(panels.padded_count(), kInfinity);
  std::fill_n(limits.begin(), panels.count(), -kInfinity);
  kernels::InnerProducts products = panels.Products();
  products.rows = rows;
  products.row_stride = width;
  products.row_count = count;
  products.limits = limits.data();
  reached->resize(kernels::kMostProductRows * panels.count());
  return kernels::InnerProductKernelFor(kernels::ThisCpu()).find(products, reached->data());
}

}  // namespace

NearestCentroids::NearestCentroids(const float* centroids, int64_t count, int dimension)
    : dimension_(dimension) {
  if (count >= kLeastGrouped) {
    MakeGroups(centroids, count);
  } else {
    const std::vector<int32_t> all = UpTo(count);
    groups_.push_back({PanelsOf(centroids, all, dimension), all});
  }
}

void NearestCentroids::MakeGroups(const float* centroids, int64_t count) {
  const auto group_count = static_cast<int64_t>(std::sqrt(static_cast<double>(count)));
  std::vector<float> centers;
  for (int64_t i = 0; i < group_count; ++i) {
    const float* const first = centroids + count * i / group_count * dimension_;
    centers.insert(centers.end(), first, first + dimension_);
  }
  std::vector<int32_t> nearest(count);
  for (int round = 0;; ++round) {
    NearestCentroids(centers.data(), group_count, dimension_)
        .Assign(centroids, count, nearest.data());
    if (round == kRounds) break;
    MoveToMeans(centroids, nearest, dimension_, &centers);
  }
  std::vector<std::vector<int32_t>> members(group_count);
  for (int64_t i = 0; i < count; ++i) members[nearest[i]].push_back(static_cast<int32_t>(i));
  std::vector<int32_t> kept;
  for (int64_t i = 0; i < group_count; ++i) {
    if (members[i].empty()) continue;
    kept.push_back(static_cast<int32_t>(i));
    groups_.push_back({PanelsOf(centroids, members[i], dimension_), members[i]});
  }
  centers_ = std::make_unique<Group>(
      Group{PanelsOf(centers.data(), kept, dimension_), UpTo(static_cast<int64_t>(kept.size()))});
}

void NearestCentroids::Assign(const float* rows, int64_t count, int32_t* nearest) const {
  for (int64_t first = 0; first < count; first += kTileRows) {
    AssignTile(rows + first * dimension_, std::min(kTileRows, count - first), nearest + first);
  }
}

void NearestCentroids::CompareWith(const Group& group, const float* rows, int64_t count,
                                   Best* const* bests) const {
  const int64_t width = int64_t{dimension_} + 1;
  std::vector<kernels::Reached> reached;
  for (int64_t first = 0; first < count; first += kernels::kMostProductRows) {
    const int64_t some = std::min(kernels::kMostProductRows, count - first);
    const int64_t found = AllProducts(group.panels, rows + first * width, some, width, &reached);
    for (int64_t i = 0; i < found; ++i) {
      const int32_t number = group.numbers[reached[i].query];
      const float product = reached[i].product;
      Best& best = *bests[first + reached[i].row];
      if (product > best.product || (product == best.product && number < best.number)) {
        best = {product, number};
      }
    }
  }
}

void NearestCentroids::AssignTile(const float* rows, int64_t count, int32_t* nearest) const {
  const int64_t width = int64_t{dimension_} + 1;
  std::vector<float> widened(count * width, 1.0f);
  for (int64_t i = 0; i < count; ++i) {
    std::copy_n(rows + i * dimension_, dimension_, widened.data() + i * width);
  }
  std::vector<Best> bests(count, {-kInfinity, 0});
  std::vector<Best*> all(count);
  for (int64_t i = 0; i < count; ++i) all[i] = &bests[i];
  if (centers_ == nullptr) {
    CompareWith(groups_[0], widened.data(), count, all.data());
  } else {
    // The groups of each row, and then the rows of each group.
    std::vector<std::vector<std::pair<float, int32_t>>> products(count);
    std::vector<kernels::Reached> reached;
    for (int64_t first = 0; first < count; first += kernels::kMostProductRows) {
      const int64_t some = std::min(kernels::kMostProductRows, count - first);
      const int64_t found =
          AllProducts(centers_->panels, widened.data() + first * width, some, width, &reached);
      for (int64_t i = 0; i < found; ++i) {
        products[first + reached[i].row].push_back({-reached[i].product, reached[i].query});
      }
    }
    std::vector<std::vector<int64_t>> wanted(groups_.size());
    for (int64_t row = 0; row < count; ++row) {
      auto& of_row = products[row];
      const int64_t some = std::min<int64_t>(kGroupsOfRow, static_cast<int64_t>(of_row.size()));
      std::partial_sort(of_row.begin(), of_row.begin() + some, of_row.end());
      for (int64_t i = 0; i < some; ++i) wanted[of_row[i].second].push_back(row);
    }
    std::vector<float> gathered;
    std::vector<Best*> of_group;
    for (size_t group = 0; group < groups_.size(); ++group) {
      gathered.clear();
      of_group.clear();
      for (const int64_t row : wanted[group]) {
        gathered.insert(gathered.end(), widened.begin() + row * width,
                        widened.begin() + (row + 1) * width);
        of_group.push_back(&bests[row]);
      }
      CompareWith(groups_[group], gathered.data(), static_cast<int64_t>(of_group.size()),
                  of_group.data());
    }
  }
  for (int64_t i = 0; i < count; ++i) nearest[i] = bests[i].number;
}

}  // namespace sightline
