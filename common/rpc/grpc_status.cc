#include "common/rpc/grpc_status.h"

#include "common/base/clean_text.h"
#include "common/rpc/status_details.h"

namespace sightline {

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status details = ToRpcStatus(status);
  return grpc::Status(static_cast<grpc::StatusCode>(details.code()), details.message(),
                      details.details_size() == 0 ? "" : details.SerializeAsString());
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) details.Clear();
  details.set_code(status.error_code());
  details.set_message(ReplaceInvalidUtf8(status.error_message()));
  return FromRpcStatus(details);
}

}  // namespace sightline
