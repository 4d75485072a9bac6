#include "common/evaluation/retrieval_table.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

namespace sightline {
namespace {

constexpr double kUntold = std::numeric_limits<double>::quiet_NaN();  // bootstrap.h
constexpr Direction kDirections[] = {Direction::kTextToImage, Direction::kImageToText};

// Columns of a part: of each direction the sums of its measures, then the sum of weights.
constexpr int kDirectionColumns = kQueryMeasureCount + 1;
constexpr int kPartColumns = 2 * kDirectionColumns;

int ColumnOf(size_t part, Direction direction) {
  return static_cast<int>(part) * kPartColumns + static_cast<int>(direction) * kDirectionColumns;
}

void AddRecalls(RecallTriple triple, absl::Span<double> values) {
  double sum = 0;
  for (const Direction direction : kDirections) {
    for (int i = 0; i < 3; ++i) {
      sum += values[TableIndex(direction, kRecallAt1 + FirstCutoff(triple) + i)];
    }
  }
  values[kAverageRecall] = sum / 6;
  values[kRecallSum] = sum;
}

QueryMeasures MeanOf(absl::Span<const QueryMeasures> queries) {
  QueryMeasures mean = {};
  for (const QueryMeasures& query : queries) {
    for (int m = 0; m < kQueryMeasureCount; ++m) mean[m] += query[m];
  }
  for (double& value : mean) value /= static_cast<double>(queries.size());
  return mean;
}

PartRow Summarized(absl::Span<const PoolOutcome> pools, RecallTriple triple) {
  PartRow row;
  const auto folds = static_cast<double>(pools.size());
  for (const Direction direction : kDirections) {
    const auto d = static_cast<int>(direction);
    QueryMeasures sums = {};
    for (const PoolOutcome& pool : pools) {
      const QueryMeasures mean = MeanOf(pool.of(direction));
      for (int m = 0; m < kQueryMeasureCount; ++m) sums[m] += mean[m];
      row.queries[d] += static_cast<int64_t>(pool.of(direction).size());
    }
    for (int m = 0; m < kQueryMeasureCount; ++m)
      row.values[TableIndex(direction, m)] = sums[m] / folds;
  }
  AddRecalls(triple, absl::MakeSpan(row.values));
  return row;
}

// A query's rank, and the row of the table that it is drawn with.
struct RankedQuery {
  double rank;
  int row;
};

// Sums by family; what one method's columns are made of, and what several share.
class Families {
 public:
  Families(absl::Span<const TablePart> parts, const MatrixItems& items)
      : parts_(parts), items_(items), rows_(items.family_count, -1) {
    for (const TablePart& part : parts) {
      for (const EvaluationPool& pool : part.pools) {
        for (const int image : pool.image_queries) {
          int& row = rows_[items.families[image]];
          if (row < 0) row = count_++;
        }
      }
    }
  }

  // A query weighs so much that all of a pool weigh 1: sums over sums of weights are means of
  // folds.
  BootstrapTable SumsOf(const MethodOutcome& outcome) const {
    BootstrapTable table(count_, static_cast<int>(parts_.size()) * kPartColumns);
    for (size_t part = 0; part < parts_.size(); ++part) {
      for (size_t p = 0; p < parts_[part].pools.size(); ++p) {
        for (const Direction direction : kDirections) {
          Add(parts_[part].pools[p], direction, outcome[part][p].of(direction),
              ColumnOf(part, direction), &table);
        }
      }
    }
    return table;
  }

  // A pool's queries, those with the best ranks first.
  std::vector<RankedQuery> Ranked(const EvaluationPool& pool, Direction direction,
                                  absl::Span<const QueryMeasures> queries) const {
    std::vector<RankedQuery> ranked;
    for (size_t q = 0; q < queries.size(); ++q) {
      ranked.push_back({queries[q][kRank], RowOf(pool, direction, q)});
    }
    std::sort(ranked.begin(), ranked.end(),
              [](const RankedQuery& a, const RankedQuery& b) { return a.rank < b.rank; });
    return ranked;
  }

