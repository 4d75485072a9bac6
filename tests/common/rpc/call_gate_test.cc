#include "common/rpc/call_gate.h"

#include <atomic>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/error_details.h"
#include "tests/common/rpc/test_server.h"
#include "tests/support/captured_log.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/gate.h"
#include "tests/support/http_get.h"

namespace sightline {
namespace {

using Catch::Contains;

TEST_CASE("A call without a deadline gets the default one, a long one is cut") {
  FakeClock clock;
  RpcServerOptions options;
  options.default_deadline = absl::Seconds(7);
  options.max_deadline = absl::Seconds(20);
  absl::Duration seen;
  TestServer server(
      [&](const CallContext& call) {
        seen = call.remaining();
        return absl::OkStatus();
      },
      options, &clock);
  REQUIRE(server.Call().ok());
  CHECK(seen == absl::Seconds(7));

  grpc::ClientContext patient;
  patient.set_deadline(std::chrono::system_clock::now() + std::chrono::hours(1));
  REQUIRE(server.Call(&patient).ok());
  CHECK(seen == absl::Seconds(20));

  grpc::ClientContext normal;
  normal.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(15));
  REQUIRE(server.Call(&normal).ok());
  CHECK(seen < absl::Seconds(16));  // gRPC rounds up on the wire
  CHECK(seen > absl::ZeroDuration());
}

TEST_CASE("A handler learns that its caller went away") {
  Gate entered, gone;
  TestServer server([&](const CallContext& call) {
    const auto told = call.cancellation()->OnCancel([&] { gone.Open(); });
    entered.Open();
    gone.Wait();
    return call.Check("test");
  });
  grpc::ClientContext context;
  absl::Status status;
  std::thread caller([&] { status = server.Call(&context); });
  entered.Wait();
  context.TryCancel();
  gone.Wait();
  caller.join();
  CHECK(absl::IsCancelled(status));
}

TEST_CASE("A call of which nobody can tell whether its caller has gone is served") {
  FakeClock clock;
  MetricsRegistry metrics;
  CallGate gate(RpcServerOptions(), &metrics, &clock);
  IncomingCall incoming;
  incoming.size = RequestSize();
  bool cancelled = true;
  const absl::Status status =
      gate.AddMethod("service", "method")->Serve(incoming, [&](const CallContext& call) {
        cancelled = call.cancelled();
        return absl::OkStatus();
      });
  REQUIRE(status.ok());
  REQUIRE_FALSE(cancelled);
}

TEST_CASE("A usable request id is kept, any other replaced, and the caller is told") {
  std::string seen;
  TestServer server([&](const CallContext& call) {
    seen = call.request_id();
    return absl::OkStatus();
  });
  const auto call = [&](const std::string& offered) {
    grpc::ClientContext context;
    if (!offered.empty()) context.AddMetadata("x-request-id", offered);
    REQUIRE(server.Call(&context).ok());
    const auto found = context.GetServerInitialMetadata().find("x-request-id");
    REQUIRE(found != context.GetServerInitialMetadata().end());
    CHECK(std::string(found->second.data(), found->second.size()) == seen);
    return seen;
  };
  CHECK(call("abc-123") == "abc-123");
  CHECK(call("").size() == 32);
  CHECK(call("two words").size() == 32);
  CHECK(call(std::string(129, 'x')).size() == 32);
}

TEST_CASE("An error reaches the caller with its details") {
  TestServer server([](const CallContext&) {
    return WithPrecondition(
        WithField(WithRetryDelay(MakeError(reasons::kEmbeddingSpaceMismatch, "another space",
                                           {{"expectedSpace", "a"}}),
                                 absl::Milliseconds(1250)),
                  "query.embedding"),
        {"SPACE", "indexes/pictures", "the index has space a"});
  });
  const absl::Status status = server.Call();
  CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK(status.message() == "another space");
  REQUIRE(HasReason(status, reasons::kEmbeddingSpaceMismatch));
  CHECK(GetReason(status)->metadata.at("expectedSpace") == "a");
  CHECK(GetFields(status) == std::vector<std::string>{"query.embedding"});
  CHECK(GetRetryDelay(status) == absl::Milliseconds(1250));
  REQUIRE(GetPreconditions(status).size() == 1);
  CHECK(GetPreconditions(status)[0].subject == "indexes/pictures");
}

TEST_CASE("The greatest possible error still reaches the caller as itself") {
  // Percent-encoding triples these bytes, and all lists are full.
  const std::string text = absl::StrReplaceAll(std::string(5000, 'x'), {{"x", "\xC3\xA4"}});
  TestServer server([&](const CallContext&) {
    std::map<std::string, std::string> metadata;
    for (int i = 0; i < 50; ++i) metadata[absl::StrCat(i, text)] = text;
    absl::Status status = WithReason(absl::InvalidArgumentError(text), ErrorReason{text, metadata});
    for (int i = 0; i < 50; ++i) {
      status = WithPrecondition(WithField(std::move(status), text), {text, text, text});
    }
    return status;
  });
  const absl::Status status = server.Call();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(status.message().size() > 900);
  REQUIRE(GetReason(status).has_value());
  CHECK(GetReason(status)->metadata.size() > 2);
}

TEST_CASE("An exception ends the call, not the process, and stays private") {
  bool out_of_memory = false;
  TestServer server([&](const CallContext&) -> absl::Status {
    if (out_of_memory) throw std::bad_alloc();
    throw std::runtime_error("secret");
  });
  const absl::Status status = server.Call();
  CHECK(status.code() == absl::StatusCode::kInternal);
  CHECK_THAT(std::string(status.message()), !Contains("secret"));
  out_of_memory = true;
  CHECK(server.Call().code() == absl::StatusCode::kResourceExhausted);
}

TEST_CASE("One call too many is refused at once, with when to come back") {
  RpcServerOptions options;
  options.max_concurrent_calls = 1;
  Gate entered, release;
  TestServer server(
      [&](const CallContext&) {
        entered.Open();
        release.Wait();
        return absl::OkStatus();
      },
      options);
  absl::Status admitted;
  std::thread first([&] { admitted = server.Call(); });
  entered.Wait();
  CHECK(server.server.gate()->in_flight() == 1);
  const absl::Status refused = server.Call();
  release.Open();
  first.join();
  CHECK(admitted.ok());
  CHECK(refused.code() == absl::StatusCode::kResourceExhausted);
  CHECK(HasReason(refused, reasons::kServerBusy));
  CHECK(GetRetryDelay(refused) == absl::Milliseconds(100));
  CHECK(server.Call().ok());
  CHECK(server.server.gate()->in_flight() == 0);
}

TEST_CASE("A status call is answered at any load") {
  RpcServerOptions options;
  options.max_concurrent_calls = 1;
  Gate release;
  std::atomic<int> calls{0};
  Gate all_entered;
  TestServer server(
      [&](const CallContext&) {
        if (++calls == 3) all_entered.Open();
        release.Wait();
        return absl::OkStatus();
      },
      options, Clock::Real(), CallGate::Admission::kAlways);
  std::vector<absl::Status> statuses(3);
  std::vector<std::thread> callers;
  for (absl::Status& status : statuses) {
    callers.emplace_back([&] { status = server.Call(); });
  }
  all_entered.Wait();
  release.Open();
  for (std::thread& caller : callers) caller.join();
  for (const absl::Status& status : statuses) CHECK(status.ok());
}

TEST_CASE("The metrics page counts calls by method and code, from zero") {
  bool fail = false;
  TestServer server([&](const CallContext&) {
    return fail ? absl::NotFoundError("no such index") : absl::OkStatus();
  });
  const auto page = [&] { return HttpGet(server.server.metrics_port(), "/metrics"); };
  const auto calls = [](const std::string& code, int count) {
    return absl::StrCat("sightline_rpc_calls_total{code=\"", code,
                        "\",method=\"GetStatus\",service=\"sightline.v1.Admin\"} ", count, "\n");
  };
  CHECK_THAT(page(), Contains(calls("OK", 0)));
  CHECK_THAT(page(), Contains(calls("DATA_LOSS", 0)));
  REQUIRE(server.Call().ok());
  REQUIRE(server.Call().ok());
  fail = true;
  REQUIRE(absl::IsNotFound(server.Call()));
  const std::string after = page();
  CHECK_THAT(after, Contains(calls("OK", 2)));
  CHECK_THAT(after, Contains(calls("NOT_FOUND", 1)));
  CHECK_THAT(after, Contains("sightline_rpc_latency_seconds_count{method=\"GetStatus\","
                             "service=\"sightline.v1.Admin\"} 3"));
  CHECK_THAT(after, Contains("sightline_rpc_in_flight{method=\"GetStatus\","
                             "service=\"sightline.v1.Admin\"} 0"));
}

TEST_CASE("A failure is logged once per period with its request id, success never") {
  FakeClock clock;
  bool fail = false;
  TestServer server(
      [&](const CallContext&) { return fail ? absl::DataLossError("bad CRC") : absl::OkStatus(); },
      RpcServerOptions(), &clock);
  CapturedLog log;
  REQUIRE(server.Call().ok());
  CHECK(log.Take().empty());
  fail = true;
  const auto call = [&](const std::string& id) {
    grpc::ClientContext context;
    context.AddMetadata("x-request-id", id);
    REQUIRE(absl::IsDataLoss(server.Call(&context)));
  };
  call("first");
  call("second");
  std::vector<std::string> lines = log.Take();
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0], Contains("\"severity\":\"ERROR\"") && Contains("\"code\":\"DATA_LOSS\"") &&
                           Contains("\"message\":\"bad CRC\"") &&
                           Contains("\"request_id\":\"first\"") &&
                           Contains("\"method\":\"GetStatus\""));
  clock.Advance(absl::Seconds(10));
  call("third");
  lines = log.Take();
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0], Contains("\"suppressed\":1"));
}

}  // namespace
}  // namespace sightline
