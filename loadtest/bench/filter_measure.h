// What searches among some rows find and take, for filters of several widths and correlations with
// the query.
#ifndef SIGHTLINE_LOADTEST_BENCH_FILTER_MEASURE_H_
#define SIGHTLINE_LOADTEST_BENCH_FILTER_MEASURE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "loadtest/bench/measured_index.h"

namespace sightline {

// Where the rows of a filter lie: anywhere, or around the row that is nearest to the query or one
// of those that are the farthest from it, as the rows of a tag do that says what they are.
enum class FilterPlace { kRandom, kNear, kFar };

struct MeasuredFilter {
  FilterPlace place = FilterPlace::kRandom;
  double share = 0;    // of the rows, that pass
  bool exact = false;  // as the index promises of such a search
  double recall = 0;   // among the ten best rows that pass
  double seconds = 0;  // median of a search
  double scoring = 0;  // median of scoring those rows alone, on as many threads
};

// Of shard 0 of `index`, whose rows lie in memory, at `effort`, each share and place with
// `query_count` of the probes.  `pool` computes.
absl::StatusOr<std::vector<MeasuredFilter>> MeasureFilters(const MeasuredIndex& index, int effort,
                                                           const std::vector<double>& shares,
                                                           int query_count, ComputePool* pool);

std::string PlaceName(FilterPlace place);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_BENCH_FILTER_MEASURE_H_
