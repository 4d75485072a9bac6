// A scenario: what load, against what fleet, with what done to it, and what must hold.
// Read from YAML; loadtest/scenarios has examples and loadtest/scenario/README.md every key.
#ifndef SIGHTLINE_LOADTEST_SCENARIO_SCENARIO_H_
#define SIGHTLINE_LOADTEST_SCENARIO_SCENARIO_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/api/effort.h"
#include "common/bundle/tag_filter.h"

namespace sightline {

enum class ArrivalKind { kPoisson, kConstant, kRamp, kReplay };

// When requests are meant to be sent.
struct ArrivalSpec {
  ArrivalKind kind = ArrivalKind::kPoisson;
  double rate = 0;      // requests a second; at the start, for a ramp
  double end_rate = 0;  // ramp: at the end
  std::string trace;    // replay: file of JSON lines
  double speed = 1;     // replay: 2 is twice as fast
};

// One of several values, by weight.
struct WeightedInt {
  int value = 0;
  double weight = 1;
};

enum class QueryKind { kText, kImage, kItem };

// One sort of request.
struct MixEntry {
  std::string name;  // in reports; "text" unless given
  QueryKind kind = QueryKind::kText;
  double weight = 1;
  std::string index;    // searched
  std::string queries;  // file: texts a line, or questions with known items as JSON lines; image
                        // files' folder; item ids a line.  Empty: items of the searched fleet.
  std::vector<WeightedInt> top_k = {{10, 1}};
  std::vector<WeightedInt> depth = {{20, 1}};
  std::string reranker;  // name; empty: the index's default
  TagFilter filter;      // which items may be found
  EffortWish effort;     // how hard an index is looked into
  absl::Duration deadline = absl::Seconds(1);
  // Different queries in turn; 0: all that there are.  A small number keeps caches warm.
  int64_t distinct = 0;
  // Answers are compared with the exact ones among so many nearest items; 0: they are not.
  int measure_recall = 0;
};

// What must hold.  Unset: nothing is asked.
struct Slo {
  std::vector<std::pair<double, absl::Duration>> latency;  // {0.99, 300 ms}: of all requests
  absl::optional<double> max_error_share;
  absl::optional<double> max_degraded_share;
  absl::optional<double> min_coverage;
  absl::optional<double> min_recall;  // of known items
  // Of the nearest items, of each entry of the mix that measures it.
  absl::optional<double> min_measured_recall;
  // Mean depth that is reranked, of the one that is asked for.
  absl::optional<double> min_depth_share;
  // p99 of the seconds in which a fault lasted over that of the others.
  absl::optional<double> max_p99_ratio_in_faults;

  // Lag of the generator from which on a request is late (loadtest/measure/recorder.h): a tenth
  // of the tightest limit, and at least kLeastLateness.  Where nothing is asked of latency, lag
  // only bends the load, and kLatenessUnjudged is allowed: more than a busy machine's own.
  absl::Duration late_after() const;
  static constexpr absl::Duration kLatenessUnjudged = absl::Seconds(1);
};

enum class FaultKind { kKill, kPause, kDelay, kPublish };
const char* FaultKindName(FaultKind kind);  // "kill", ...

// Something done to one process of a fleet, or to an index of its store, once.
struct FaultSpec {
  FaultKind kind = FaultKind::kKill;
  // As in loadtest/fleet/process_names.h: "reranker/0", "index_search/1/0".  kPublish: an index,
  // whose next generation, by name and round and round, is published.
  std::string target;
  absl::Duration at;  // since the end of the warm-up
  // Until it is started again, continued, no longer delayed; zero: for good.  kPublish: until
  // the fleet must answer from the new generation.
  absl::Duration lasting;
  bool for_good() const { return lasting == absl::ZeroDuration(); }
  absl::Duration delay;  // kDelay: added to each direction
  // Expectations.  Unset: nothing is asked.
  absl::optional<int64_t> max_failures;  // of requests meant to be sent from `at` until whole
  absl::optional<absl::Duration> whole_within;  // after it was undone
};

// A fleet that the load test starts by itself.
struct FleetSpec {
  std::string store;  // empty: the demo's
  int query_encoders = 1;
  int rerankers = 1;
  int shards = 2;
  int replicas_per_shard = 1;
  // Whether servers keep stamps of what they verified; without, they read all of a generation
  // each time that they load it, as they do with one that is new.
  bool remember_verified = true;
  // Of encoders and rerankers; as in their configuration.
  std::string precision = "fastest";
  // What the router keeps of what it has computed: "none", so that every request costs what one
  // costs that nobody has asked before; "embeddings", so that one that comes again costs what
  // looking for an embedding costs; "all", as by its defaults.
  std::string caches = "none";
  // loading.max_bytes_per_second of each backend; 0: its default.
  int64_t loading_bytes_per_second = 0;
};

// Looks for the highest rate that meets the SLO.
struct CapacitySpec {
  double lowest = 1;
  double highest = 1000;
  double precision = 0.05;                    // relative
  absl::Duration window = absl::Seconds(20);  // of measurement at one rate
  absl::Duration settle = absl::Seconds(5);   // before it, excluded
};

struct Scenario {
  std::string name;
  std::string description;
  uint64_t seed = 1;
  absl::Duration warm_up = absl::Seconds(5);
  absl::Duration length = absl::Seconds(30);
  ArrivalSpec arrivals;
  std::vector<MixEntry> mix;
  int64_t max_outstanding = 10000;  // more, and requests wait in the generator, at their cost
  int connections = 4;
  bool check_answers = true;
  Slo slo;
  std::vector<FaultSpec> faults;
  absl::optional<FleetSpec> fleet;  // unset: --target is needed
  absl::optional<CapacitySpec> capacity;
};

// InvalidArgument: every problem, with file, line, key, value and what is allowed.  Paths in
// the file are relative to its folder.
absl::StatusOr<Scenario> ReadScenario(const std::string& path);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SCENARIO_SCENARIO_H_
