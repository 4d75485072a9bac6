// A call as a stranger makes it: bytes to a method by its name, bytes back.
#ifndef SIGHTLINE_TESTS_SUPPORT_RAW_CALL_H_
#define SIGHTLINE_TESTS_SUPPORT_RAW_CALL_H_

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace sightline {

inline std::string ToBytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

// Calls a unary `method` ("/sightline.v1.Search/SearchItems") and waits for its end, half
// a minute at most.  `response` may be null.
inline grpc::Status RawCall(const std::shared_ptr<grpc::ChannelInterface>& channel,
                            const std::string& method, const std::string& request,
                            std::string* response = nullptr) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  grpc::CompletionQueue queue;
  const grpc::Slice slice(request);
  const auto call = stub.PrepareUnaryCall(&context, method, grpc::ByteBuffer(&slice, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  if (status.ok() && response != nullptr) *response = ToBytes(answer);
  return status;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_RAW_CALL_H_
