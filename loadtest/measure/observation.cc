#include "loadtest/measure/observation.h"

namespace sightline {

const char* CheckFailureName(CheckFailure failure) {
  switch (failure) {
    case CheckFailure::kOrder:
      return "order";
    case CheckFailure::kDuplicate:
      return "duplicate";
    case CheckFailure::kTooMany:
      return "too_many";
    case CheckFailure::kMixedGeneration:
      return "mixed_generation";
    case CheckFailure::kCoverage:
      return "coverage";
    case CheckFailure::kLate:
      return "late";
    case CheckFailure::kQueriedItem:
      return "queried_item";
  }
  return "unknown";
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
  }
  return "UNKNOWN";
}

}  // namespace sightline
