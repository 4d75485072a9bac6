// The highest rate that meets the SLO, and what happens to latency and errors around it.
#ifndef SIGHTLINE_LOADTEST_VERDICT_CAPACITY_H_
#define SIGHTLINE_LOADTEST_VERDICT_CAPACITY_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "loadtest/measure/load_result.h"
#include "loadtest/scenario/scenario.h"
#include "loadtest/verdict/verdict.h"

namespace sightline {

// Loads the fleet at `rate` for `settle` and then for one window, and tells of the window.
using MeasureRate = std::function<absl::StatusOr<LoadResult>(double rate)>;

// How long a window at `rate` must be for the scenario's highest percentile to be
// measurable: `capacity.window`, or longer, up to kMaxStretch times that.  Windows at low
// rates are longer than those at high ones for this reason.
inline constexpr double kMaxStretch = 10;
absl::Duration WindowAt(const CapacitySpec& capacity, const Slo& slo, double rate);

// What one rate does to the fleet.
struct CurvePoint {
  double rate = 0;      // offered, requests a second
  double achieved = 0;  // answered OK, a second
  absl::optional<absl::Duration> p50, p99;
  double error_share = 0;
  double degraded_share = 0;
  absl::optional<RecallCounts> measured_recall;  // of all entries that measure it
  int windows = 1;                               // that this is the mean of; latencies: the median
};
CurvePoint PointOf(double rate, const LoadResult& result);

// Points in ascending order of rate, equal rates joined.
std::vector<CurvePoint> SaturationCurve(std::vector<CurvePoint> points);

// Where more load stops to bring more answers: the point of the curve (offered rate,
// achieved rate) that lies farthest above the chord from its first to its last point, both
// axes scaled to [0, 1].  That is the knee of Kneedle (Satopaa, Albrecht, Irwin and
// Raghavan, "Finding a 'Kneedle' in a Haystack", 2011, section III), without its smoothing,
// as a curve here has few points.  The result is an index into `curve`; none for fewer than
// kMinKneePoints points, or if no point lies kMinKneeDistance above the chord: then the
// fleet was not driven into saturation.  `curve` is as SaturationCurve gives it.
inline constexpr int kMinKneePoints = 4;
inline constexpr double kMinKneeDistance = 0.05;
absl::optional<int> Knee(const std::vector<CurvePoint>& curve);

// One window.
struct CapacityStep {
  CurvePoint point;
  Verdict verdict;
  bool confirming = false;  // belongs to the repeat at the end
};

enum class CapacityEnding {
  kFound,         // `rate` meets the SLO, and `broken_rate`, at most precision above it, does not
  kBelowLowest,   // the lowest rate does not meet it; `rate` is 0
  kAboveHighest,  // the highest rate meets it; the capacity is `rate` or more
  kInconclusive,  // rates just above `rate` (0: the lowest one) could not be judged
};

// "found", "below lowest", "above highest", "inconclusive".
const char* CapacityEndingName(CapacityEnding ending);

struct CapacityResult {
  CapacityEnding ending = CapacityEnding::kInconclusive;
  double rate = 0;         // the highest that met the SLO, and did so again
  double broken_rate = 0;  // the lowest above it that did not, or could not be judged; 0: none
  bool wrong_answers = false;
  std::vector<CapacityStep> steps;  // in the order measured
  std::string why;                  // the ending in words, with the criteria that broke

  // Fail for wrong answers at any rate and for kBelowLowest; inconclusive for kInconclusive.
  Ruling outcome() const;
};

// `scenario.capacity` is set.  Takes as given that a fleet which meets the SLO at one rate
// meets it at lower ones.
//
// The lowest and the highest rate are judged, then the geometric mean of the highest that
// held and the lowest that did not, until these are within `precision`.  At the end, the
// rate that was found is judged once more; if it now fails, the search goes on below it.
//
// Noise: a rate is judged by its first window if that passes.  If that fails, a second one is
// measured; if that passes, a third one decides.  So one bad window in three does not fail a
// rate, and one good window does not pass a rate that failed once.  A window that is
// inconclusive is measured again, up to kMaxInconclusive times a rate; then the rate counts
// as not met, and the result says that it was not judged.  A window with wrong answers fails
// its rate at once.
//
// The errors of `measure`, with the rate.  Aborted after kMaxWindows windows: the fleet
// is too unsteady for a capacity to be told.
inline constexpr int kMaxInconclusive = 2;
inline constexpr int kMaxWindows = 100;
absl::StatusOr<CapacityResult> FindCapacity(const Scenario& scenario, const MeasureRate& measure);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_VERDICT_CAPACITY_H_
