#include "common/evaluation/protocol.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/checksum.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

// Places of relevant hits, of one method: [query].
using Places = std::vector<std::vector<int>>;

// One for each method.
absl::StatusOr<std::vector<Places>> RankAll(const MeasureSpec& spec, const Relevance& relevance,
                                            Ranker* ranker, Progress* progress,
                                            const CallContext& call) {
  std::vector<Places> places(spec.methods.size());
  const absl::Span<const EvaluationQuery> queries = spec.queries;
  const auto batch_size = static_cast<size_t>(std::max(ranker->batch_size(), 1));
  for (size_t begin = 0; begin < queries.size(); begin += batch_size) {
    RETURN_IF_ERROR(call.Check("evaluation"));
    const auto batch = queries.subspan(begin, batch_size);
    ASSIGN_OR_RETURN(const Rankings rankings,
                     ranker->Rank({spec.direction, batch, spec.methods, spec.list_length}, call));
    for (size_t q = 0; q < batch.size(); ++q) {
      const int64_t all = relevance.RelevantCount(spec.direction, batch[q]);
      for (size_t m = 0; m < spec.methods.size(); ++m) {
        places[m].push_back(
            RelevantRanks(spec.direction, relevance, batch[q], rankings[q][m], all));
      }
    }
    if (progress != nullptr) progress->Advance(static_cast<int64_t>(batch.size()));
  }
  return places;
}

std::vector<int> FirstOf(const Places& places) {
  std::vector<int> ranks;
  for (const std::vector<int>& own : places) ranks.push_back(own.empty() ? 0 : own.front());
  return ranks;
}

constexpr int kCutoffs = static_cast<int>(kRecallCutoffs.size());
constexpr int kGainColumns = kCutoffs + 1;  // and the reciprocal rank

// A row for each picture.  kGainColumns for each pair, then how many queries there are.
BootstrapTable Differences(absl::Span<const RankPair> pairs,
                           absl::Span<const EvaluationQuery> queries) {
  std::vector<int64_t> row_of;
  for (size_t q = 0; q < queries.size(); ++q) {
    const bool same = q > 0 && queries[q].item_id == queries[q - 1].item_id;
    row_of.push_back(q == 0 ? 0 : row_of.back() + (same ? 0 : 1));
  }
  const int last = kGainColumns * static_cast<int>(pairs.size());
  BootstrapTable table(queries.empty() ? 0 : row_of.back() + 1, last + 1);
  for (size_t q = 0; q < queries.size(); ++q) {
    for (size_t p = 0; p < pairs.size(); ++p) {
      const int rank = pairs[p].ranks[q], reference = pairs[p].reference[q];
      const int column = kGainColumns * static_cast<int>(p);
      for (int i = 0; i < kCutoffs; ++i) {
        table.at(row_of[q], column + i) +=
            RecallAt(rank, kRecallCutoffs[i]) - RecallAt(reference, kRecallCutoffs[i]);
      }
      table.at(row_of[q], column + kCutoffs) += ReciprocalRank(rank) - ReciprocalRank(reference);
    }
    ++table.at(row_of[q], last);
  }
  return table;
}

// Means over queries, drawn picture by picture.
std::vector<Interval> IntervalsOf(const BootstrapTable& table, const BootstrapOptions& options,
                                  ComputePool* pool) {
  const auto means = [](absl::Span<const double> sums, absl::Span<double> statistics) {
    for (size_t i = 0; i < statistics.size(); ++i) statistics[i] = sums[i] / sums.back();
  };
  return Bootstrap(table, table.columns() - 1, means, options, pool);
}

// Means over all depths; none where one of them lacks it.
absl::optional<Choice> MeanOf(const Combination& combination, const Measurement& measurement,
                              absl::Span<const int> depths) {
  Choice mean{measurement.direction, combination};
  for (const int depth : depths) {
    const MethodResult* const result = measurement.Find({depth, combination});
    if (result == nullptr) return absl::nullopt;
    mean.recall_at_1 += result->metrics.recall_at(1);
    mean.mrr += result->metrics.mrr;
  }
  const auto count = static_cast<double>(depths.size());
  mean.recall_at_1 /= count;
  mean.mrr /= count;
  return mean;
}

