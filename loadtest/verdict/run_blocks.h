// Runs cut into blocks, and figures of any choice of them.  Part of compare.h.
#ifndef SIGHTLINE_LOADTEST_VERDICT_RUN_BLOCKS_H_
#define SIGHTLINE_LOADTEST_VERDICT_RUN_BLOCKS_H_

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "loadtest/measure/load_result.h"

namespace sightline {

// What is compared, each a number of which less is better.
enum Figure {
  kP50,
  kP90,
  kP99,
  kFailedShare,
  kDegradedShare,
  kMissingShards,
  kMissedKnownItems,
};
inline constexpr int kFigureCount = 7;
inline constexpr int kLatencyFigures = 3;  // the first ones, as logarithms of seconds
inline constexpr double kFigureQuantiles[kLatencyFigures] = {0.5, 0.9, 0.99};

// None: there is nothing to tell it from.
using Figures = std::array<absl::optional<double>, kFigureCount>;

// Latencies that both sides have seen, ascending: a latency is known by its place here.
class LatencyScale {
 public:
  // All buckets of the seconds of all runs.
  LatencyScale(absl::Span<const LoadResult> a, absl::Span<const LoadResult> b);

  int size() const { return static_cast<int>(highs_.size()); }
  int PlaceOf(absl::Duration high) const;
  double LogSeconds(int place) const;

 private:
  std::vector<absl::Duration> highs_;  // upper edges
};

// `part` of `whole`.
struct Ratio {
  int64_t part = 0;
  int64_t whole = 0;
};

// Some seconds of one run.
struct Block {
  std::vector<std::pair<int, int64_t>> latencies;            // place on the scale, count
  std::array<Ratio, kFigureCount - kLatencyFigures> ratios;  // in the order of Figure
};

// The blocks of a run without its warm-up: see compare.h for their length.
std::vector<Block> CutIntoBlocks(const LoadResult& run, const LatencyScale& scale);

// Sums blocks up.  Not thread-safe.
class BlockSum {
 public:
  explicit BlockSum(const LatencyScale* scale) : scale_(scale), counts_(scale->size()) {}

  void Clear();
  void Add(const Block& block);

  Figures Tell() const;
  // Whether a percentile is to be told: LatencyHistogram::kSamplesBeyond.
  bool HasEnough(Figure latency) const;
  // Of a figure that is no latency.
  const Ratio& ratio(Figure figure) const { return ratios_[figure - kLatencyFigures]; }

 private:
  double LogQuantile(double share) const;

  const LatencyScale* scale_;
  std::vector<int64_t> counts_;
  int64_t count_ = 0;
  std::array<Ratio, kFigureCount - kLatencyFigures> ratios_;
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_VERDICT_RUN_BLOCKS_H_
