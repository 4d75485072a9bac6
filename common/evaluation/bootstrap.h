// How sure a number of an evaluation is: the bootstrap.
//
// What was measured is a table: a row for each query, or for each group of queries that belong
// together (the captions of a picture, the pictures of a family), a column for each sum that the
// numbers are made of.  As many rows are drawn with replacement as there are, their columns are
// added up, a statistic is computed from the sums, and that again and again.  The interval holds
// the middle share of these statistics (percentile method; Efron and Tibshirani, "An Introduction
// to the Bootstrap", 1993, section 13.3).  Groups are drawn whole, since what belongs together
// rises and falls together; drawn apart it would look surer than it is.
//
// Two methods that answer the same queries are compared pair by pair: the columns are then the
// differences d_i of each query (of R@1, of the reciprocal rank).
#ifndef SIGHTLINE_COMMON_EVALUATION_BOOTSTRAP_H_
#define SIGHTLINE_COMMON_EVALUATION_BOOTSTRAP_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "common/base/compute_pool.h"

namespace sightline {

struct BootstrapOptions {
  int resamples = 10000;
  // Equal seeds give equal intervals, whatever the number of threads.
  uint64_t seed = 1;
  double confidence = 0.95;  // between 0 and 1
};

// Of one statistic.
struct Interval {
  double estimate = 0;  // of the rows as they are
  double low = 0;
  double high = 0;
};

// What is drawn (rows), and what is added up of it (columns).  A value.
class BootstrapTable {
 public:
  BootstrapTable(int64_t rows, int columns)
      : rows_(rows), columns_(columns), values_(rows * columns) {}

  int64_t rows() const { return rows_; }
  int columns() const { return columns_; }
  double& at(int64_t row, int column) { return values_[row * columns_ + column]; }
  const double* row(int64_t row) const { return values_.data() + row * columns_; }

 private:
  int64_t rows_;
  int columns_;
  std::vector<double> values_;
};

// Computes statistics from the sums of all columns over as many rows as the table has; NaN for what
// these rows do not tell, as the mean of something that none of them has.  Called from several
// threads at once.
using Statistic = std::function<void(absl::Span<const double> sums, absl::Span<double> statistics)>;

// Computes statistics of as many rows, of which row r is drawn times[r] times.  Called likewise.
using DrawnStatistic =
    std::function<void(absl::Span<const int> times, absl::Span<double> statistics)>;

// One interval for each of the `count` statistics; all see the same draws, which depend on the
// seed and the number of rows alone.  Draws in which a statistic is NaN tell nothing of it.  Zero
// for no rows, and for a statistic that all rows do not tell.
std::vector<Interval> Bootstrap(const BootstrapTable& table, int count, const Statistic& statistic,
                                const BootstrapOptions& options, ComputePool* pool);

// The same of statistics that sums do not make, as medians, by the draws of a table of so many
// rows.
std::vector<Interval> BootstrapDraws(int64_t rows, int count, const DrawnStatistic& statistic,
                                     const BootstrapOptions& options, ComputePool* pool);

// The same of each column's mean over the rows.
std::vector<Interval> BootstrapMeans(const BootstrapTable& table, const BootstrapOptions& options,
                                     ComputePool* pool);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_BOOTSTRAP_H_
