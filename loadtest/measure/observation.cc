#include "loadtest/measure/observation.h"

namespace sightline {

const char* CheckFailureName(CheckFailure failure) {
  static constexpr const char* kNames[kCheckFailureCount] = {
      "order", "duplicate", "too_many", "mixed_generation", "coverage", "late", "queried_item"};
  return kNames[static_cast<int>(failure)];
}

const char* DegradedReasonName(DegradedReason reason) {
  static constexpr const char* kNames[kDegradedReasonCount] = {
      "SHARDS_MISSING", "DEPTH_REDUCED", "RERANKER_FAILED", "RERANKER_LATE", "RECORDS_MISSING"};
  return kNames[static_cast<int>(reason)];
}

}  // namespace sightline
