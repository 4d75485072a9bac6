// A real server on a free port, whose one method does what a test says.
#ifndef SIGHTLINE_TESTS_COMMON_RPC_TEST_SERVER_H_
#define SIGHTLINE_TESTS_COMMON_RPC_TEST_SERVER_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/metrics/metrics.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/rpc_server.h"
#include "common/rpc/rpc_service.h"
#include "sightline/v1/admin.grpc.pb.h"
#include "tests/common/rpc/health_of.h"

namespace sightline {

using TestHandler = std::function<absl::Status(const CallContext&)>;

// Admin, answered by a handler of the test.
class TestService final : public RpcService {
 public:
  TestService(CallGate* calls, CallGate::Admission admission, TestHandler handler)
      : RpcService(v1::Admin::service_full_name(), calls), handler_(std::move(handler)) {
    AddUnary("GetStatus", &TestService::GetStatus, admission);
  }

 private:
  absl::Status GetStatus(v1::GetStatusRequest, const CallContext& call,
                         v1::GetStatusResponse* response) {
    response->set_service("test");
    return handler_(call);
  }

  const TestHandler handler_;
};

struct TestServer {
  explicit TestServer(TestHandler handler, const RpcServerOptions& options = {},
                      Clock* clock = Clock::Real(),
                      CallGate::Admission admission = CallGate::Admission::kLimited)
      : server(options, &metrics, clock), service(server.gate(), admission, std::move(handler)) {
    server.AddService(&service);
    started = server.Start();
  }
  ~TestServer() { server.Drain(); }

  std::string address() const { return absl::StrCat("127.0.0.1:", server.port()); }
  std::shared_ptr<grpc::Channel> NewChannel() const { return MakeChannel(address()); }

  // One call on a connection of its own.
  absl::Status Call(grpc::ClientContext* context) const { return CallOn(NewChannel(), context); }
  absl::Status Call() const {
    grpc::ClientContext context;
    return Call(&context);
  }

  std::string Health(const std::string& service) const { return HealthOf(NewChannel(), service); }

  static absl::Status CallOn(const std::shared_ptr<grpc::Channel>& channel,
                             grpc::ClientContext* context) {
    v1::GetStatusResponse response;
    return FromGrpcStatus(
        v1::Admin::NewStub(channel)->GetStatus(context, v1::GetStatusRequest(), &response));
  }

  MetricsRegistry metrics;
  RpcServer server;
  TestService service;
  absl::Status started;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_RPC_TEST_SERVER_H_
