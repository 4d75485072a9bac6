#include "loadtest/fleet/await_serving.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace sightline {

absl::Status AwaitServing(const std::string& address, const CallContext& call) {
  using grpc::health::v1::HealthCheckResponse;
  const auto stub = grpc::health::v1::Health::NewStub(MakeChannel(address));
  for (;;) {
    RETURN_IF_ERROR(call.Check(absl::StrCat("waiting for ", address, " to be SERVING")));
    const std::shared_ptr<grpc::ClientContext> context = NewClientContext(call);
    context->set_wait_for_ready(true);
    const auto watch = stub->Watch(context.get(), grpc::health::v1::HealthCheckRequest());
    HealthCheckResponse health;
    while (watch->Read(&health)) {
      if (health.status() != HealthCheckResponse::SERVING) continue;
      context->TryCancel();
      (void)watch->Finish();
      return absl::OkStatus();
    }
    // A server that went away may come back; the end of the call shows above.
    const grpc::Status ended = watch->Finish();
    if (ended.error_code() == grpc::StatusCode::UNIMPLEMENTED) return FromGrpcStatus(ended);
  }
}

}  // namespace sightline