  int count() const { return count_; }

 private:
  // Of the table, that of the family which a query is of.
  int RowOf(const EvaluationPool& pool, Direction direction, size_t query) const {
    const int asked = pool.queries(direction)[query];
    const int image = direction == Direction::kTextToImage ? items_.captions[asked].image : asked;
    return rows_[items_.families[image]];
  }

  void Add(const EvaluationPool& pool, Direction direction, absl::Span<const QueryMeasures> queries,
           int column, BootstrapTable* table) const {
    const double weight = 1 / static_cast<double>(queries.size());
    for (size_t q = 0; q < queries.size(); ++q) {
      const int row = RowOf(pool, direction, q);
      for (int m = 0; m < kQueryMeasureCount; ++m) {
        table->at(row, column + m) += weight * queries[q][m];
      }
      table->at(row, column + kQueryMeasureCount) += weight;
    }
  }

  const absl::Span<const TablePart> parts_;
  const MatrixItems& items_;
  std::vector<int> rows_;  // of the table, by family; -1: none of it asks
  int count_ = 0;
};

BootstrapTable Minus(BootstrapTable table, const BootstrapTable& other) {
  for (int64_t row = 0; row < table.rows(); ++row) {
    for (int c = 0; c < table.columns(); ++c) {
      const bool weight = c % kDirectionColumns == kQueryMeasureCount;
      if (!weight) table.at(row, c) -= other.row(row)[c];
    }
  }
  return table;
}

// kTableValueCount intervals for each part, then that of the mean of AR.
std::vector<Interval> Intervals(const BootstrapTable& table, size_t parts, RecallTriple triple,
                                const BootstrapOptions& options, ComputePool* threads) {
  const auto statistic = [parts, triple](absl::Span<const double> sums,
                                         absl::Span<double> statistics) {
    double meta = 0;
    for (size_t part = 0; part < parts; ++part) {
      const auto values = statistics.subspan(part * kTableValueCount, kTableValueCount);
      for (const Direction direction : kDirections) {
        const double* const own = sums.data() + ColumnOf(part, direction);
        const double weight = own[kQueryMeasureCount];
        // NaN where no family with that language was drawn.
        for (int m = 0; m < kQueryMeasureCount; ++m) {
          values[TableIndex(direction, m)] = weight > 0 ? own[m] / weight : kUntold;
        }
      }
      AddRecalls(triple, values);
      meta += values[kAverageRecall];
    }
    statistics.back() = meta / static_cast<double>(parts);
  };
  return Bootstrap(table, static_cast<int>(parts) * kTableValueCount + 1, statistic, options,
                   threads);
}

// The middle one of the `drawn` queries that are drawn, or the mean of the two around the middle.
double MedianOf(absl::Span<const RankedQuery> ranked, absl::Span<const int> times, int64_t drawn) {
  int64_t passed = 0;
  auto next = ranked.begin();
  const auto rank_at = [&](int64_t place) {  // of rising places
    while (passed + times[next->row] <= place) passed += times[next++->row];
    return next->rank;
  };
  const double lower = rank_at((drawn - 1) / 2);
  return (lower + rank_at(drawn / 2)) / 2;
}

// Sets the medians of part number `part` in each method's row.
void AddMedians(size_t part, absl::Span<const TablePart> parts,
                absl::Span<const MethodOutcome> methods, const Families& families,
                const BootstrapOptions& options, ComputePool* threads,
                std::vector<MethodRow>* rows) {
  const std::vector<EvaluationPool>& pools = parts[part].pools;
  // [direction][method][pool]
  std::array<std::vector<std::vector<std::vector<RankedQuery>>>, 2> ranked;
  // [direction][pool][row]: how many queries are drawn with it, of every method.
  std::array<std::vector<std::vector<int>>, 2> asked;
  for (const Direction direction : kDirections) {
    for (const MethodOutcome& outcome : methods) {
      std::vector<std::vector<RankedQuery>> of_pools;
      for (size_t p = 0; p < pools.size(); ++p) {
        of_pools.push_back(families.Ranked(pools[p], direction, outcome[part][p].of(direction)));
      }
      ranked[static_cast<int>(direction)].push_back(std::move(of_pools));
    }
    for (const std::vector<RankedQuery>& queries : ranked[static_cast<int>(direction)][0]) {
      std::vector<int> of_rows(families.count());
      for (const RankedQuery& query : queries) ++of_rows[query.row];
      asked[static_cast<int>(direction)].push_back(std::move(of_rows));
    }
  }
  const size_t count = methods.size();
  // The medians of all methods in the first direction, in the second; then their differences.
  const auto statistic = [&](absl::Span<const int> times, absl::Span<double> statistics) {
    std::fill(statistics.begin(), statistics.end(), 0);
    for (int d = 0; d < 2; ++d) {
      const auto medians = statistics.subspan(d * count, count);
      double folds = 0;
      for (size_t p = 0; p < pools.size(); ++p) {
        const auto drawn =
            std::inner_product(times.begin(), times.end(), asked[d][p].begin(), int64_t{0});
        if (drawn == 0) continue;
        ++folds;
        for (size_t m = 0; m < count; ++m) medians[m] += MedianOf(ranked[d][m][p], times, drawn);
      }
      for (double& median : medians) median = folds > 0 ? median / folds : kUntold;
      for (size_t m = 0; m < count; ++m) {
        statistics[(2 + d) * count + m] = medians[m] - medians[0];
      }
    }
  };
  const std::vector<Interval> intervals =
      BootstrapDraws(families.count(), static_cast<int>(4 * count), statistic, options, threads);
  for (size_t m = 0; m < count; ++m) {
    PartRow& row = (*rows)[m].parts[part];
    for (int d = 0; d < 2; ++d) {
      row.median_rank[d] = intervals[d * count + m];
      row.median_minus_first[d] = intervals[(2 + d) * count + m];
    }
  }
}

std::vector<Interval> OfPart(absl::Span<const Interval> intervals, size_t part) {
  const auto own = intervals.subspan(part * kTableValueCount, kTableValueCount);
  return {own.begin(), own.end()};
}

}  // namespace

int FirstCutoff(RecallTriple triple) {
  return triple == RecallTriple::k1To10 ? 0 : 1;
}

std::vector<MethodRow> MakeTable(absl::Span<const TablePart> parts,
                                 absl::Span<const MethodOutcome> methods, const MatrixItems& items,
                                 RecallTriple triple, const BootstrapOptions& options,
                                 ComputePool* threads) {
  std::vector<MethodRow> rows;
  if (methods.empty()) return rows;
  const Families families(parts, items);
  const BootstrapTable first = families.SumsOf(methods[0]);
  for (size_t m = 0; m < methods.size(); ++m) {
    const BootstrapTable sums = families.SumsOf(methods[m]);
    const auto intervals = Intervals(sums, parts.size(), triple, options, threads);
    std::vector<Interval> differences;
    if (m > 0) {
      differences = Intervals(Minus(sums, first), parts.size(), triple, options, threads);
    }
    MethodRow row;
    for (size_t part = 0; part < parts.size(); ++part) {
      PartRow own = Summarized(methods[m][part], triple);
      own.intervals = OfPart(intervals, part);
      if (m > 0) own.minus_first = OfPart(differences, part);
      row.parts.push_back(std::move(own));
    }
    row.meta_average = intervals.back();
    if (m > 0) row.meta_minus_first = differences.back();
    rows.push_back(std::move(row));
  }
  for (size_t part = 0; part < parts.size(); ++part) {
    AddMedians(part, parts, methods, families, options, threads, &rows);
  }
  return rows;
}

}  // namespace sightline
