#include "common/rpc/health_service.h"

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/common/rpc/test_server.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/gate.h"

namespace sightline {
namespace {

namespace health = ::grpc::health::v1;
using Response = health::HealthCheckResponse;

const std::string kLiveness(kLivenessEntry);

absl::Status Ok(const CallContext&) {
  return absl::OkStatus();
}

// Calls that stay in their handlers until they are released, each on a thread of its own.
struct HeldCalls {
  ~HeldCalls() { Release(); }

  absl::Status Handle(const CallContext&) {
    ++entered;
    release.Wait();
    return absl::OkStatus();
  }
  void Call(const TestServer& server, int count) {
    const int before = entered;
    for (int i = 0; i < count; ++i) {
      callers.emplace_back([&server] { (void)server.Call(); });
    }
    while (entered < before + count) std::this_thread::yield();
  }
  void Release() {
    release.Open();
    for (std::thread& caller : callers) caller.join();
    callers.clear();
  }

  std::atomic<int> entered{0};
  Gate release;
  std::vector<std::thread> callers;
};

// A caller's watch of a service.
struct Watch {
  explicit Watch(const std::shared_ptr<grpc::Channel>& channel, const std::string& service = "")
      : stub(health::Health::NewStub(channel)) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    health::HealthCheckRequest request;
    request.set_service(service);
    stream = stub->Watch(&context, request);
  }

  // The next state, or the error that the watch ended with.
  std::string Next() {
    Response response;
    if (stream->Read(&response)) return Response::ServingStatus_Name(response.status());
    return StatusCodeName(FromGrpcStatus(stream->Finish()).code());
  }

  grpc::ClientContext context;
  const std::unique_ptr<health::Health::Stub> stub;
  std::unique_ptr<grpc::ClientReader<Response>> stream;
};

// What new watches are told first, once it is something else than `state`.
std::string NextUnless(const std::string& state, const std::shared_ptr<grpc::Channel>& channel) {
  std::string told;
  do told = Watch(channel).Next();
  while (told == state);
  return told;
}

// Watches that have been opened, and ask nothing.
class SilentWatches {
 public:
  SilentWatches(const std::shared_ptr<grpc::Channel>& channel, int count)
      : stub_(channel), contexts_(count) {
    for (grpc::ClientContext& context : contexts_) {
      calls_.push_back(stub_.PrepareCall(&context, "/grpc.health.v1.Health/Watch", &queue_));
      calls_.back()->StartCall(nullptr);
    }
    for (int i = 0; i < count; ++i) REQUIRE(NextEvent());
  }
  ~SilentWatches() {
    for (grpc::ClientContext& context : contexts_) context.TryCancel();
    queue_.Shutdown();
    while (NextEvent()) continue;
  }

  void CancelFirst() { contexts_.front().TryCancel(); }

 private:
  bool NextEvent() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok);
  }

  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  std::deque<grpc::ClientContext> contexts_;
  std::vector<std::unique_ptr<grpc::GenericClientAsyncReaderWriter>> calls_;
};

TEST_CASE(
    "liveness is SERVING while the server loads, serves, has lost what it serves, and drains") {
  FakeClock clock;
  RpcServerOptions options;
  options.drain_delay = absl::Minutes(5);
  TestServer server(Ok, options, &clock);
  CHECK(server.Health("") == "NOT_SERVING");
  CHECK(server.Health(kLiveness) == "SERVING");
  for (const bool serving : {true, false, true}) {
    server.server.SetServing(serving);
    CHECK(server.Health("") == (serving ? "SERVING" : "NOT_SERVING"));
    CHECK(server.Health(kLiveness) == "SERVING");
  }
  Watch watch(server.NewChannel());
  CHECK(watch.Next() == "SERVING");
  std::atomic<bool> drained{false};
  std::thread drain([&] {
    server.server.Drain();
    drained = true;
  });
  CHECK(watch.Next() == "NOT_SERVING");
  CHECK(server.Health(kLiveness) == "SERVING");
  watch.context.TryCancel();
  while (!drained) clock.Advance(absl::Minutes(5));  // it may not sleep yet
  drain.join();
  CHECK(server.Health(kLiveness) == "UNAVAILABLE");
}

