// absl::Status <-> grpc::Status, with the details of common/base/error_details.h as
// google.rpc messages in `grpc-status-details-bin`.
#ifndef SIGHTLINE_COMMON_RPC_GRPC_STATUS_H_
#define SIGHTLINE_COMMON_RPC_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"

namespace sightline {

// The ErrorInfo domain of every reason that is ours.
inline constexpr char kErrorDomain[] = "sightline";

// Same canonical code.  The details travel as one google.rpc.Status:
//   WithReason       -> ErrorInfo{reason, domain "sightline", metadata}
//   WithField        -> BadRequest, each violation described by the message
//   WithRetryDelay   -> RetryInfo; RESOURCE_EXHAUSTED and UNAVAILABLE carry one of 100 ms
//                       where the status says nothing; none for InfiniteDuration
//   WithPrecondition -> PreconditionFailure
// An error without a reason gets none, and no details unless something else is there.
//
// Everything is made valid UTF-8 and cut to what fits gRPC's 8 KiB of metadata: a
// message to 1 000 bytes, names and values to 120, eight entries of each list; what then
// exceeds 3 000 bytes is left out from the end of the list above.  A status that were too
// big would reach the caller as another error.
grpc::Status ToGrpcStatus(const absl::Status& status);

// The reverse; details that cannot be parsed or are not ours are left out.  With a reason of
// ours and without RetryInfo, RESOURCE_EXHAUSTED and UNAVAILABLE get InfiniteDuration.  Codes that
// gRPC does not define become UNKNOWN.
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_GRPC_STATUS_H_
