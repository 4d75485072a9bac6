#include "common/evaluation/paired.h"

#include <algorithm>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr size_t kTop = 10;

std::vector<absl::string_view> Top(absl::Span<const Hit> hits) {
  std::vector<absl::string_view> ids;
  for (const Hit& hit : hits.first(std::min(kTop, hits.size()))) ids.push_back(hit.item_id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

// 1 where there is nothing to find.
double Overlap(absl::Span<const Hit> reference, absl::Span<const Hit> other) {
  const std::vector<absl::string_view> wanted = Top(reference);
  const std::vector<absl::string_view> found = Top(other);
  if (wanted.empty()) return 1;
  std::vector<absl::string_view> both;
  std::set_intersection(wanted.begin(), wanted.end(), found.begin(), found.end(),
                        std::back_inserter(both));
  return static_cast<double>(both.size()) / static_cast<double>(wanted.size());
}

// Of one method.
struct Tally {
  std::vector<int> reference;  // ranks of the first relevant hit
  std::vector<int> other;
  double overlap = 0;  // sum over the queries
};

}  // namespace

absl::StatusOr<std::vector<PairedResult>> MeasurePaired(const MeasureSpec& spec,
                                                        const Relevance& relevance,
                                                        Ranker* reference, Ranker* other,
                                                        ComputePool* pool, Progress* progress,
                                                        const CallContext& call) {
  std::vector<Tally> tallies(spec.methods.size());
  const absl::Span<const EvaluationQuery> queries = spec.queries;
  const auto batch_size =
      static_cast<size_t>(std::max(std::min(reference->batch_size(), other->batch_size()), 1));
  for (size_t begin = 0; begin < queries.size(); begin += batch_size) {
    RETURN_IF_ERROR(call.Check("evaluation"));
    const auto batch = queries.subspan(begin, batch_size);
    const RankRequest request = {spec.direction, batch, spec.methods, spec.list_length};
    ASSIGN_OR_RETURN(const Rankings expected, reference->Rank(request, call));
    ASSIGN_OR_RETURN(const Rankings actual, other->Rank(request, call));
    for (size_t q = 0; q < batch.size(); ++q) {
      for (size_t m = 0; m < tallies.size(); ++m) {
        const auto rank = [&](const std::vector<Hit>& hits) {
          return FirstRelevant(spec.direction, relevance, batch[q], hits);
        };
        tallies[m].reference.push_back(rank(expected[q][m]));
        tallies[m].other.push_back(rank(actual[q][m]));
        tallies[m].overlap += Overlap(expected[q][m], actual[q][m]);
      }
    }
    if (progress != nullptr) progress->Advance(static_cast<int64_t>(batch.size()));
  }

  const auto count = static_cast<int64_t>(queries.size());
  BootstrapTable differences(count, static_cast<int>(tallies.size()));
  for (size_t m = 0; m < tallies.size(); ++m) {
    for (int64_t q = 0; q < count; ++q) {
      differences.at(q, static_cast<int>(m)) =
          RecallAt(tallies[m].other[q], 1) - RecallAt(tallies[m].reference[q], 1);
    }
  }
  const std::vector<Interval> intervals = BootstrapMeans(differences, spec.bootstrap, pool);
  std::vector<PairedResult> results;
  for (size_t m = 0; m < tallies.size(); ++m) {
    results.push_back({spec.methods[m], Summarize(tallies[m].reference),
                       Summarize(tallies[m].other), intervals[m],
                       count == 0 ? 1 : tallies[m].overlap / static_cast<double>(count)});
  }
  return results;
}

}  // namespace sightline
