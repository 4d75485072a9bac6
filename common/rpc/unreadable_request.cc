#include "common/rpc/unreadable_request.h"

#include "absl/status/status.h"
#include "common/base/error_details.h"
#include "common/rpc/grpc_status.h"

namespace sightline {
namespace {

using ::grpc::experimental::InterceptionHookPoints;
using ::grpc::experimental::Interceptor;
using ::grpc::experimental::InterceptorBatchMethods;
using ::grpc::experimental::ServerInterceptorFactoryInterface;
using ::grpc::experimental::ServerRpcInfo;

// Made for each call.  The hooks of one call never run at the same time.
class UnreadableRequestInterceptor final : public Interceptor {
 public:
  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE)) {
      unread_ = methods->GetRecvMessage() == nullptr;
    }
    // No message is there either when gRPC itself refuses the call, for lack of threads or
    // for its length; those refusals have codes of their own, which are kept.
    if (unread_ && methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS) &&
        methods->GetSendStatus().error_code() == grpc::StatusCode::INTERNAL) {
      methods->ModifySendStatus(ToGrpcStatus(
          WithReason(absl::InvalidArgumentError("the request is not a protobuf message of this "
                                                "method's type; strings must be valid UTF-8"),
                     kUnreadableRequest)));
    }
    methods->Proceed();
  }

 private:
  bool unread_ = false;
};

class Factory final : public ServerInterceptorFactoryInterface {
 public:
  // gRPC owns what this returns; null leaves the call alone.  For a stream, no message
  // means its end.
  Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    return info->type() == ServerRpcInfo::Type::UNARY ? new UnreadableRequestInterceptor : nullptr;
  }
};

}  // namespace

std::unique_ptr<ServerInterceptorFactoryInterface> RefuseUnreadableRequests() {
  return std::make_unique<Factory>();
}

}  // namespace sightline
