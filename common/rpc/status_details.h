// absl::Status <-> google.rpc.Status, with the details of common/base/error_details.h: an error as
// it leaves a server and comes to a client, whatever carries it.
#ifndef SIGHTLINE_COMMON_RPC_STATUS_DETAILS_H_
#define SIGHTLINE_COMMON_RPC_STATUS_DETAILS_H_

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"

namespace sightline {

// Same canonical code, which is not OK.  The details:
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
google::rpc::Status ToRpcStatus(const absl::Status& status);

// The reverse; details that are not ours are left out.  With a reason of ours and without
// RetryInfo, RESOURCE_EXHAUSTED and UNAVAILABLE get InfiniteDuration.  Codes that are not canonical
// errors become UNKNOWN.
absl::Status FromRpcStatus(const google::rpc::Status& status);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_STATUS_DETAILS_H_
