#include "common/rpc/rpc_server.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "common/base/error_details.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/common/rpc/test_server.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/gate.h"

namespace sightline {
namespace {

namespace health = ::grpc::health::v1;

absl::Status Ok(const CallContext&) {
  return absl::OkStatus();
}

TEST_CASE("Health is NOT_SERVING until told otherwise, for every service and the server") {
  TestServer server(Ok);
  INFO(server.started);
  REQUIRE(server.started.ok());
  REQUIRE(server.server.port() > 0);
  CHECK(server.Health("") == "NOT_SERVING");
  CHECK(server.Health("sightline.v1.Admin") == "NOT_SERVING");
  server.server.SetServing(true);
  CHECK(server.server.serving());
  CHECK(server.Health("") == "SERVING");
  CHECK(server.Health("sightline.v1.Admin") == "SERVING");
  CHECK(server.Health("sightline.v1.Nobody") == "NOT_FOUND");
  server.server.SetServing(false);
  CHECK(server.Health("") == "NOT_SERVING");
  CHECK(server.Health("sightline.v1.Admin") == "NOT_SERVING");
}

TEST_CASE("A health watch is told of a drain while the server still answers") {
  RpcServerOptions options;
  TestServer server(Ok, options);
  server.server.SetServing(true);
  grpc::ClientContext context;
  auto stub = health::Health::NewStub(server.NewChannel());
  const auto watch = stub->Watch(&context, health::HealthCheckRequest());
  health::HealthCheckResponse response;
  REQUIRE(watch->Read(&response));
  CHECK(response.status() == health::HealthCheckResponse::SERVING);
  std::thread drain([&] { server.server.Drain(); });
  REQUIRE(watch->Read(&response));
  CHECK(response.status() == health::HealthCheckResponse::NOT_SERVING);
  context.TryCancel();
  drain.join();
  server.server.SetServing(true);  // too late
  CHECK_FALSE(server.server.serving());
}

TEST_CASE("A server that served answers for drain_delay after it began to drain") {
  FakeClock clock;
  RpcServerOptions options;
  options.drain_delay = absl::Minutes(5);
  TestServer server(Ok, options, &clock);
  server.server.SetServing(true);
  server.server.SetServing(false);
  CHECK_FALSE(server.server.draining());
  std::thread drain([&] { server.server.Drain(); });
  clock.AwaitSleepers(1);
  CHECK(server.server.draining());
  CHECK(server.Call().ok());
  clock.Advance(absl::Minutes(5));
  drain.join();
  CHECK_FALSE(server.Call().ok());
}

TEST_CASE("A server whose start failed does not wait to be drained") {
  FakeClock clock;  // stands: a wait would not end
  RpcServerOptions options;
  options.drain_delay = absl::Minutes(5);
  options.metrics_listen = "127.0.0.1:0";
  TestServer first(Ok, options, &clock);
  options.metrics_listen = absl::StrCat("127.0.0.1:", first.server.metrics_port());
  TestServer second(Ok, options, &clock);
  CHECK(second.started.code() == absl::StatusCode::kUnavailable);
  second.server.Drain();
  CHECK_FALSE(second.Call().ok());
}

TEST_CASE("A drain lets the call in progress end and refuses new ones") {
  Gate entered, release;
  TestServer server([&](const CallContext& call) {
    entered.Open();
    release.Wait();
    return call.Check("test");
  });
  absl::Status first;
  std::thread caller([&] { first = server.Call(); });
  entered.Wait();
  std::thread drain([&] { server.server.Drain(); });
  // New connections are refused from some moment on; the health service tells when.
  while (server.Health("") != "UNAVAILABLE") {
  }
  CHECK(server.Call().code() == absl::StatusCode::kUnavailable);
  release.Open();
  caller.join();
  drain.join();
  INFO(first);
  CHECK(first.ok());
}

TEST_CASE("A drain cancels what outlasts its timeout, and returns when handlers have ended") {
  RpcServerOptions options;
  options.drain_timeout = absl::ZeroDuration();
  Gate entered;
  bool cancelled = false;
  TestServer server(
      [&](const CallContext& call) {
        Gate gone;
        const auto told = call.cancellation()->OnCancel([&] { gone.Open(); });
        entered.Open();
        gone.Wait();
        cancelled = true;
        return call.Check("test");
      },
      options);
  absl::Status status;
  std::thread caller([&] { status = server.Call(); });
  entered.Wait();
  server.server.Drain();
  CHECK(cancelled);
  caller.join();
  CHECK_FALSE(status.ok());
}

TEST_CASE("A connection that is old takes no new call, and its call in progress goes on") {
  RpcServerOptions options;
  options.max_connection_age = absl::Milliseconds(50);
  Gate entered, release;
  TestServer server(
      [&](const CallContext& call) {
        entered.Open();
        release.Wait();
        return call.Check("test");
      },
      options);
  const auto channel = server.NewChannel();
  absl::Status first;
  std::thread caller([&] {
    grpc::ClientContext context;
    first = TestServer::CallOn(channel, &context);
  });
  entered.Wait();
  const bool closed = channel->WaitForStateChange(
      GRPC_CHANNEL_READY, std::chrono::system_clock::now() + std::chrono::seconds(30));
  release.Open();
  caller.join();
  CHECK(closed);
  INFO(first);
  CHECK(first.ok());
  grpc::ClientContext context;
  CHECK(TestServer::CallOn(channel, &context).ok());  // on the next connection
}

TEST_CASE("What no deadline ends, the age of its connection does") {
  RpcServerOptions options;
  options.max_connection_age = absl::Milliseconds(50);
  options.max_deadline = absl::Milliseconds(50);
  TestServer server(Ok, options);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  const auto stub = health::Health::NewStub(server.NewChannel());
  const auto watch = stub->Watch(&context, health::HealthCheckRequest());
  health::HealthCheckResponse response;
  REQUIRE(watch->Read(&response));
  CHECK_FALSE(watch->Read(&response));
  const absl::Status end = FromGrpcStatus(watch->Finish());
  INFO(end);
  CHECK_FALSE(end.ok());
  CHECK_FALSE(absl::IsDeadlineExceeded(end));
}

TEST_CASE("A taken port and a malformed address are errors, not surprises") {
  TestServer first(Ok);
  REQUIRE(first.started.ok());
  RpcServerOptions options;
  options.listen = first.address();
  CHECK(TestServer(Ok, options).started.code() == absl::StatusCode::kUnavailable);
  options.listen = "nowhere";
  CHECK(TestServer(Ok, options).started.code() == absl::StatusCode::kInvalidArgument);
  options.listen = "127.0.0.1:0";
  options.metrics_listen = absl::StrCat("127.0.0.1:", first.server.metrics_port());
  CHECK(TestServer(Ok, options).started.code() == absl::StatusCode::kUnavailable);
}

TEST_CASE("A server can do without a metrics page") {
  RpcServerOptions options;
  options.metrics_listen = "";
  TestServer server(Ok, options);
  CHECK(server.server.metrics_port() == 0);
  CHECK(server.Call().ok());
}

TEST_CASE("A message that is too long is RESOURCE_EXHAUSTED") {
  RpcServerOptions options;
  options.max_receive_bytes = 10000;
  TestServer server(Ok, options);
  for (const size_t length : {9000, 11000}) {
    v1::GetStatusRequest request;
    request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(
        1000, std::string(length, 'x'));
    v1::GetStatusResponse response;
    grpc::ClientContext context;
    const grpc::Status status =
        v1::Admin::NewStub(server.NewChannel())->GetStatus(&context, request, &response);
    CHECK(status.error_code() ==
          (length < 10000 ? grpc::StatusCode::OK : grpc::StatusCode::RESOURCE_EXHAUSTED));
  }
}

TEST_CASE("Draining twice and a server that never started are harmless") {
  TestServer server(Ok);
  server.server.Drain();
  server.server.Drain();
  MetricsRegistry metrics;
  RpcServer idle(RpcServerOptions(), &metrics);
  idle.SetServing(true);
  idle.Drain();
}

}  // namespace
}  // namespace sightline
