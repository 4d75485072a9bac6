// A service whose requests are measured before they are read.
//
//   class IndexSearchService final : public RpcService {
//    public:
//     IndexSearchService(SearchEngine* engine, RpcCalls* calls)
//         : RpcService(v1::IndexSearch::service_full_name(), calls), engine_(engine) {
//       AddUnary("SearchIndex", &IndexSearchService::SearchIndex);
//     }
//
//    private:
//     absl::Status SearchIndex(v1::SearchIndexRequest request, const CallContext& call,
//                              v1::SearchIndexResponse* response);
//
// The base class that protoc generates gets a request only when protobuf has copied it out of
// gRPC's buffers, and only to look at.  Here a call is admitted by what its request will take
// in memory (request_memory.h, RpcMethod::Serve); then it is read, its buffers are freed, and the
// handler owns the message and moves an upload out of it.  So each upload under way is in memory
// once.
#ifndef SIGHTLINE_COMMON_RPC_RPC_SERVICE_H_
#define SIGHTLINE_COMMON_RPC_RPC_SERVICE_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message_lite.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/config.h>
#include <grpcpp/support/method_handler.h>
#include <grpcpp/support/status.h>

#include <deque>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/rpc/request_memory.h"
#include "common/rpc/rpc_calls.h"

namespace sightline {

// The reason (ErrorInfo) of the refusal of bytes that are no message of the method's type.

// A request as it arrived.
struct IncomingRequest {
  // gRPC hands requests to handlers as const; these bytes are for whoever reads them.
  mutable grpc::ByteBuffer bytes;
};

// How long `incoming` is, and what it will take when it is read as a message of `type`, counted
// to a little above `most`.  INVALID_ARGUMENT with the reason above: it cannot be read.
// CANCELLED: it has not arrived whole.
absl::StatusOr<RequestSize> MeasureRequest(const IncomingRequest& incoming,
                                           const google::protobuf::Descriptor& type, int64_t most);

// Reads `incoming` and frees its bytes.  INVALID_ARGUMENT with the reason above: protobuf
// cannot read it; a string that is not UTF-8, most of the time.  CANCELLED as above.
absl::Status ReadRequest(const IncomingRequest& incoming, google::protobuf::MessageLite* message);

// Handlers run at the same time, in threads of gRPC's.
class RpcService : public grpc::Service {
 public:
  RpcService(const RpcService&) = delete;
  RpcService& operator=(const RpcService&) = delete;

  // "sightline.v1.Reranker".
  const std::string& full_name() const { return full_name_; }

 protected:
  // `full_name` is the generated `service_full_name()`.  `calls` must outlive this.
  RpcService(absl::string_view full_name, RpcCalls* calls) : full_name_(full_name), calls_(calls) {}

  // Serves the unary `method` by a member function of the derived class, within
  // RpcMethod::Serve.  For constructors.
  template <typename Derived, typename Request, typename Response>
  void AddUnary(const std::string& method,
                absl::Status (Derived::*handler)(Request request, const CallContext& call,
                                                 Response* response),
                RpcCalls::Admission admission = RpcCalls::Admission::kLimited) {
    RpcMethod* const served = calls_->AddMethod(full_name_, method, admission);
    Derived* const self = static_cast<Derived*>(this);
    const auto serve = [calls = calls_, served, self, handler](
                           RpcService*, grpc::ServerContext* context,
                           const IncomingRequest* incoming, Response* response) {
      const absl::StatusOr<RequestSize> size =
          MeasureRequest(*incoming, *Request::descriptor(), calls->max_in_flight_bytes());
      return served->Serve(context, size, [&](const CallContext& call) -> absl::Status {
        Request request;
        absl::Status read = ReadRequest(*incoming, &request);
        return read.ok() ? (self->*handler)(std::move(request), call, response) : read;
      });
    };
    // As generated code registers its methods, but for the type of the request.
    AddMethod(new grpc::internal::RpcServiceMethod(
        PathOf(method), grpc::internal::RpcMethod::NORMAL_RPC,
        new grpc::internal::RpcMethodHandler<RpcService, IncomingRequest, Response, IncomingRequest,
                                             google::protobuf::MessageLite>(serve, this)));
  }

 private:
  // Lives as long as this.
  const char* PathOf(const std::string& method);

  const std::string full_name_;
  RpcCalls* const calls_;
  std::deque<std::string> paths_;
};

}  // namespace sightline

namespace grpc {

template <>
class SerializationTraits<sightline::IncomingRequest, void> {
 public:
  // Takes the bytes over as they are.
  static Status Deserialize(ByteBuffer* arrived, sightline::IncomingRequest* request) {
    request->bytes.Swap(arrived);
    return Status::OK;
  }
};

}  // namespace grpc

#endif  // SIGHTLINE_COMMON_RPC_RPC_SERVICE_H_
