// What became of one request, as far as the load test looks at it.
#ifndef SIGHTLINE_LOADTEST_MEASURE_OBSERVATION_H_
#define SIGHTLINE_LOADTEST_MEASURE_OBSERVATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/api/search.h"

namespace sightline {

// What an answer can be wrong about.
enum class CheckFailure {
  kOrder,      // hits out of order within their stage, or a retrieved one before a reranked one
  kDuplicate,  // an item comes twice
  kTooMany,    // more hits than asked for
  kMixedGeneration,  // hits of more than one generation, or none named
  kCoverage,         // shards that answered, shards there are and reasons contradict each other
  kLate,             // came after its deadline
  kQueriedItem,      // an item query found itself
  kFilter,           // a hit that the filter does not let through, or more than pass
};
inline constexpr int kCheckFailureCount = 8;

// "order", "duplicate", ...
const char* CheckFailureName(CheckFailure failure);

inline constexpr int kDegradedReasonCount = 6;

// As on the wire: "SHARDS_MISSING", "DEPTH_REDUCED", ...
const char* DegradedReasonName(DegradedReason reason);

// Times since the run's start.
struct Observation {
  // Latency runs from here, not from `sent`: a request that had to wait for the generator
  // or a stalled server is charged the wait (no coordinated omission).
  absl::Duration intended;
  absl::Duration sent;
  absl::Duration ended;
  int kind = 0;  // index into the names that the recorder was made with
  absl::StatusCode code = absl::StatusCode::kOk;

  // Of an answer that is OK.
  std::string generation;
  std::vector<std::string> precisions;  // "encoder int8", "reranker int8"; of those that are told
  // "exact", or "recall 0.95", " reduced" behind it where it is less than was asked; of one that
  // was never measured "recall not measured".
  std::string effort;
  bool filtered = false;  // asked with a filter
  int64_t matched_items = 0;
  // Whether an exact answer to the question is known; if so, its items, and those of them that
  // this answer has (exact_answers.h).  No items: it is of another generation.
  bool exact_answer_known = false;
  int nearest_items = 0;
  int nearest_found = 0;
  int shard_count = 0;
  int answered_shard_count = 0;
  std::vector<DegradedReason> degraded;
  // Candidates that were to be reranked, and that were; 0 if the answer is not of that kind.
  int asked_depth = 0;
  int scored_depth = 0;
  StageTimes times;
  bool known_item_asked = false;  // one item at least is known to be right
  bool known_item_found = false;
  bool in_time = false;  // by its deadline, from when it was meant to be sent
  // Of an answer that was to be reranked: whether it can be told if the first hit is one that is
  // known to be right; if so, whether it is, and whether it would be by retrieval alone.
  bool first_judged = false;
  bool first_right = false;
  bool first_retrieved_right = false;
  std::vector<CheckFailure> failures;

  absl::Duration latency() const { return ended - intended; }
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_MEASURE_OBSERVATION_H_
