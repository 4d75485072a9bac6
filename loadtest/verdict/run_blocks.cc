#include "loadtest/verdict/run_blocks.h"

#include <algorithm>
#include <cmath>

namespace sightline {
namespace {

// A second counts if it lies wholly after the warm-up and before the end.
std::vector<const Second*> MeasuredSeconds(const LoadResult& run) {
  std::vector<const Second*> seconds;
  for (const Second& second : run.seconds) {
    if (absl::Seconds(second.second) < run.warm_up) continue;
    if (absl::Seconds(second.second + 1) > run.warm_up + run.length) continue;
    seconds.push_back(&second);
  }
  return seconds;
}

void AddSecond(const Tally& tally, const LatencyScale& scale, std::vector<int64_t>* counts,
               Block* block) {
  for (const LatencyHistogram::Bucket& bucket : tally.latency.Buckets()) {
    (*counts)[scale.PlaceOf(bucket.high)] += bucket.count;
  }
  const Ratio ratios[] = {
      {tally.failed(), tally.count},
      {tally.degraded, tally.ok},
      {tally.shards_asked - tally.shards_answered, tally.shards_asked},
      {tally.known_items_asked - tally.known_items_found, tally.known_items_asked}};
  for (size_t i = 0; i < block->ratios.size(); ++i) {
    block->ratios[i].part += ratios[i].part;
    block->ratios[i].whole += ratios[i].whole;
  }
}

// As LatencyHistogram::Quantile ranks.
int64_t RankOf(double share, int64_t count) {
  return std::max<int64_t>(1, std::ceil(share * static_cast<double>(count) - 1e-6));
}

Block MakeBlock(absl::Span<const Second* const> seconds, const LatencyScale& scale) {
  Block block;
  std::vector<int64_t> counts(scale.size());
  for (const Second* second : seconds) AddSecond(second->tally, scale, &counts, &block);
  for (int place = 0; place < scale.size(); ++place) {
    if (counts[place] > 0) block.latencies.emplace_back(place, counts[place]);
  }
  return block;
}

}  // namespace

LatencyScale::LatencyScale(absl::Span<const LoadResult> a, absl::Span<const LoadResult> b) {
  for (const absl::Span<const LoadResult> runs : {a, b}) {
    LatencyHistogram all;
    for (const LoadResult& run : runs) {
      for (const Second& second : run.seconds) all.Merge(second.tally.latency);
    }
    for (const LatencyHistogram::Bucket& bucket : all.Buckets()) highs_.push_back(bucket.high);
  }
  std::sort(highs_.begin(), highs_.end());
  highs_.erase(std::unique(highs_.begin(), highs_.end()), highs_.end());
}

int LatencyScale::PlaceOf(absl::Duration high) const {
  return static_cast<int>(std::lower_bound(highs_.begin(), highs_.end(), high) - highs_.begin());
}

double LatencyScale::LogSeconds(int place) const {
  return std::log(absl::ToDoubleSeconds(highs_[place]));
}

std::vector<Block> CutIntoBlocks(const LoadResult& run, const LatencyScale& scale) {
  const std::vector<const Second*> seconds = MeasuredSeconds(run);
  std::vector<Block> blocks;
  const size_t n = seconds.size();
  if (n == 0) return blocks;
  const size_t length = static_cast<size_t>(std::ceil(std::cbrt(static_cast<double>(n)) - 1e-9));
  const size_t count = n / length;
  for (size_t i = 0; i < count; ++i) {
    // Seconds that are left over go to the last one.
    const size_t size = i + 1 == count ? n - i * length : length;
    blocks.push_back(MakeBlock(absl::MakeConstSpan(seconds).subspan(i * length, size), scale));
  }
  return blocks;
}

void BlockSum::Clear() {
  std::fill(counts_.begin(), counts_.end(), 0);
  count_ = 0;
  ratios_ = {};
}

void BlockSum::Add(const Block& block) {
  for (const auto& [place, count] : block.latencies) {
    counts_[place] += count;
    count_ += count;
  }
  for (size_t i = 0; i < ratios_.size(); ++i) {
    ratios_[i].part += block.ratios[i].part;
    ratios_[i].whole += block.ratios[i].whole;
  }
}

double BlockSum::LogQuantile(double share) const {
  const int64_t rank = RankOf(share, count_);
  int64_t seen = 0;
  int place = 0;
  for (; place + 1 < scale_->size(); ++place) {
    seen += counts_[place];
    if (seen >= rank) break;
  }
  return scale_->LogSeconds(place);
}

bool BlockSum::HasEnough(Figure latency) const {
  return count_ - RankOf(kFigureQuantiles[latency], count_) >= LatencyHistogram::kSamplesBeyond;
}

Figures BlockSum::Tell() const {
  Figures figures;
  for (int i = 0; i < kLatencyFigures; ++i) {
    if (count_ > 0) figures[i] = LogQuantile(kFigureQuantiles[i]);
  }
  for (size_t i = 0; i < ratios_.size(); ++i) {
    if (ratios_[i].whole == 0) continue;
    figures[kLatencyFigures + i] =
        static_cast<double>(ratios_[i].part) / static_cast<double>(ratios_[i].whole);
  }
  return figures;
}

}  // namespace sightline
