// What a run measured: what verdicts are made of and reports show.
#ifndef SIGHTLINE_LOADTEST_MEASURE_LOAD_RESULT_H_
#define SIGHTLINE_LOADTEST_MEASURE_LOAD_RESULT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "loadtest/measure/latency_histogram.h"

namespace sightline {

// The check failure (observation.h) that is the generator's own: gRPC makes an error of an
// answer that comes after its deadline, unless this process had no core to take it with.
inline constexpr absl::string_view kLateAnswer = "late";

// Candidates of answers that were to be reranked.
struct CandidateCounts {
  int64_t asked = 0;
  int64_t scored = 0;
};

// Many observations, added up.  Failed requests count in `latency` too: a request that was
// refused after two seconds kept its caller waiting for two seconds.
struct Tally {
  int64_t count = 0;
  int64_t ok = 0;                                   // answered, degraded or not
  int64_t degraded = 0;                             // of ok
  std::map<std::string, int64_t> codes;             // "OK", "UNAVAILABLE", ...
  std::map<std::string, int64_t> degraded_reasons;  // "SHARDS_MISSING", ...
  std::map<std::string, int64_t> generations;       // of ok
  std::map<std::string, int64_t> check_failures;    // "order", ...
  int64_t shards_asked = 0;                         // over all of ok
  int64_t shards_answered = 0;
  absl::optional<CandidateCounts> candidates;  // of ok; none: of no answer, or not known
  int64_t known_items_asked = 0;
  int64_t known_items_found = 0;
  LatencyHistogram latency;
  std::map<std::string, LatencyHistogram> stages;  // "encode", "search", "rerank", "fetch", "total"

  // Adds what `other` counted.
  void Merge(const Tally& other);

  int64_t failed() const { return count - ok; }
  // Failures of checks that the fleet has to answer for, and the others.
  int64_t wrong() const;
  int64_t late() const;
  // 0 to 1; of nothing: no errors, whole coverage.
  double error_share() const;
  double degraded_share() const;
  double coverage() const;
  double recall() const;  // of known items; 1 if none was asked for
  // Mean depth that was reranked, of the one that was asked for; 1 if none was.
  double depth_share() const;
};

// Requests that were meant to be sent within one second.
struct Second {
  int64_t second = 0;  // since the run's start
  int64_t intended = 0;
  int64_t sent = 0;         // really sent within this second
  int64_t ended = 0;        // ended within this second
  int64_t outstanding = 0;  // most at once, looked at once a millisecond
  Tally tally;              // of those that were meant to be sent within it
};

// Something that the load test did to the fleet.
struct FaultMark {
  std::string name;      // "kill reranker"
  absl::Duration at;     // since the run's start
  absl::Duration ended;  // undone; equal to `at` if there is nothing to undo
  // Since the fault was undone (or done, if there is nothing to undo); InfiniteDuration if
  // never within the run.
  absl::Duration whole_again;
  std::vector<std::string> failed_expectations;  // empty: held
};

// How well the generator did its own work.
struct GeneratorHealth {
  // Sent minus intended; without warm-up, like `late`.
  LatencyHistogram lag;
  // Requests that were sent more than `late_after` behind their time.
  int64_t late = 0;
  absl::Duration late_after;
  absl::Duration cpu;  // user and system time of the process during the run
  // False: figures tell of the generator as much as of the fleet (IsTooManyLate in recorder.h).
  bool kept_schedule = true;
};

struct LoadResult {
  std::string scenario;
  std::string target;  // addresses
  absl::Time started;
  absl::Duration warm_up;    // excluded from the tallies below, included in `seconds`
  absl::Duration length;     // without warm-up
  double intended_rate = 0;  // requests a second, mean over `length`
  Tally total;
  std::map<std::string, Tally> by_kind;  // "text", "image", "item"
  std::vector<Second> seconds;           // ascending, without gaps
  std::vector<FaultMark> faults;
  GeneratorHealth generator;
  std::map<std::string, std::string> environment;  // "cpu": "...", "cores": "2", ...
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_MEASURE_LOAD_RESULT_H_
