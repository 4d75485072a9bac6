#include "common/rpc/rpc_service.h"

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"

namespace sightline {

absl::Status ReadRequest(const IncomingRequest& incoming, grpc::protobuf::MessageLite* message) {
  bool readable = incoming.bytes.Valid();
  if (readable) {
    grpc::ProtoBufferReader reader(&incoming.bytes);
    readable = reader.status().ok() && message->ParseFromZeroCopyStream(&reader);
  }
  incoming.bytes.Clear();
  if (readable) return absl::OkStatus();
  return WithReason(absl::InvalidArgumentError("the request is not a protobuf message of this "
                                               "method's type; strings must be valid UTF-8"),
                    kUnreadableRequest);
}

const char* RpcService::PathOf(const std::string& method) {
  return paths_.emplace_back(absl::StrCat("/", full_name_, "/", method)).c_str();
}

}  // namespace sightline
