// What the metrics page shows of searches of shards.
#ifndef SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_METRICS_H_
#define SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_METRICS_H_

#include <cstdint>

#include "common/api/effort.h"
#include "common/metrics/metrics.h"

namespace sightline {

// A value; one made by default counts nothing.
struct SearchMetrics {
  Counter exact_searches;        // shard_searches_total{exactness="exact"}
  Counter approximate_searches;  // and {exactness="approximate"}
  Histogram effort;              // index_search_effort: of searches that are not exact
  Counter reduced;               // index_reduced_searches_total: with less effort than asked
  Counter filtered;              // index_filtered_searches_total
  Histogram matched_share;       // index_matched_share: of items that a filter lets through

  static SearchMetrics Make(MetricsRegistry* metrics);

  // A search that is let in.
  void Note(const SearchEffort& how) const;
  // Whose filter lets `matched` of `items` through.
  void NoteFilter(int64_t matched, int64_t items) const;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_METRICS_H_
