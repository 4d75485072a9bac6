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
#include "common/api/server_status.h"
#include "loadtest/measure/latency_histogram.h"

namespace sightline {

// The check failure (observation.h) that is the generator's own: gRPC makes an error of an
// answer that comes after its deadline, unless this process had no core to take it with.
inline constexpr absl::string_view kLateAnswer = "late";

// Answers that were to be reranked; what they were good for is Goodput's.
struct RerankedCounts {
  int64_t answers = 0;
  int64_t in_time = 0;  // of these, by their deadline from when they were meant to be sent
  int64_t asked = 0;    // candidates
  int64_t scored = 0;   // of these
  // Answers of which it can be told whether their first hit is right; those of them where it is,
  // and where it would be by retrieval alone.
  int64_t judged = 0;
  int64_t right = 0;
  int64_t retrieved_right = 0;

  void Merge(const RerankedCounts& other);
};

// Answers to requests with a filter.
struct FilteredCounts {
  int64_t answers = 0;
  int64_t matched = 0;  // items that passed, over all of them

  void Merge(const FilteredCounts& other);
  double mean_matched() const;
};

// Answers to questions of which the exact answer is known (exact_answers.h).
struct RecallCounts {
  int64_t answers = 0;           // of the generation of the exact answer, and compared with it
  int64_t other_generation = 0;  // answers that were not, for they are of another one
  int64_t nearest = 0;           // items that the exact answers have, over all that were compared
  int64_t found = 0;             // of these

  void Merge(const RecallCounts& other);
  double recall() const;  // 0 to 1; 1 if nothing was compared
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
  std::map<std::string, int64_t> precisions;        // of ok: "encoder int8", "reranker int8"
  std::map<std::string, int64_t> efforts;           // of ok: "exact", "recall 0.95", ...
  absl::optional<FilteredCounts> filtered;          // of ok; none: no answer, or not known
  absl::optional<RecallCounts> measured_recall;     // of ok; none: likewise
  std::map<std::string, int64_t> check_failures;    // "order", ...
  int64_t shards_asked = 0;                         // over all of ok
  int64_t shards_answered = 0;
  absl::optional<RerankedCounts> reranked;  // of ok; none: no answer, or not known
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

// What a fleet is good for while it is asked too much: answers in time, as long as the reranking in
// them is worth its name.
struct Goodput {
  double rate = 0;                                  // answers in time, a second
  double depth = 0, asked_depth = 0;                // means
  absl::optional<double> recall, retrieved_recall;  // at 1; none: it could not be told

  // Of what is asked for, 8 of 20 at least must be reranked in the mean.
  static constexpr double kLeastDepth = 0.4;
  bool deep_enough() const { return depth >= kLeastDepth * asked_depth; }
  // Recall@1 must be above that of retrieval alone, of the same answers.
  bool worth_it() const { return recall.has_value() && *recall > *retrieved_recall; }
  bool holds() const { return deep_enough() && worth_it(); }
};

// Over a time of `length`; of none nothing is told.
Goodput GoodputOf(const RerankedCounts& reranked, absl::Duration length);

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

// A GPU of a server.
struct DeviceUse {
  std::string server;   // "reranker 127.0.0.1:7403"
  DeviceStatus device;  // as at the run's end, but that its work is the run's
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
  // Microseconds of user and system time during the run, of each server that ran throughout; none
  // of a fleet that was not started here.
  std::map<std::string, int64_t> server_cpu_us;
  std::vector<DeviceUse> devices;                  // by server and number; none of servers on CPUs
  std::map<std::string, std::string> environment;  // "cpu": "...", "cores": "2", ...
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_MEASURE_LOAD_RESULT_H_
