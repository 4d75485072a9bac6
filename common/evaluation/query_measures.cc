#include "common/evaluation/query_measures.h"

#include <algorithm>
#include <cmath>

namespace sightline {
namespace {

constexpr absl::string_view kNames[kQueryMeasureCount] = {
    "r_at_1", "r_at_5", "r_at_10", "r_at_20", "mrr", "map", "ndcg", "mean_rank"};

double Ratio(int64_t a, int64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

double Gain(int64_t rank) {
  return 1 / std::log2(static_cast<double>(rank) + 1);
}

// That the first `places` of a group have a relevant candidate: 1 - C(t - r, m) / C(t, m).
double ChanceWithin(const TieGroup& group, int64_t places) {
  const int64_t irrelevant = group.tied - group.relevant;
  if (places > irrelevant) return 1;
  double none = 1;
  for (int64_t i = 0; i < places; ++i) none *= Ratio(irrelevant - i, group.tied - i);
  return 1 - none;
}

// The first relevant candidate of a group is at its place j with C(t - j, r - 1) / C(t, r).
double ExpectedReciprocalRank(const TieGroup& group) {
  const int64_t irrelevant = group.tied - group.relevant;
  double chance = Ratio(group.relevant, group.tied);
  double sum = 0;
  for (int64_t j = 1; j <= irrelevant + 1; ++j) {
    sum += chance / static_cast<double>(group.above + j);
    if (j <= irrelevant) chance *= Ratio(irrelevant - j + 1, group.tied - j);
  }
  return sum;
}

// A group's place j has a relevant candidate with r / t, and then (j - 1)(r - 1)/(t - 1) stand
// before it in the group.
double ExpectedAveragePrecision(absl::Span<const TieGroup> groups) {
  double sum = 0;
  int64_t before = 0;
  for (const TieGroup& group : groups) {
    const double share = Ratio(group.relevant, group.tied);
    const double step = group.tied > 1 ? Ratio(group.relevant - 1, group.tied - 1) : 0;
    for (int64_t j = 1; j <= group.tied; ++j) {
      const double found = static_cast<double>(before + 1) + static_cast<double>(j - 1) * step;
      sum += share * found / static_cast<double>(group.above + j);
    }
    before += group.relevant;
  }
  return sum / static_cast<double>(before);
}

double IdealDcg(int64_t relevant, int64_t cutoff) {
  double ideal = 0;
  for (int64_t rank = 1; rank <= std::min(relevant, cutoff); ++rank) ideal += Gain(rank);
  return ideal;
}

double ExpectedNdcg(absl::Span<const TieGroup> groups, int64_t cutoff) {
  double sum = 0;
  int64_t relevant = 0;
  for (const TieGroup& group : groups) {
    const int64_t last = std::min(group.above + group.tied, cutoff);
    double gains = 0;
    for (int64_t rank = group.above + 1; rank <= last; ++rank) gains += Gain(rank);
    sum += Ratio(group.relevant, group.tied) * gains;
    relevant += group.relevant;
  }
  return sum / IdealDcg(relevant, cutoff);
}

}  // namespace

absl::string_view MeasureName(int measure) {
  return kNames[measure];
}

QueryMeasures MeasureQuery(absl::Span<const TieGroup> groups, int ndcg_cutoff) {
  const TieGroup& best = groups.front();
  QueryMeasures measures = {};
  for (size_t i = 0; i < kRecallCutoffs.size(); ++i) {
    const int64_t places = std::max<int64_t>(kRecallCutoffs[i] - best.above, 0);
    measures[kRecallAt1 + i] = ChanceWithin(best, places);
  }
  measures[kReciprocalOfRank] = ExpectedReciprocalRank(best);
  measures[kAveragePrecision] = ExpectedAveragePrecision(groups);
  measures[kNdcg] = ExpectedNdcg(groups, ndcg_cutoff);
  measures[kRank] = static_cast<double>(best.above) + Ratio(best.tied + 1, best.relevant + 1);
  return measures;
}

QueryMeasures MeasureList(absl::Span<const int> places, int64_t relevant, int length,
                          int ndcg_cutoff) {
  const int first = places.empty() ? 0 : places.front();
  QueryMeasures measures = {};
  for (size_t i = 0; i < kRecallCutoffs.size(); ++i) {
    measures[kRecallAt1 + i] = RecallAt(first, kRecallCutoffs[i]);
  }
  measures[kReciprocalOfRank] = ReciprocalRank(first);
  for (size_t i = 0; i < places.size(); ++i) {
    measures[kAveragePrecision] += Ratio(static_cast<int64_t>(i + 1), places[i] * relevant);
    if (places[i] <= ndcg_cutoff) measures[kNdcg] += Gain(places[i]);
  }
  measures[kNdcg] /= IdealDcg(relevant, ndcg_cutoff);
  measures[kRank] = places.empty() ? length + 1 : first;
  return measures;
}

}  // namespace sightline
