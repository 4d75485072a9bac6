// Adds observations up into a LoadResult while a run goes on.
//
//   Recorder recorder({{"text", "item"}, warm_up, length});
//   recorder.Record(observation);  // from any thread, for every request of the schedule
//   LoadResult result = recorder.Result();
#ifndef SIGHTLINE_LOADTEST_MEASURE_RECORDER_H_
#define SIGHTLINE_LOADTEST_MEASURE_RECORDER_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "loadtest/measure/load_result.h"
#include "loadtest/measure/observation.h"

namespace sightline {

// A run has kept its schedule unless too many of its requests (those of the warm-up aside) were
// sent more than `late_after` behind their time: more than a hundredth, so that the p99 of the
// lag is at most `late_after`, and more than a few, for of forty requests one is more than a
// hundredth.  Requests that wait because too many are outstanding are late too: from there on
// the load is no longer what the scenario says.
bool IsTooManyLate(int64_t late, int64_t requests);

// Lag below this is a machine's own, even beside the tightest latency.
inline constexpr absl::Duration kLeastLateness = absl::Milliseconds(10);

struct RecorderOptions {
  std::vector<std::string> kinds;  // what Observation::kind counts; equal names are one kind
  absl::Duration warm_up;
  absl::Duration length;  // without warm-up
  absl::Duration late_after = kLeastLateness;
};

// Thread-safe.  A request costs one short stretch under one mutex (README.md has figures), and
// memory grows with seconds and kinds, not with requests.
class Recorder {
 public:
  explicit Recorder(RecorderOptions options);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // In any order.  A request belongs to the second that it was meant to be sent in, and to the
  // warm-up if it was meant to be sent in it.  `kind` is one of the options' kinds.  Moments
  // before the start count as the start, those more than an hour after the end as that.
  void Record(const Observation& observation);

  // What has been recorded: total, by_kind (every kind), seconds (of the whole run at least;
  // more if requests ended later), warm_up, length, intended_rate (of the recorded requests),
  // and of the generator lag, late, late_after and kept_schedule.  The rest is the caller's.
  LoadResult Result() const;

 private:
  struct Sums;        // a Tally under way
  struct SecondSums;  // a Second under way

  SecondSums& At(int64_t second) REQUIRES(mutex_);
  void CountFlight(absl::Duration sent, absl::Duration ended) REQUIRES(mutex_);
  std::vector<Second> Seconds() const REQUIRES(mutex_);

  const RecorderOptions options_;
  const absl::Duration last_;  // what later moments count as

  mutable Mutex mutex_;
  std::deque<SecondSums> seconds_ GUARDED_BY(mutex_);
  std::vector<Sums> kinds_ GUARDED_BY(mutex_);  // without warm-up
  // By millisecond: requests sent in it less those that ended in it.
  std::vector<int32_t> flight_changes_ GUARDED_BY(mutex_);
  LatencyHistogram lag_ GUARDED_BY(mutex_);
  int64_t late_ GUARDED_BY(mutex_) = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_MEASURE_RECORDER_H_
