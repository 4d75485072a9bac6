// How sure a difference between two methods is: the paired bootstrap.
//
// Both methods answer the same queries, so each query has one difference d_i (of R@1, of
// the reciprocal rank).  The mean of d is resampled: n queries are drawn with
// replacement, their mean difference is taken, and that again and again.  The interval
// holds the middle share of these means (percentile method; Efron and Tibshirani, "An
// Introduction to the Bootstrap", 1993, section 13.3).
#ifndef SIGHTLINE_COMMON_EVALUATION_BOOTSTRAP_H_
#define SIGHTLINE_COMMON_EVALUATION_BOOTSTRAP_H_

#include <cstdint>
#include <vector>

#include "common/base/compute_pool.h"

namespace sightline {

struct BootstrapOptions {
  int resamples = 10000;
  // Equal seeds give equal intervals, whatever the number of threads.
  uint64_t seed = 1;
  double confidence = 0.95;  // between 0 and 1
};

// Of one mean difference.
struct Interval {
  double difference = 0;  // the mean over the queries as they are
  double low = 0;
  double high = 0;
};

// Differences of all queries (rows) in several measures (columns).  A value.
class DifferenceTable {
 public:
  DifferenceTable(int64_t queries, int measures)
      : queries_(queries), measures_(measures), values_(queries * measures) {}

  int64_t queries() const { return queries_; }
  int measures() const { return measures_; }
  double& at(int64_t query, int measure) { return values_[query * measures_ + measure]; }
  const double* row(int64_t query) const { return values_.data() + query * measures_; }

 private:
  int64_t queries_;
  int measures_;
  std::vector<double> values_;
};

// One interval for each measure; all measures see the same draws.  Zero for no queries.
std::vector<Interval> PairedBootstrap(const DifferenceTable& differences,
                                      const BootstrapOptions& options, ComputePool* pool);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_BOOTSTRAP_H_
