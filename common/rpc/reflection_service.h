// Tells tools like grpcurl which services a server has, by grpc.reflection.v1alpha.
//
// gRPC's own service is for its synchronous server, and holds a thread for each stream as long as
// its caller likes.  Here a stream holds none (rpc_stream.h), and there are only so many streams.
// How long one lasts, the age of connections bounds.
#ifndef SIGHTLINE_COMMON_RPC_REFLECTION_SERVICE_H_
#define SIGHTLINE_COMMON_RPC_REFLECTION_SERVICE_H_

#include <atomic>
#include <string>
#include <vector>

#include "common/rpc/call_gate.h"
#include "common/rpc/rpc_service.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"

namespace sightline {

class ReflectionService final : public RpcService {
 public:
  // Streams at a time; one more is RESOURCE_EXHAUSTED, reason SERVER_BUSY.
  static constexpr int kMaxStreams = 64;
  // Of one question; a longer one ends its stream with INVALID_ARGUMENT.
  static constexpr size_t kMaxQuestionBytes = 4096;

  // `services`: full names of those that the server has beside this one.  What they look
  // like is taken from the descriptors of the program.
  ReflectionService(CallGate* calls, std::vector<std::string> services);

 private:
  class Stream;
  using Request = grpc::reflection::v1alpha::ServerReflectionRequest;
  using Response = grpc::reflection::v1alpha::ServerReflectionResponse;

  Response Answer(const Request& request) const;

  std::vector<std::string> services_;
  std::atomic<int> open_streams_{0};
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_REFLECTION_SERVICE_H_
