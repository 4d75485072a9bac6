// Every reason that an error of ours can give: the name that travels in google.rpc.ErrorInfo,
// and the canonical code that it comes with.
//
// What a caller is told by those of calls stands in protos/README.md, what an operator is
// told by those of refused generations in common/generations/README.md;
// tests/layering/registries.py holds both to this list, and sees to it that no name stands
// as a literal anywhere else.  Names are for programs and never change.
#ifndef SIGHTLINE_COMMON_BASE_ERROR_REASONS_H_
#define SIGHTLINE_COMMON_BASE_ERROR_REASONS_H_

#include "absl/status/status.h"

namespace sightline {

struct Reason {
  const char* name;  // UPPER_SNAKE_CASE
  absl::StatusCode code;
};

namespace reasons {

// --- what is wrong with a request ---

inline constexpr Reason kInvalidField{"INVALID_FIELD", absl::StatusCode::kInvalidArgument};
inline constexpr Reason kUnreadableRequest{"UNREADABLE_REQUEST",
                                           absl::StatusCode::kInvalidArgument};
inline constexpr Reason kEmbeddingDimensionMismatch{"EMBEDDING_DIMENSION_MISMATCH",
                                                    absl::StatusCode::kInvalidArgument};
inline constexpr Reason kEmbeddingSpaceMismatch{"EMBEDDING_SPACE_MISMATCH",
                                                absl::StatusCode::kFailedPrecondition};
inline constexpr Reason kUnknownIndex{"UNKNOWN_INDEX", absl::StatusCode::kNotFound};
inline constexpr Reason kItemNotFound{"ITEM_NOT_FOUND", absl::StatusCode::kNotFound};
inline constexpr Reason kUnknownReranker{"UNKNOWN_RERANKER", absl::StatusCode::kInvalidArgument};
inline constexpr Reason kNoCrossEncoder{"NO_CROSS_ENCODER", absl::StatusCode::kFailedPrecondition};
inline constexpr Reason kPageTokenMismatch{"PAGE_TOKEN_MISMATCH",
                                           absl::StatusCode::kInvalidArgument};
inline constexpr Reason kPageTokenExpired{"PAGE_TOKEN_EXPIRED",
                                          absl::StatusCode::kFailedPrecondition};

// --- who holds what ---

inline constexpr Reason kGenerationNotHeld{"GENERATION_NOT_HELD",
                                           absl::StatusCode::kFailedPrecondition};
inline constexpr Reason kShardNotHeld{"SHARD_NOT_HELD", absl::StatusCode::kFailedPrecondition};
inline constexpr Reason kPrecisionChanged{"PRECISION_CHANGED",
                                          absl::StatusCode::kFailedPrecondition};
inline constexpr Reason kShardCountMismatch{"SHARD_COUNT_MISMATCH",
                                            absl::StatusCode::kFailedPrecondition};
inline constexpr Reason kServerLoading{"SERVER_LOADING", absl::StatusCode::kUnavailable};
inline constexpr Reason kIndexNotReady{"INDEX_NOT_READY", absl::StatusCode::kUnavailable};
inline constexpr Reason kNoReplica{"NO_REPLICA", absl::StatusCode::kUnavailable};
inline constexpr Reason kNoShardAnswered{"NO_SHARD_ANSWERED", absl::StatusCode::kUnavailable};
// To whoever has called the server itself UNIMPLEMENTED, as gRPC has it.
inline constexpr Reason kWrongServer{"WRONG_SERVER", absl::StatusCode::kUnavailable};

// --- too much at once ---

inline constexpr Reason kServerBusy{"SERVER_BUSY", absl::StatusCode::kResourceExhausted};
inline constexpr Reason kReadsBusy{"READS_BUSY", absl::StatusCode::kResourceExhausted};
inline constexpr Reason kTooManyBytes{"TOO_MANY_BYTES", absl::StatusCode::kResourceExhausted};
inline constexpr Reason kRequestTooLarge{"REQUEST_TOO_LARGE", absl::StatusCode::kResourceExhausted};
inline constexpr Reason kQueueFull{"QUEUE_FULL", absl::StatusCode::kResourceExhausted};
inline constexpr Reason kQueueTooLong{"QUEUE_TOO_LONG", absl::StatusCode::kResourceExhausted};

// --- files; why a generation is refused ---

inline constexpr Reason kReadFailed{"READ_FAILED", absl::StatusCode::kUnavailable};
inline constexpr Reason kChecksumMismatch{"CHECKSUM_MISMATCH", absl::StatusCode::kDataLoss};
inline constexpr Reason kManifestMissing{"MANIFEST_MISSING", absl::StatusCode::kNotFound};
inline constexpr Reason kManifestInvalid{"MANIFEST_INVALID", absl::StatusCode::kDataLoss};
inline constexpr Reason kNewerFormat{"NEWER_FORMAT", absl::StatusCode::kFailedPrecondition};
inline constexpr Reason kFileMissing{"FILE_MISSING", absl::StatusCode::kDataLoss};
inline constexpr Reason kLengthMismatch{"LENGTH_MISMATCH", absl::StatusCode::kDataLoss};
inline constexpr Reason kContentInvalid{"CONTENT_INVALID", absl::StatusCode::kDataLoss};
inline constexpr Reason kRecallTooLow{"RECALL_TOO_LOW", absl::StatusCode::kFailedPrecondition};
inline constexpr Reason kPrecisionTooFar{"PRECISION_TOO_FAR",
                                         absl::StatusCode::kFailedPrecondition};
inline constexpr Reason kPrecisionMissing{"PRECISION_MISSING",
                                          absl::StatusCode::kFailedPrecondition};
inline constexpr Reason kUnknownIndexKind{"UNKNOWN_INDEX_KIND",
                                          absl::StatusCode::kFailedPrecondition};
inline constexpr Reason kRowsNotOnDisk{"ROWS_NOT_ON_DISK", absl::StatusCode::kFailedPrecondition};
inline constexpr Reason kNotOnDevice{"NOT_ON_DEVICE", absl::StatusCode::kFailedPrecondition};
inline constexpr Reason kDeviceFailed{"DEVICE_FAILED", absl::StatusCode::kUnavailable};
inline constexpr Reason kNoSuchShard{"NO_SUCH_SHARD", absl::StatusCode::kFailedPrecondition};
inline constexpr Reason kTooBig{"TOO_BIG", absl::StatusCode::kResourceExhausted};
inline constexpr Reason kNeedsRoom{"NEEDS_ROOM", absl::StatusCode::kResourceExhausted};
inline constexpr Reason kFetchFailed{"FETCH_FAILED", absl::StatusCode::kUnavailable};
inline constexpr Reason kCacheFull{"CACHE_FULL", absl::StatusCode::kResourceExhausted};

}  // namespace reasons
}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_ERROR_REASONS_H_
