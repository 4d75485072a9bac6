// absl::Status <-> grpc::Status; status_details.h travels in `grpc-status-details-bin`.
#ifndef SIGHTLINE_COMMON_RPC_GRPC_STATUS_H_
#define SIGHTLINE_COMMON_RPC_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace sightline {

// As ToRpcStatus; what has no details carries its code and message alone.
grpc::Status ToGrpcStatus(const absl::Status& status);

// As FromRpcStatus; details that cannot be parsed are left out.
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_GRPC_STATUS_H_
