#include "common/rpc/channel.h"

#include <memory>
#include <string>
#include <thread>

#include "tests/common/rpc/test_server.h"
#include "tests/support/catch.h"
#include "tests/support/gate.h"

namespace sightline {
namespace {

TEST_CASE("Nobody there is UNAVAILABLE, and a server that comes back is found again") {
  int port = 0;
  {
    TestServer gone([](const CallContext&) { return absl::OkStatus(); });
    port = gone.server.port();
  }
  const std::string address = absl::StrCat("127.0.0.1:", port);
  const std::shared_ptr<grpc::Channel> channel = MakeChannel(address);
  grpc::ClientContext early;
  CHECK(TestServer::CallOn(channel, &early).code() == absl::StatusCode::kUnavailable);

  RpcServerOptions options;
  options.listen = address;
  TestServer back([](const CallContext&) { return absl::OkStatus(); }, options);
  REQUIRE(back.started.ok());
  grpc::ClientContext late;
  late.set_wait_for_ready(true);
  CHECK(TestServer::CallOn(channel, &late).ok());
}

TEST_CASE("A client context carries deadline and request id to the backend") {
  std::string id;
  absl::Duration remaining;
  TestServer backend([&](const CallContext& call) {
    id = call.request_id();
    remaining = call.remaining();
    return absl::OkStatus();
  });
  Clock* const clock = Clock::Real();
  const CallContext call =
      CallContext(clock, clock->Now() + absl::Seconds(30)).WithRequestId("request-7");
  const auto context = NewClientContext(call);
  REQUIRE(backend.Call(context.get()).ok());
  CHECK(id == "request-7");
  CHECK(remaining < absl::Seconds(32));  // gRPC rounds up on the wire
  CHECK(remaining > absl::Seconds(6));   // not the default of 5 s

  const auto unbounded = NewClientContext(CallContext::Unbounded());
  REQUIRE(backend.Call(unbounded.get()).ok());
  CHECK(id.size() == 32);  // the backend named it
}

TEST_CASE("Calls to backends that have ended leave nothing in the call that made them") {
  const CallContext call = CallContext::Unbounded();
  for (int i = 0; i < 10; ++i) (void)NewClientContext(call);
  CHECK(call.cancellation()->callbacks() == 0);
  const auto context = NewClientContext(call);
  CHECK(call.cancellation()->callbacks() == 1);
}

TEST_CASE("A call whose time is over fails without reaching the backend") {
  bool reached = false;
  TestServer backend([&](const CallContext&) {
    reached = true;
    return absl::OkStatus();
  });
  const CallContext call(Clock::Real(), Clock::Real()->Now() - absl::Seconds(1));
  CHECK(absl::IsDeadlineExceeded(backend.Call(NewClientContext(call).get())));
  CHECK_FALSE(reached);
}

TEST_CASE("Cancelling a call cancels what was asked of backends for it") {
  Gate entered, gone;
  TestServer backend([&](const CallContext& call) {
    const auto told = call.cancellation()->OnCancel([&] { gone.Open(); });
    entered.Open();
    gone.Wait();
    return call.Check("backend");
  });
  const CallContext call = CallContext::Unbounded();
  absl::Status status;
  std::thread caller([&] { status = backend.Call(NewClientContext(call).get()); });
  entered.Wait();
  call.cancellation()->Cancel();
  caller.join();
  gone.Wait();
  CHECK(absl::IsCancelled(status));
}

TEST_CASE("A cancellation after the call's end touches nothing") {
  const CallContext call = CallContext::Unbounded();
  NewClientContext(call);
  call.cancellation()->Cancel();
  CHECK(call.cancelled());
}

TEST_CASE("Messages of megabytes pass") {
  RpcServerOptions options;
  options.max_receive_bytes = 32 << 20;
  TestServer backend([](const CallContext&) { return absl::OkStatus(); }, options);
  v1::GetStatusRequest request;
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(
      1000, std::string(20 << 20, 'x'));
  v1::GetStatusResponse response;
  grpc::ClientContext context;
  CHECK(v1::Admin::NewStub(backend.NewChannel())->GetStatus(&context, request, &response).ok());
}

}  // namespace
}  // namespace sightline
