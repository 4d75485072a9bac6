#include "services/index_search/search_metrics.h"

#include <string>
#include <vector>

#include "common/base/limits.h"

namespace sightline {

SearchMetrics SearchMetrics::Make(MetricsRegistry* metrics) {
  const std::vector<double> shares = {0.0001, 0.001, 0.01, 0.03, 0.1, 0.3, 0.5, 0.9, 1};
  SearchMetrics made;
  const auto searches = [metrics](const char* exactness) {
    return metrics->AddCounter("shard_searches_total",
                               "Searches of shards, by whether all that may be found was compared.",
                               {{"exactness", exactness}});
  };
  made.exact_searches = searches("exact");
  made.approximate_searches = searches("approximate");
  made.effort =
      metrics->AddHistogram("index_search_effort", "Effort of a search that is not exact.",
                            PowerOfTwoBuckets(limits::kMaxEffort));
  made.reduced = metrics->AddCounter("index_reduced_searches_total",
                                     "Searches with less effort than asked, for lack of time.");
  made.filtered =
      metrics->AddCounter("index_filtered_searches_total", "Searches of shards with a filter.");
  made.matched_share = metrics->AddHistogram(
      "index_matched_share", "Share of a shard's items that a filter let through.", shares);
  return made;
}

void SearchMetrics::Note(const SearchEffort& how) const {
  if (how.exact) {
    exact_searches.Increment();
    return;
  }
  approximate_searches.Increment();
  effort.Observe(static_cast<double>(how.effort));
  if (how.reduced) reduced.Increment();
}

void SearchMetrics::NoteFilter(int64_t matched, int64_t items) const {
  filtered.Increment();
  if (items > 0) matched_share.Observe(static_cast<double>(matched) / static_cast<double>(items));
}

}  // namespace sightline
