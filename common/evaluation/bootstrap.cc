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

// Sums over n draws, one for each measure.
void Resample(const DifferenceTable& table, uint64_t seed, std::vector<double>& sums) {
  std::fill(sums.begin(), sums.end(), 0);
  const auto count = static_cast<uint32_t>(table.queries());
  const int measures = table.measures();
  std::mt19937_64 generator(seed);
  for (uint32_t drawn = 0; drawn < count;) {
    uint64_t bits = generator();
    for (int half = 0; half < 2 && drawn < count; ++half, ++drawn, bits >>= 32) {
      const double* const row = table.row(Draw(static_cast<uint32_t>(bits), count));
      for (int m = 0; m < measures; ++m) sums[m] += row[m];
    }
  }
}

double MeanOf(const DifferenceTable& table, int measure) {
  double sum = 0;
  for (int64_t query = 0; query < table.queries(); ++query) sum += table.row(query)[measure];
  return sum / static_cast<double>(table.queries());
}

}  // namespace

std::vector<Interval> PairedBootstrap(const DifferenceTable& differences,
                                      const BootstrapOptions& options, ComputePool* pool) {
  const int measures = differences.measures();
  const int64_t resamples = std::max(options.resamples, 1);
  std::vector<Interval> intervals(measures);
  if (differences.queries() == 0) return intervals;
  // means[measure][resample]
  std::vector<std::vector<double>> means(measures, std::vector<double>(resamples));
  const auto scale = 1.0 / static_cast<double>(differences.queries());
  pool->ParallelFor(resamples, kGrain, [&](int64_t begin, int64_t end) {
    std::vector<double> sums(measures);
    for (int64_t i = begin; i < end; ++i) {
      // Each resample has a generator of its own, so threads cannot change the draws.
      Resample(differences, options.seed + static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u, sums);
      for (int m = 0; m < measures; ++m) means[m][i] = sums[m] * scale;
    }
  });
  const double tail = (1 - options.confidence) / 2;
  const auto cut = std::min<int64_t>(
      static_cast<int64_t>(std::floor(tail * static_cast<double>(resamples))), (resamples - 1) / 2);
  for (int m = 0; m < measures; ++m) {
    std::sort(means[m].begin(), means[m].end());
    intervals[m] = {MeanOf(differences, m), means[m][cut], means[m][resamples - 1 - cut]};
  }
  return intervals;
}

}  // namespace sightline
