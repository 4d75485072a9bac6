// Admin.GetStatus (admin.proto), on the wire and as plain structs.
#ifndef SIGHTLINE_COMMON_CLIENTS_CONVERT_ADMIN_H_
#define SIGHTLINE_COMMON_CLIENTS_CONVERT_ADMIN_H_

#include "absl/status/statusor.h"
#include "common/api/server_status.h"
#include "sightline/v1/admin.pb.h"

namespace sightline {

void ToProto(const StatusRequest& request, v1::GetStatusRequest* out);
void ToProto(const ServerStatus& status, v1::GetStatusResponse* out);

// InvalidArgument, naming the field: too long, too many, or a use that names nothing.
absl::StatusOr<StatusRequest> FromProto(const v1::GetStatusRequest& request);

// Internal, naming the field, if a READY generation lacks what a router must know of it
// or states something impossible.  Of generations in other states the names are enough;
// one in a state that this reader does not know is left out.
absl::StatusOr<ServerStatus> FromProto(const v1::GetStatusResponse& response);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CLIENTS_CONVERT_ADMIN_H_