bool IsBetter(const Choice& a, const Choice& b) {
  return a.recall_at_1 != b.recall_at_1 ? a.recall_at_1 > b.recall_at_1 : a.mrr > b.mrr;
}

}  // namespace

std::vector<int> RelevantRanks(Direction direction, const Relevance& relevance,
                               const EvaluationQuery& query, absl::Span<const Hit> hits,
                               int64_t most) {
  std::vector<int> places;
  for (size_t i = 0; i < hits.size() && static_cast<int64_t>(places.size()) < most; ++i) {
    if (!relevance.IsRelevant(direction, query, hits[i].item_id)) continue;
    places.push_back(static_cast<int>(i + 1));
  }
  return places;
}

int FirstRelevant(Direction direction, const Relevance& relevance, const EvaluationQuery& query,
                  absl::Span<const Hit> hits) {
  const std::vector<int> first = RelevantRanks(direction, relevance, query, hits, /*most=*/1);
  return first.empty() ? 0 : first.front();
}

std::string QueriesSha256(absl::Span<const EvaluationQuery> queries) {
  Sha256 sum;
  for (const EvaluationQuery& query : queries) {  // each text behind its length
    sum.Update(absl::StrCat(query.item_id.size(), ":", query.item_id, query.text.size(), ":",
                            query.text, absl::StrJoin(query.keys, ","), ";"));
  }
  return sum.Hex();
}

std::vector<Gain> GainsOf(absl::Span<const RankPair> pairs,
                          absl::Span<const EvaluationQuery> queries,
                          const BootstrapOptions& options, ComputePool* pool) {
  const std::vector<Interval> intervals = IntervalsOf(Differences(pairs, queries), options, pool);
  std::vector<Gain> gains(pairs.size());
  for (size_t p = 0; p < gains.size(); ++p) {
    const auto first = intervals.begin() + static_cast<int64_t>(p) * kGainColumns;
    std::copy_n(first, kCutoffs, gains[p].recall.begin());
    gains[p].mrr = first[kCutoffs];
  }
  return gains;
}

const MethodResult* Measurement::Find(const Method& method) const {
  for (const MethodResult& result : results) {
    if (SameMethod(result.method, method)) return &result;
  }
  return nullptr;
}

absl::StatusOr<Measurement> Measure(const MeasureSpec& spec, const Relevance& relevance,
                                    Ranker* ranker, ComputePool* pool, Progress* progress,
                                    const CallContext& call) {
  ASSIGN_OR_RETURN(std::vector<Places> places, RankAll(spec, relevance, ranker, progress, call));
  std::vector<std::vector<int>> ranks;
  for (const Places& own : places) ranks.push_back(FirstOf(own));
  std::vector<RankPair> pairs;
  for (size_t m = 1; m < ranks.size(); ++m) pairs.push_back({ranks[m], ranks[0]});
  const std::vector<Gain> gains = GainsOf(pairs, spec.queries, spec.bootstrap, pool);
  Measurement measurement{spec.direction, spec.split, {}, QueriesSha256(spec.queries)};
  for (size_t m = 0; m < spec.methods.size(); ++m) {
    MethodResult& result = measurement.results.emplace_back();
    result.method = spec.methods[m];
    result.metrics = Summarize(ranks[m]);
    if (m > 0) result.gain = gains[m - 1];
    result.ranks = std::move(ranks[m]);
    result.places = std::move(places[m]);
  }
  return measurement;
}

absl::StatusOr<Choice> ChooseCombination(const Measurement& measurement,
                                         absl::Span<const int> depths) {
  absl::optional<Choice> best;
  for (const MethodResult& result : measurement.results) {
    if (result.method.depth == 0) continue;
    const auto mean = MeanOf(result.method.combination, measurement, depths);
    if (mean.has_value() && (!best.has_value() || IsBetter(*mean, *best))) best = mean;
  }
  if (!best.has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat(DirectionName(measurement.direction),
                     ": there is nothing to choose from: no combination was measured at each of "
                     "the depths ",
                     absl::StrJoin(depths, ", ")));
  }
  const MethodResult* const retrieval = measurement.Find(Method());
  if (retrieval == nullptr) return *best;
  const Choice none{measurement.direction, absl::nullopt, retrieval->metrics.recall_at(1),
                    retrieval->metrics.mrr};
  // A tie goes to what costs nothing.
  return IsBetter(*best, none) ? *best : none;
}

}  // namespace sightline
