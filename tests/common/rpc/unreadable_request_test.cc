#include "common/rpc/unreadable_request.h"

#include <string>

#include "common/base/error_details.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "sightline/v1/search.grpc.pb.h"
#include "tests/common/rpc/test_server.h"
#include "tests/support/catch.h"
#include "tests/support/raw_call.h"

namespace sightline {
namespace {

constexpr char kSearchItems[] = "/sightline.v1.Search/SearchItems";
// A SearchItemsRequest whose query.text is one byte; 0xFF is in no UTF-8 text.
constexpr char kText[] = "\x12\x03\x0a\x01x";
constexpr char kNotUtf8[] = "\x12\x03\x0a\x01\xff";
// A field whose length goes beyond the message.
constexpr char kTruncated[] = "\x12\x40\x0a";

// A server of Search whose handler answers what a test says.
struct SearchServer {
  struct Service final : v1::Search::Service {
    grpc::Status SearchItems(grpc::ServerContext*, const v1::SearchItemsRequest* request,
                             v1::SearchItemsResponse*) override {
      ++calls;
      text = request->query().text();
      return answer;
    }
    int calls = 0;
    std::string text;
    grpc::Status answer;
  };

  explicit SearchServer(const RpcServerOptions& options = {}) : server(options, &metrics) {
    server.AddService(v1::Search::service_full_name(), &service);
    REQUIRE(server.Start().ok());
    channel = MakeChannel(absl::StrCat("127.0.0.1:", server.port()));
  }
  ~SearchServer() { server.Drain(); }

  Service service;
  MetricsRegistry metrics;
  RpcServer server;
  std::shared_ptr<grpc::Channel> channel;
};

void RequireUnreadable(const grpc::Status& wire) {
  const absl::Status status = FromGrpcStatus(wire);
  INFO(status.ToString());
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(status.message()), Catch::Contains("strings must be valid UTF-8"));
  REQUIRE(GetReason(status).has_value());
  CHECK(GetReason(status)->reason == "UNREADABLE_REQUEST");
}

TEST_CASE("A text that is not UTF-8 and bytes that are no message are INVALID_ARGUMENT") {
  SearchServer server;
  RequireUnreadable(RawCall(server.channel, kSearchItems, kNotUtf8));
  RequireUnreadable(RawCall(server.channel, kSearchItems, kTruncated));
  CHECK(server.service.calls == 0);
}

TEST_CASE("A request that can be read reaches its handler, before and after one that cannot") {
  SearchServer server;
  CHECK(RawCall(server.channel, kSearchItems, kText).ok());
  RequireUnreadable(RawCall(server.channel, kSearchItems, kNotUtf8));
  CHECK(RawCall(server.channel, kSearchItems, kText).ok());
  CHECK(server.service.calls == 2);
  CHECK(server.service.text == "x");
  CHECK(RawCall(server.channel, kSearchItems, "").ok());  // a message without fields
}

TEST_CASE("An INTERNAL error of a handler stays one") {
  SearchServer server;
  server.service.answer = grpc::Status(grpc::StatusCode::INTERNAL, "a bug");
  const grpc::Status status = RawCall(server.channel, kSearchItems, kText);
  CHECK(status.error_code() == grpc::StatusCode::INTERNAL);
  CHECK(status.error_message() == "a bug");
}

TEST_CASE("gRPC's own refusals keep their codes") {
  RpcServerOptions options;
  options.max_receive_bytes = 1000;
  SearchServer server(options);
  CHECK(RawCall(server.channel, kSearchItems, std::string(1001, '\xff')).error_code() ==
        grpc::StatusCode::RESOURCE_EXHAUSTED);
  CHECK(RawCall(server.channel, "/sightline.v1.Search/Nothing", kNotUtf8).error_code() ==
        grpc::StatusCode::UNIMPLEMENTED);
}

// The reflection service answers until its stream's end, which is an absent message too.
TEST_CASE("Streams end well: reflection and the health watch") {
  SearchServer server;
  server.server.SetServing(true);
  grpc::GenericStub stub(server.channel);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto await = [&] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(
      &context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  call->StartCall(nullptr);
  REQUIRE(await());
  const grpc::Slice list_services("\x3a\x01*");
  call->Write(grpc::ByteBuffer(&list_services, 1), nullptr);
  REQUIRE(await());
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  REQUIRE(await());
  CHECK_THAT(ToBytes(answer), Catch::Contains("sightline.v1.Search"));
  call->WritesDone(nullptr);
  REQUIRE(await());
  grpc::Status status;
  call->Finish(&status, nullptr);
  REQUIRE(await());
  INFO(status.error_message());
  CHECK(status.ok());

  namespace health = ::grpc::health::v1;
  const auto probe = health::Health::NewStub(server.channel);
  grpc::ClientContext check_context;
  health::HealthCheckResponse response;
  REQUIRE(probe->Check(&check_context, health::HealthCheckRequest(), &response).ok());
  CHECK(response.status() == health::HealthCheckResponse::SERVING);
  grpc::ClientContext watch_context;
  const auto watch = probe->Watch(&watch_context, health::HealthCheckRequest());
  REQUIRE(watch->Read(&response));
  CHECK(response.status() == health::HealthCheckResponse::SERVING);
  watch_context.TryCancel();
  CHECK(watch->Finish().error_code() == grpc::StatusCode::CANCELLED);
}

}  // namespace
}  // namespace sightline
