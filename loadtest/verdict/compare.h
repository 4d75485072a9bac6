// Whether B is worse than A by more than noise.
//
// The rule.  Each run is cut into blocks of ceil(n^(1/3)) seconds, n its length without
// warm-up, so that what happens in one second may last into the next (Carlstein 1986;
// the exponent: Hall, Horowitz and Jing 1995).  Blocks are drawn with replacement within
// each run, and the spread of a figure over such draws is its noise within runs.  If there is
// more than one run of a side, the spread of the runs' own figures, pooled over both sides,
// is its noise between runs; of the two, and for shares the binomial one, the largest
// counts.  B is worse if the difference exceeds the quantile of Student's t times that noise
// (degrees of freedom: runs - 2; for one run a side, Welch's of the blocks) and is large
// enough to matter (CompareOptions).  Latencies are compared by their logarithms.
//
// What it promises: of comparisons of a fleet with itself, at most `false_alarms` tell of a
// regression, whatever the number of figures (Bonferroni), as long as blocks are nearly
// independent of each other.  One run a side knows nothing of the noise between runs, which
// on shared machines is the larger one; so take five of each, in turns (A B A B ...).
#ifndef SIGHTLINE_LOADTEST_VERDICT_COMPARE_H_
#define SIGHTLINE_LOADTEST_VERDICT_COMPARE_H_

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "loadtest/measure/load_result.h"
#include "loadtest/verdict/verdict.h"

namespace sightline {

struct CompareOptions {
  double false_alarms = 0.01;        // of all comparisons, 0 to 0.5
  double min_latency_change = 0.05;  // relative; smaller ones are no regression
  double min_share_change = 0.001;   // a difference of shares
  int resamples = 500;
  uint64_t seed = 1;  // equal seeds, equal results
};

// Fewer blocks a side than this, and no noise can be told.  15 seconds have as many.
inline constexpr int kMinBlocks = 5;

enum class ChangeKind { kNone, kRegression, kImprovement, kNotMeasurable };

// "none", "regression", "improvement", "not measurable".
const char* ChangeKindName(ChangeKind kind);

// One figure; the less of it, the better.
struct FigureChange {
  std::string name;  // "latency p99", "failed requests"
  std::string a, b;  // of all runs together; empty if not measurable
  // B against A: relative for latencies (0.2: a fifth longer), a difference for shares.
  double change = 0;
  // Holds the true change but for one comparison in 1 / false_alarms on either side.
  double low = 0, high = 0;
  ChangeKind kind = ChangeKind::kNone;
  std::string reason;  // not measurable: why
};

struct Comparison {
  std::vector<FigureChange> changes;
  std::vector<std::string> doubts;  // why nothing can be concluded; empty: it can
  std::vector<std::string> notes;   // what to bear in mind

  bool wrong_answers = false;  // B gave some: a fail whatever the doubts

  // Fail: B is worse.  Inconclusive: doubts, or the first figure could not be compared: where
  // the median cannot be told, nothing of latency can.
  Ruling outcome() const;
};

// Latency at 50, 90 and 99 %, failed, degraded, missing shards, missed known items.
// InvalidArgument if a side is empty, the scenarios differ in name, or options are out of
// range.
absl::StatusOr<Comparison> Compare(absl::Span<const LoadResult> a, absl::Span<const LoadResult> b,
                                   const CompareOptions& options);

// What a search for the capacity found.
struct CapacityRun {
  double held = 0;                                          // requests a second; 0: none
  double broken = std::numeric_limits<double>::infinity();  // the next rate that was tried
  bool judged = true;                                       // rates above `held` could be judged
  bool wrong_answers = false;
  std::map<std::string, std::string> environment;  // as LoadResult has it
};

// The capacity alone, which is the better the more of it; windows of two searches had other
// rates.  B is worse if all of it broke at rates that all of A held; a search knows no more
// than the rates it tried.  InvalidArgument if a side is empty.
absl::StatusOr<Comparison> CompareCapacities(absl::Span<const CapacityRun> a,
                                             absl::Span<const CapacityRun> b);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_VERDICT_COMPARE_H_
