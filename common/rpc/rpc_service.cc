#include "common/rpc/rpc_service.h"

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"

namespace sightline {

namespace {

absl::Status Unreadable() {
  return WithReason(absl::InvalidArgumentError("the request is not a protobuf message of this "
                                               "method's type; strings must be valid UTF-8"),
                    kUnreadableRequest);
}

}  // namespace

absl::StatusOr<RequestSize> MeasureRequest(const IncomingRequest& incoming,
                                           const google::protobuf::Descriptor& type, int64_t most) {
  RequestSize size;
  if (!incoming.bytes.Valid()) return Unreadable();
  size.wire_bytes = static_cast<int64_t>(incoming.bytes.Length());
  grpc::ProtoBufferReader reader(&incoming.bytes);
  if (!reader.status().ok()) return Unreadable();
  const absl::optional<int64_t> memory = MemoryOfMessage(&reader, size.wire_bytes, type, most);
  if (!memory.has_value()) return Unreadable();
  size.memory_bytes = *memory;
  return size;
}

absl::Status ReadRequest(const IncomingRequest& incoming, grpc::protobuf::MessageLite* message) {
  bool readable = incoming.bytes.Valid();
  if (readable) {
    grpc::ProtoBufferReader reader(&incoming.bytes);
    // Within its length, or protobuf would make room for a field as long as it claims to be.
    readable = reader.status().ok() && message->ParseFromBoundedZeroCopyStream(
                                           &reader, static_cast<int>(incoming.bytes.Length()));
  }
  incoming.bytes.Clear();
  return readable ? absl::OkStatus() : Unreadable();
}

const char* RpcService::PathOf(const std::string& method) {
  return paths_.emplace_back(absl::StrCat("/", full_name_, "/", method)).c_str();
}

}  // namespace sightline