TEST_CASE("a server that takes no more calls is alive for as long as they may last, and a minute") {
  FakeClock clock;
  RpcServerOptions options;
  options.max_concurrent_calls = 2;
  options.max_deadline = absl::Seconds(30);
  HeldCalls held;
  TestServer server([&](const CallContext& call) { return held.Handle(call); }, options, &clock);
  server.server.SetServing(true);
  clock.Advance(absl::Hours(1));  // idle
  held.Call(server, 1);
  clock.Advance(absl::Hours(1));  // one is stuck, and another would be served
  CHECK(server.Health(kLiveness) == "SERVING");
  held.Call(server, 1);
  CHECK(absl::IsResourceExhausted(server.Call()));
  clock.Advance(absl::Seconds(90));
  CHECK(absl::IsResourceExhausted(server.Call()));  // which is no sign of life
  CHECK(server.Health(kLiveness) == "SERVING");
  clock.Advance(absl::Seconds(1));
  CHECK(server.Health(kLiveness) == "NOT_SERVING");
  CHECK(server.Health("") == "SERVING");
  held.Release();
  CHECK(server.Health(kLiveness) == "SERVING");
}

TEST_CASE("a server whose threads are all stuck does not answer for its liveness") {
  RpcServerOptions options;
  options.max_concurrent_calls = 1;
  HeldCalls held;
  // Status calls, which nothing limits but the threads that there are.
  TestServer server([&](const CallContext& call) { return held.Handle(call); }, options,
                    Clock::Real(), CallGate::Admission::kAlways);
  std::atomic<bool> refused{false};
  while (!refused) {
    const int before = held.entered;
    held.callers.emplace_back([&] { refused = refused || !server.Call().ok(); });
    while (held.entered == before && !refused) std::this_thread::yield();
  }
  CHECK(server.Health(kLiveness) == "RESOURCE_EXHAUSTED");
  held.Release();
  CHECK(server.Health(kLiveness) == "SERVING");
}

TEST_CASE("a watch is told the state and its changes, of each service its own") {
  TestServer server(Ok);
  const auto channel = server.NewChannel();
  Watch whole(channel), admin(channel, "sightline.v1.Admin"), liveness(channel, kLiveness);
  Watch nobody(channel, "sightline.v1.Nobody");
  CHECK(whole.Next() == "NOT_SERVING");
  CHECK(admin.Next() == "NOT_SERVING");
  CHECK(liveness.Next() == "SERVING");
  CHECK(nobody.Next() == "SERVICE_UNKNOWN");
  server.server.SetServing(true);
  CHECK(whole.Next() == "SERVING");
  CHECK(admin.Next() == "SERVING");
  server.server.SetServing(false);
  CHECK(whole.Next() == "NOT_SERVING");
  CHECK(admin.Next() == "NOT_SERVING");
  // Nothing happened to the others.
  liveness.context.TryCancel();
  CHECK(liveness.Next() == "CANCELLED");
  nobody.context.TryCancel();
  CHECK(nobody.Next() == "CANCELLED");
}

TEST_CASE("a watch that asks too much, or is one too many, ends with the reason") {
  TestServer server(Ok);
  const auto channel = server.NewChannel();
  CHECK(Watch(channel, std::string(5000, 'x')).Next() == "INVALID_ARGUMENT");
  CHECK(Watch(channel, "\xff").Next() == "INVALID_ARGUMENT");
  std::vector<std::unique_ptr<Watch>> watches;
  while (watches.size() < HealthService::kMaxWatches) {
    watches.push_back(std::make_unique<Watch>(channel));
    REQUIRE(watches.back()->Next() == "NOT_SERVING");
  }
  // Any other error would say that the server is not to be asked.
  CHECK(Watch(channel).Next() == "UNIMPLEMENTED");
  CHECK(server.Health("") == "NOT_SERVING");  // they hold no thread
  watches.back()->context.TryCancel();
  CHECK(watches.back()->Next() == "CANCELLED");
  // The server may take note of the end of one after it hears of the next.
  CHECK(NextUnless("UNIMPLEMENTED", channel) == "NOT_SERVING");
}

TEST_CASE("watches that never ask are as many as others, and end with the server") {
  TestServer server(Ok);
  const auto channel = server.NewChannel();
  SilentWatches silent(channel, HealthService::kMaxWatches);
  // The server hears of them one by one.
  CHECK(NextUnless("NOT_SERVING", channel) == "UNIMPLEMENTED");
  silent.CancelFirst();
  CHECK(NextUnless("UNIMPLEMENTED", channel) == "NOT_SERVING");
  server.server.Drain();
}

}  // namespace
}  // namespace sightline
