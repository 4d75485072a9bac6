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

// Visits the row of each of `count` draws.
template <typename Visit>
void ForEachDraw(uint32_t count, uint64_t seed, const Visit& visit) {
  std::mt19937_64 generator(seed);
  for (uint32_t drawn = 0; drawn < count;) {
    uint64_t bits = generator();
    for (int half = 0; half < 2 && drawn < count; ++half, ++drawn, bits >>= 32) {
      visit(Draw(static_cast<uint32_t>(bits), count));
    }
  }
}

// Sums over n draws, one for each column.
void Resample(const BootstrapTable& table, uint64_t seed, std::vector<double>* sums) {
  std::fill(sums->begin(), sums->end(), 0);
  const int columns = table.columns();
  ForEachDraw(static_cast<uint32_t>(table.rows()), seed, [&](uint32_t drawn) {
    const double* const row = table.row(drawn);
    for (int c = 0; c < columns; ++c) (*sums)[c] += row[c];
  });
}

// The middle share of what was drawn and is a number.
Interval Middle(double estimate, double confidence, std::vector<double>* drawn) {
  drawn->erase(std::remove_if(drawn->begin(), drawn->end(), [](double x) { return std::isnan(x); }),
               drawn->end());
  if (drawn->empty()) return {estimate, estimate, estimate};
  std::sort(drawn->begin(), drawn->end());
  const auto count = static_cast<int64_t>(drawn->size());
  const double tail = (1 - confidence) / 2 * static_cast<double>(count);
  const auto cut = std::min<int64_t>(static_cast<int64_t>(std::floor(tail)), (count - 1) / 2);
  return {estimate, (*drawn)[cut], (*drawn)[count - 1 - cut]};
}

// An interval around each of `estimates`.  `resample(seed, &scratch, statistics)` computes the
// statistics of one resample; each thread has a copy of `scratch`.
template <typename Scratch, typename OneResample>
std::vector<Interval> IntervalsAround(const std::vector<double>& estimates, const Scratch& scratch,
                                      const OneResample& resample, const BootstrapOptions& options,
                                      ComputePool* pool) {
  const int64_t resamples = std::max(options.resamples, 1);
  const size_t count = estimates.size();
  // drawn[statistic][resample]
  std::vector<std::vector<double>> drawn(count, std::vector<double>(resamples));
  pool->ParallelFor(resamples, kGrain, [&](int64_t begin, int64_t end) {
    Scratch own = scratch;
    std::vector<double> statistics(count);
    for (int64_t i = begin; i < end; ++i) {
      // Each resample has a generator of its own, so threads cannot change the draws.
      resample(options.seed + static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u, &own,
               absl::MakeSpan(statistics));
      for (size_t s = 0; s < count; ++s) drawn[s][i] = statistics[s];
    }
  });
  std::vector<Interval> intervals(count);
  for (size_t s = 0; s < count; ++s) {
    if (!std::isnan(estimates[s])) {
      intervals[s] = Middle(estimates[s], options.confidence, &drawn[s]);
    }
  }
  return intervals;
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
  if (table.rows() == 0) return std::vector<Interval>(count);
  std::vector<double> estimates(count);
  statistic(SumsOf(table), absl::MakeSpan(estimates));
  const auto resample = [&](uint64_t seed, std::vector<double>* sums,
                            absl::Span<double> statistics) {
    Resample(table, seed, sums);
    statistic(*sums, statistics);
  };
  return IntervalsAround(estimates, std::vector<double>(table.columns()), resample, options, pool);
}

std::vector<Interval> BootstrapDraws(int64_t rows, int count, const DrawnStatistic& statistic,
                                     const BootstrapOptions& options, ComputePool* pool) {
  if (rows == 0) return std::vector<Interval>(count);
  std::vector<double> estimates(count);
  statistic(std::vector<int>(rows, 1), absl::MakeSpan(estimates));
  const auto resample = [&](uint64_t seed, std::vector<int>* times, absl::Span<double> statistics) {
    std::fill(times->begin(), times->end(), 0);
    ForEachDraw(static_cast<uint32_t>(rows), seed, [&](uint32_t row) { ++(*times)[row]; });
    statistic(*times, statistics);
  };
  return IntervalsAround(estimates, std::vector<int>(rows), resample, options, pool);
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
