#include "common/evaluation/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>

namespace sightline {
namespace {

constexpr int64_t kGrain = 64;  // resamples that one thread takes at a time

// Uniform in [0, count), by the upper half of a product; count is far below 2^32, so what
// favours some numbers is below count / 2^32.
uint32_t Draw(uint32_t random, uint32_t count) {
  return static_cast<uint32_t>((static_cast<uint64_t>(random) * count) >> 32);
}

// Sums over n draws, one for each column.
void Resample(const BootstrapTable& table, uint64_t seed, std::vector<double>& sums) {
  std::fill(sums.begin(), sums.end(), 0);
  const auto count = static_cast<uint32_t>(table.rows());
  const int columns = table.columns();
  std::mt19937_64 generator(seed);
  for (uint32_t drawn = 0; drawn < count;) {
    uint64_t bits = generator();
    for (int half = 0; half < 2 && drawn < count; ++half, ++drawn, bits >>= 32) {
      const double* const row = table.row(Draw(static_cast<uint32_t>(bits), count));
      for (int c = 0; c < columns; ++c) sums[c] += row[c];
    }
  }
}

std::vector<double> SumsOf(const BootstrapTable& table) {
  std::vector<double> sums(table.columns());
  for (int64_t i = 0; i < table.rows(); ++i) {
    for (int c = 0; c < table.columns(); ++c) sums[c] += table.row(i)[c];
  }
  return sums;
}

}  // namespace

std::vector<Interval> Bootstrap(const BootstrapTable& table, int count, const Statistic& statistic,
                                const BootstrapOptions& options, ComputePool* pool) {
  const int64_t resamples = std::max(options.resamples, 1);
  std::vector<Interval> intervals(count);
  if (table.rows() == 0) return intervals;
  // drawn[statistic][resample]
  std::vector<std::vector<double>> drawn(count, std::vector<double>(resamples));
  pool->ParallelFor(resamples, kGrain, [&](int64_t begin, int64_t end) {
    std::vector<double> sums(table.columns());
    std::vector<double> statistics(count);
    for (int64_t i = begin; i < end; ++i) {
      // Each resample has a generator of its own, so threads cannot change the draws.
      Resample(table, options.seed + static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u, sums);
      statistic(sums, absl::MakeSpan(statistics));
      for (int s = 0; s < count; ++s) drawn[s][i] = statistics[s];
    }
  });
  std::vector<double> estimates(count);
  statistic(SumsOf(table), absl::MakeSpan(estimates));
  const double tail = (1 - options.confidence) / 2;
  const auto cut = std::min<int64_t>(
      static_cast<int64_t>(std::floor(tail * static_cast<double>(resamples))), (resamples - 1) / 2);
  for (int s = 0; s < count; ++s) {
    std::sort(drawn[s].begin(), drawn[s].end());
    intervals[s] = {estimates[s], drawn[s][cut], drawn[s][resamples - 1 - cut]};
  }
  return intervals;
}

std::vector<Interval> BootstrapMeans(const BootstrapTable& table, const BootstrapOptions& options,
                                     ComputePool* pool) {
  const auto rows = static_cast<double>(table.rows());
  const auto means = [rows](absl::Span<const double> sums, absl::Span<double> statistics) {
    for (size_t c = 0; c < sums.size(); ++c) statistics[c] = sums[c] / rows;
  };
  return Bootstrap(table, table.columns(), means, options, pool);
}

}  // namespace sightline
