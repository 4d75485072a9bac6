#include "loadtest/bench/filter_measure.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/embedding/row_set.h"
#include "common/index/row_scores.h"

namespace sightline {
namespace {

constexpr int kTopK = 10;
constexpr int64_t kRowsAtOnce = 1024;

double Now() {
  return absl::ToDoubleSeconds(Clock::Real()->Now() - absl::UnixEpoch());
}

RowSet SetOf(std::vector<uint32_t> rows, int64_t universe) {
  std::sort(rows.begin(), rows.end());
  if (static_cast<int64_t>(rows.size()) * RowSet::kLeastRowsOfList <= universe) {
    return RowSet::OfRows(std::move(rows), universe);
  }
  std::vector<uint64_t> words((universe + 63) / 64);
  for (const uint32_t row : rows) words[row / 64] |= uint64_t{1} << (row % 64);
  return RowSet::OfBits(std::move(words), universe);
}

// Numbers of rows, those with the highest scores first.
std::vector<uint32_t> InOrder(const std::vector<float>& scores) {
  std::vector<uint32_t> rows(scores.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::sort(rows.begin(), rows.end(), [&scores](uint32_t a, uint32_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  return rows;
}

// One probe and all rows' scores with it.
class FilteredQuery {
 public:
  FilteredQuery(const MeasuredIndex& index, int64_t number, ComputePool* pool)
      : index_(index), view_(index.rows(0)), pool_(pool), query_(1, view_.dimension) {
    std::copy_n(index.queries().row(number).data(), view_.dimension, query_.mutable_data());
    by_score_ = InOrder(Scores(query_.data()));
    around_[FilterPlace::kNear] = Around(by_score_.front());
    around_[FilterPlace::kFar] = Around(by_score_[view_.rows - 1 - view_.rows / kFarthest]);
  }

  // Of twice `share` of the rows, around the place or anywhere, every other by chance, and the
  // rest. `share` is 1/2 at most.
  std::pair<RowSet, RowSet> Draw(FilterPlace place, double share, std::mt19937* random) const {
    const auto wanted = std::max<int64_t>(
        1, static_cast<int64_t>(std::llround(share * static_cast<double>(view_.rows))));
    std::vector<uint32_t> rows = by_score_;
    if (place != FilterPlace::kRandom) {
      rows = around_.at(place);
      rows.resize(std::min(2 * wanted, view_.rows));
    }
    std::shuffle(rows.begin(), rows.end(), *random);
    std::vector<uint32_t> others(rows.begin() + wanted,
                                 rows.begin() + std::min(2 * wanted, view_.rows));
    rows.resize(wanted);
    return {SetOf(std::move(rows), view_.rows), SetOf(std::move(others), view_.rows)};
  }

  absl::Status Search(const RowSet& among, int effort, MeasuredFilter* sums,
                      std::vector<double>* times) const {
    SearchOptions options;
    options.top_k = kTopK;
    options.effort = effort;
    options.among = &among;
    options.pool = pool_;
    sums->exact = index_.shard(0).IsExact(options);
    const double start = Now();
    ASSIGN_OR_RETURN(const auto found,
                     index_.shard(0).Search(query_, options, CallContext::Unbounded()));
    times->push_back(Now() - start);
    int64_t wanted = 0, hits = 0;
    for (const uint32_t row : by_score_) {
      if (wanted == kTopK) break;
      if (!among.Contains(row)) continue;
      ++wanted;
      hits += std::count_if(found[0].begin(), found[0].end(),
                            [row](const Neighbor& neighbor) { return neighbor.row == row; });
    }
    sums->recall += static_cast<double>(hits) / static_cast<double>(wanted);
    return absl::OkStatus();
  }

  // What no search of these rows alone can do without.
  double ScoreAlone(const RowSet& among) const {
    std::vector<int64_t> rows;
    rows.reserve(among.count());
    among.ForEach([&rows](int64_t row) { rows.push_back(row); });
    std::vector<float> scores(rows.size());
    const double start = Now();
    pool_->ParallelFor(among.count(), kRowsAtOnce, [&](int64_t begin, int64_t end) {
      // Fails where rows lie on a disk only.
      ScoreRows(view_, query_.data(), absl::MakeConstSpan(rows).subspan(begin, end - begin),
                absl::MakeSpan(scores).subspan(begin, end - begin), CallContext::Unbounded())
          .IgnoreError();
    });
    return Now() - start;
  }

 private:
  // The row that lies far from the query is the best of so small a part.
  static constexpr int64_t kFarthest = 100;

  std::vector<float> Scores(const float* query) const {
    std::vector<float> scores(view_.rows);
    pool_->ParallelFor(view_.rows, kRowsAtOnce, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) scores[row] = RowScore(view_, query, row);
    });
    return scores;
  }

  std::vector<uint32_t> Around(int64_t row) const {
    std::vector<float> center(view_.dimension);
    // Fails where rows lie on a disk only.
    CopyRows(view_, row, 1, center.data()).IgnoreError();
    return InOrder(Scores(center.data()));
  }

  const MeasuredIndex& index_;
  const VectorView& view_;
  ComputePool* const pool_;
  EmbeddingMatrix query_;
  std::vector<uint32_t> by_score_;
  std::map<FilterPlace, std::vector<uint32_t>> around_;  // a row there, those like it first
};

}  // namespace

std::string PlaceName(FilterPlace place) {
  switch (place) {
    case FilterPlace::kRandom:
      return "random";
    case FilterPlace::kNear:
      return "near";
    case FilterPlace::kFar:
      return "far";
  }
  return "";
}

absl::StatusOr<std::vector<MeasuredFilter>> MeasureFilters(const MeasuredIndex& index, int effort,
                                                           const std::vector<double>& shares,
                                                           int query_count, ComputePool* pool) {
  std::vector<MeasuredFilter> measured;
  for (const double share : shares) {
    for (const FilterPlace place : {FilterPlace::kRandom, FilterPlace::kNear, FilterPlace::kFar}) {
      measured.emplace_back();
      measured.back().place = place;
      measured.back().share = share;
    }
  }
  std::vector<std::vector<double>> times(measured.size()), alone(measured.size());
  std::mt19937 random(1);
  const auto queries = std::min<int64_t>(query_count, index.queries().rows());
  for (int64_t number = 0; number < queries; ++number) {
    const FilteredQuery query(index, number, pool);
    for (size_t i = 0; i < measured.size(); ++i) {
      const auto [among, others] = query.Draw(measured[i].place, measured[i].share, &random);
      RETURN_IF_ERROR(query.Search(among, effort, &measured[i], &times[i]));
      alone[i].push_back(query.ScoreAlone(others));  // which no cache has yet
    }
  }
  for (size_t i = 0; i < measured.size(); ++i) {
    measured[i].recall /= static_cast<double>(queries);
    measured[i].seconds = Percentile(times[i], 0.5);
    measured[i].scoring = Percentile(alone[i], 0.5);
  }
  return measured;
}

}  // namespace sightline
