#include "common/evaluation/retrieval_table.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sightline {
namespace {

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

double MedianRank(absl::Span<const QueryMeasures> queries) {
  std::vector<double> ranks;
  for (const QueryMeasures& query : queries) ranks.push_back(query[kRank]);
  std::sort(ranks.begin(), ranks.end());
  const size_t half = ranks.size() / 2;
  return ranks.size() % 2 == 1 ? ranks[half] : (ranks[half - 1] + ranks[half]) / 2;
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
      row.median_rank[d] += MedianRank(pool.of(direction)) / folds;
      row.queries[d] += static_cast<int64_t>(pool.of(direction).size());
    }
    for (int m = 0; m < kQueryMeasureCount; ++m)
      row.values[TableIndex(direction, m)] = sums[m] / folds;
  }
  AddRecalls(triple, absl::MakeSpan(row.values));
  return row;
}

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

 private:
  void Add(const EvaluationPool& pool, Direction direction, absl::Span<const QueryMeasures> queries,
           int column, BootstrapTable* table) const {
    const double weight = 1 / static_cast<double>(queries.size());
    for (size_t q = 0; q < queries.size(); ++q) {
      const int asked = pool.queries(direction)[q];
      const int image = direction == Direction::kTextToImage ? items_.captions[asked].image : asked;
      const int row = rows_[items_.families[image]];
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
        // Where no family with that language was drawn, nothing was found in it.
        for (int m = 0; m < kQueryMeasureCount; ++m) {
          values[TableIndex(direction, m)] = weight > 0 ? own[m] / weight : 0;
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
  return rows;
}

}  // namespace sightline
