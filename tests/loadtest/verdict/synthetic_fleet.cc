#include "tests/loadtest/verdict/synthetic_fleet.h"

#include <algorithm>
#include <cmath>

namespace sightline {
namespace {

void Merge(const Tally& from, Tally* to) {
  to->count += from.count;
  to->ok += from.ok;
  to->degraded += from.degraded;
  to->shards_asked += from.shards_asked;
  to->shards_answered += from.shards_answered;
  to->latency.Merge(from.latency);
}

}  // namespace

LoadResult SyntheticFleet::Run(double rate, std::mt19937_64* random) const {
  LoadResult result;
  result.scenario = "synthetic";
  result.warm_up = absl::Seconds(warm_up_seconds);
  result.length = absl::Seconds(seconds);
  result.intended_rate = rate;
  std::poisson_distribution<int64_t> arrivals(rate);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::normal_distribution<double> normal(0, 1);
  const double spare = service_rate - rate;
  const int all_seconds = warm_up_seconds + seconds;
  double state = normal(*random) * wander;
  for (int s = 0; s < all_seconds; ++s) {
    state = memory * state + std::sqrt(1 - memory * memory) * wander * normal(*random);
    Second second;
    second.second = s;
    Tally& tally = second.tally;
    tally.count = exact ? std::llround(rate) : arrivals(*random);
    second.intended = tally.count;
    for (int64_t i = 0; i < tally.count; ++i) {
      const double draw = exact ? (static_cast<double>(i) + (s + 0.5) / all_seconds) /
                                      static_cast<double>(tally.count)
                                : uniform(*random);
      absl::Duration latency = deadline;
      bool ok = spare > 0 || uniform(*random) < service_rate / rate;
      if (spare > 0) latency = absl::Seconds(-std::log(1 - draw) / spare);
      if (error_share > 0 && uniform(*random) < error_share) ok = false;
      latency = std::min(latency * slowness * std::exp(state), deadline);
      tally.latency.Record(latency);
      if (!ok) continue;
      ++tally.ok;
      tally.shards_asked += 2;
      tally.shards_answered += 2;
      if (degraded_share > 0 && uniform(*random) < degraded_share) ++tally.degraded;
    }
    if (s >= warm_up_seconds) Merge(tally, &result.total);
    result.seconds.push_back(std::move(second));
  }
  return result;
}

}  // namespace sightline
