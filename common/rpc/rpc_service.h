// A service whose requests are measured before they are read.
//
//   class IndexSearchService final : public RpcService {
//    public:
//     IndexSearchService(SearchEngine* engine, CallGate* calls)
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
// in memory (request_memory.h, GatedMethod::Serve); then it is read, its buffers are freed, and the
// handler owns the message and moves an upload out of it.  So each upload under way is in memory
// once.
#ifndef SIGHTLINE_COMMON_RPC_RPC_SERVICE_H_
#define SIGHTLINE_COMMON_RPC_RPC_SERVICE_H_

#include <google/protobuf/arena.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message_lite.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/config.h>
#include <grpcpp/support/status.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/rpc/call_gate.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/request_memory.h"

namespace sightline {

// A request as it arrived.
struct IncomingRequest {
  // gRPC hands requests to handlers as const; these bytes are for whoever reads them.
  mutable grpc::ByteBuffer bytes;
};

// How long `incoming` is, and what it will take when it is read as a message of `type`, counted
// to a little above `most`.  INVALID_ARGUMENT (UNREADABLE_REQUEST): it cannot be read.
// CANCELLED: it has not arrived whole.
absl::StatusOr<RequestSize> MeasureRequest(const IncomingRequest& incoming,
                                           const google::protobuf::Descriptor& type, int64_t most);

// Reads `incoming` and frees its bytes.  INVALID_ARGUMENT (UNREADABLE_REQUEST): protobuf
// cannot read it; a string that is not UTF-8, most of the time.  CANCELLED as above.
absl::Status ReadRequest(const IncomingRequest& incoming, google::protobuf::MessageLite* message);

// INTERNAL: it is longer than protobuf can write (2 GiB).
grpc::Status WriteAnswer(const google::protobuf::MessageLite& message, grpc::ByteBuffer* answer);

// The call as the gate knows it.  Its request id is the caller's `x-request-id` (up to 128 visible
// ASCII characters) or a new one, and goes back in the initial metadata.  `context` outlives it.
IncomingCall CallOf(grpc::ServerContext* context, absl::StatusOr<RequestSize> size,
                    std::shared_ptr<Cancellation> cancellation);

class EventLoop;
class RpcStream;

// Where a handler runs.
enum class HandlerPlace {
  // In a thread of its own, in which it may compute and block.
  kThread,
  // In a fiber (fiber.h) of the thread that reads and writes, which it holds up while it computes,
  // and not while it waits.  Where that has much to do, and for long requests, in a thread.
  kFiber,
};

// Handlers run at the same time.
class RpcService : public grpc::Service {
 public:
  RpcService(const RpcService&) = delete;
  RpcService& operator=(const RpcService&) = delete;

  // "sightline.v1.Reranker".
  const std::string& full_name() const { return full_name_; }

  // Once the server has started: takes callers, of which `loop` hears, which outlives them.
  void Accept(EventLoop* loop);

 protected:
  // `full_name` is the generated `service_full_name()`.  `calls` must outlive this.
  RpcService(absl::string_view full_name, CallGate* calls) : full_name_(full_name), calls_(calls) {}

  // Serves the unary `method` by a member function of the derived class, within
  // GatedMethod::Serve.  For constructors.
  template <typename Derived, typename Request, typename Response>
  void AddUnary(const std::string& method,
                absl::Status (Derived::*handler)(Request request, const CallContext& call,
                                                 Response* response),
                CallGate::Admission admission = CallGate::Admission::kLimited,
                HandlerPlace place = HandlerPlace::kThread) {
    GatedMethod* const served = calls_->AddMethod(full_name_, method, admission);
    Derived* const self = static_cast<Derived*>(this);
    AddUnaryMethod(
        method, place,
        [calls = calls_, served, self, handler](
            grpc::ServerContext* context, const IncomingRequest& incoming,
            std::shared_ptr<Cancellation> cancellation, grpc::ByteBuffer* answer) {
          const IncomingCall arrived =
              CallOf(context,
                     MeasureRequest(incoming, *Request::descriptor(), calls->max_in_flight_bytes()),
                     std::move(cancellation));
          // An answer is of many small messages.
          google::protobuf::Arena arena;
          auto* const response = google::protobuf::Arena::CreateMessage<Response>(&arena);
          const absl::Status status =
              served->Serve(arrived, [&](const CallContext& call) -> absl::Status {
                Request request;
                absl::Status read = ReadRequest(incoming, &request);
                return read.ok() ? (self->*handler)(std::move(request), call, response) : read;
              });
          return status.ok() ? WriteAnswer(*response, answer) : ToGrpcStatus(status);
        });
  }

  // Serves `method` by streams that `make` makes, each before its caller comes, outside of the
  // gate.
  void AddStream(const std::string& method, std::function<std::unique_ptr<RpcStream>()> make);

 private:
  class UnaryCall;

  // Answers one call; `cancellation` fires when its caller goes away.
  using ServeUnary = std::function<grpc::Status(
      grpc::ServerContext* context, const IncomingRequest& incoming,
      std::shared_ptr<Cancellation> cancellation, grpc::ByteBuffer* answer)>;
  struct UnaryMethod {
    int index;
    HandlerPlace place;
    ServeUnary serve;
  };
  struct StreamMethod {
    int index;
    std::function<std::unique_ptr<RpcStream>()> make;
  };

  void AddUnaryMethod(const std::string& method, HandlerPlace place, ServeUnary serve);
  // The index of a method that no thread of gRPC's serves; the path lives as long as this.
  int AddRawMethod(const std::string& method, grpc::internal::RpcMethod::RpcType type);
  void AcceptNext(const UnaryMethod& method, EventLoop* loop);
  void AcceptNext(const StreamMethod& method, EventLoop* loop);

  const std::string full_name_;
  CallGate* const calls_;
  std::deque<std::string> paths_;
  std::deque<UnaryMethod> unaries_;
  std::deque<StreamMethod> streams_;
  int methods_ = 0;
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
