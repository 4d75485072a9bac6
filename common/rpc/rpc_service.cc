#include "common/rpc/rpc_service.h"

#include <google/protobuf/io/zero_copy_stream.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/rpc/request_id.h"
#include "common/rpc/rpc_stream.h"

namespace sightline {

namespace {

// The bytes of a request, once and in order.  Where a message ends early, as at a tag of zero,
// protobuf gives back what it has not used, and near the boundary of two slices that is more than
// the last one has, for which gRPC's reader ends the process.  Nobody reads on after a request,
// so nothing is given back.
class RequestReader final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit RequestReader(const IncomingRequest& incoming) : reader_(&incoming.bytes) {}

  bool ok() const { return reader_.status().ok(); }

  bool Next(const void** data, int* size) override { return reader_.Next(data, size); }
  void BackUp(int) override {}
  bool Skip(int count) override { return reader_.Skip(count); }
  int64_t ByteCount() const override { return reader_.ByteCount(); }

 private:
  grpc::ProtoBufferReader reader_;
};

absl::Status Unreadable() {
  return MakeError(reasons::kUnreadableRequest,
                   "the request is not a protobuf message of this method's type; strings must be "
                   "valid UTF-8");
}

absl::string_view OfferedRequestId(const grpc::ServerContext& context) {
  const auto found = context.client_metadata().find(kRequestIdKey);
  if (found == context.client_metadata().end()) return "";
  return absl::string_view(found->second.data(), found->second.size());
}

// The time that the caller left for the call.  A call without a deadline has one that
// lies beyond the range of the clock.
absl::Duration CallersTime(const grpc::ServerContext& context) {
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return absl::InfiniteDuration();
  return absl::FromChrono(deadline - std::chrono::system_clock::now());
}

// The connection was lost, or the caller gave up, while the request was on its way.
absl::Status NotArrived() {
  return absl::CancelledError("the call ended before its request had arrived");
}

}  // namespace

absl::StatusOr<RequestSize> MeasureRequest(const IncomingRequest& incoming,
                                           const google::protobuf::Descriptor& type, int64_t most) {
  RequestSize size;
  if (!incoming.bytes.Valid()) return NotArrived();
  size.wire_bytes = static_cast<int64_t>(incoming.bytes.Length());
  RequestReader reader(incoming);
  if (!reader.ok()) return Unreadable();
  const absl::optional<int64_t> memory = MemoryOfMessage(&reader, size.wire_bytes, type, most);
  if (!memory.has_value()) return Unreadable();
  size.memory_bytes = *memory;
  return size;
}

absl::Status ReadRequest(const IncomingRequest& incoming, google::protobuf::MessageLite* message) {
  if (!incoming.bytes.Valid()) return NotArrived();
  bool readable = false;
  {
    RequestReader reader(incoming);
    // Within its length, or protobuf would make room for a field as long as it claims to be.
    readable = reader.ok() && message->ParseFromBoundedZeroCopyStream(
                                  &reader, static_cast<int>(incoming.bytes.Length()));
  }
  incoming.bytes.Clear();
  return readable ? absl::OkStatus() : Unreadable();
}

grpc::Status WriteAnswer(const google::protobuf::MessageLite& message, grpc::ByteBuffer* answer) {
  bool own_buffer = false;
  return grpc::GenericSerialize<grpc::ProtoBufferWriter, google::protobuf::MessageLite>(
      message, answer, &own_buffer);
}

IncomingCall CallOf(grpc::ServerContext* context, absl::StatusOr<RequestSize> size) {
  IncomingCall call{RequestIdOr(OfferedRequestId(*context)), std::move(size), CallersTime(*context),
                    [context] { return context->IsCancelled(); }};
  context->AddInitialMetadata(kRequestIdKey, call.request_id);
  return call;
}

void RpcService::AddStream(const std::string& method,
                           std::function<std::unique_ptr<RpcStream>()> make) {
  // Whichever side says how much: the message is the same on the wire.
  AddMethod(new grpc::internal::RpcServiceMethod(
      PathOf(method), grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
  MarkMethodRaw(methods_);
  streams_.push_back({methods_++, std::move(make)});
}

void RpcService::AcceptStreams(StreamQueue* queue) {
  for (const StreamMethod& method : streams_) AcceptNext(method, queue);
}

void RpcService::AcceptNext(const StreamMethod& method, StreamQueue* queue) {
  queue->IfOpen([&] {
    RpcStream* const stream = method.make().release();  // deletes itself
    stream->AwaitCaller(queue, [this, &method, queue] { AcceptNext(method, queue); });
    RequestAsyncBidiStreaming(method.index, &stream->context_, &stream->call_, queue->queue(),
                              queue->queue(), &stream->open_);
  });
}

const char* RpcService::PathOf(const std::string& method) {
  return paths_.emplace_back(absl::StrCat("/", full_name_, "/", method)).c_str();
}

}  // namespace sightline
