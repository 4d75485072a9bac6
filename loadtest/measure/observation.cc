#include "loadtest/measure/observation.h"

namespace sightline {

const char* CheckFailureName(CheckFailure failure) {
  static constexpr const char* kNames[kCheckFailureCount] = {
      "order",    "duplicate", "too_many",     "mixed_generation",
      "coverage", "late",      "queried_item", "filter"};
  return kNames[static_cast<int>(failure)];
}

const char* DegradedReasonName(DegradedReason reason) {
  switch (reason) {
    case DegradedReason::kShardsMissing:
      return "SHARDS_MISSING";
    case DegradedReason::kDepthReduced:
      return "DEPTH_REDUCED";
    case DegradedReason::kRerankerFailed:
      return "RERANKER_FAILED";
    case DegradedReason::kRerankerLate:
      return "RERANKER_LATE";
    case DegradedReason::kRecordsMissing:
      return "RECORDS_MISSING";
    case DegradedReason::kRecallReduced:
      return "RECALL_REDUCED";
  }
  return "";
}

}  // namespace sightline
