#include "common/rpc/rpc_service.h"

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/error_details.h"
#include "sightline/v1/search.grpc.pb.h"
#include "tests/common/rpc/test_server.h"
#include "tests/support/catch.h"
#include "tests/support/gate.h"
#include "tests/support/http_get.h"
#include "tests/support/raw_call.h"

namespace sightline {
namespace {

constexpr char kSearchItems[] = "/sightline.v1.Search/SearchItems";
// A SearchItemsRequest whose query.text is one byte; 0xFF is in no UTF-8 text.
constexpr char kText[] = "\x12\x03\x0a\x01x";
constexpr char kNotUtf8[] = "\x12\x03\x0a\x01\xff";
// A field whose length goes beyond the message.
constexpr char kTruncated[] = "\x12\x40\x0a";

// Search, answered as a test says.
class SearchService final : public RpcService {
 public:
  using Handler = std::function<absl::Status(v1::SearchItemsRequest request)>;

  SearchService(CallGate* calls, Handler handler)
      : RpcService(v1::Search::service_full_name(), calls), handler_(std::move(handler)) {
    AddUnary("SearchItems", &SearchService::SearchItems);
    AddUnary("GetItems", &SearchService::GetItems);
  }

 private:
  absl::Status SearchItems(v1::SearchItemsRequest request, const CallContext&,
                           v1::SearchItemsResponse*) {
    return handler_(std::move(request));
  }
  absl::Status GetItems(v1::GetItemsRequest, const CallContext&, v1::GetItemsResponse*) {
    return handler_({});
  }

  const Handler handler_;
};

struct SearchServer {
  explicit SearchServer(SearchService::Handler handler, const RpcServerOptions& options = {})
      : server(options, &metrics), service(server.gate(), std::move(handler)) {
    server.AddService(&service);
    REQUIRE(server.Start().ok());
    channel = MakeChannel(absl::StrCat("127.0.0.1:", server.port()));
  }
  ~SearchServer() { server.Drain(); }

  MetricsRegistry metrics;
  RpcServer server;
  SearchService service;
  std::shared_ptr<grpc::Channel> channel;
};

// Of a request with a picture of that many bytes.
std::string Upload(size_t bytes) {
  v1::SearchItemsRequest request;
  request.mutable_query()->set_image(std::string(bytes, 'x'));
  return request.SerializeAsString();
}

void RequireUnreadable(const grpc::Status& wire) {
  const absl::Status status = FromGrpcStatus(wire);
  INFO(status.ToString());
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(status.message()), Catch::Contains("strings must be valid UTF-8"));
  CHECK(HasReason(status, reasons::kUnreadableRequest));
}

TEST_CASE("Of a call that ends before its request is there it is said that it was cancelled") {
  v1::SearchItemsRequest request;
  const auto size = MeasureRequest(IncomingRequest(), *request.descriptor(), 1000);
  CHECK(absl::IsCancelled(size.status()));
  CHECK(absl::IsCancelled(ReadRequest(IncomingRequest(), &request)));
}

TEST_CASE("A text that is not UTF-8 and bytes that are no message are INVALID_ARGUMENT") {
  int calls = 0;
  SearchServer server([&](v1::SearchItemsRequest) {
    ++calls;
    return absl::OkStatus();
  });
  RequireUnreadable(RawCall(server.channel, kSearchItems, kNotUtf8));
  RequireUnreadable(RawCall(server.channel, kSearchItems, kTruncated));
  CHECK(calls == 0);
  CHECK(server.server.gate()->in_flight_bytes() == 0);
  // Counted like any other call that ends badly.
  CHECK_THAT(HttpGet(server.server.metrics_port(), "/metrics"),
             Catch::Contains("sightline_rpc_calls_total{code=\"INVALID_ARGUMENT\","
                             "method=\"SearchItems\",service=\"sightline.v1.Search\"} 2"));
}

TEST_CASE("A request that can be read reaches its handler, before and after one that cannot") {
  std::vector<std::string> texts;
  SearchServer server([&](v1::SearchItemsRequest request) {
    texts.push_back(request.query().text());
    return absl::OkStatus();
  });
  CHECK(RawCall(server.channel, kSearchItems, kText).ok());
  RequireUnreadable(RawCall(server.channel, kSearchItems, kNotUtf8));
  CHECK(RawCall(server.channel, kSearchItems, kText).ok());
  CHECK(RawCall(server.channel, kSearchItems, "").ok());  // a message without fields
  CHECK(texts == std::vector<std::string>{"x", "x", ""});
}

// `bytes` in two slices, the first of that length.
IncomingRequest InTwoSlices(const std::string& bytes, size_t first) {
  const grpc::Slice slices[] = {grpc::Slice(bytes.substr(0, first)),
                                grpc::Slice(bytes.substr(first))};
  IncomingRequest incoming;
  incoming.bytes = grpc::ByteBuffer(slices, 2);
  return incoming;
}

// Protobuf stops at a tag of zero or an end of no group, and gives back what it has not used;
// what it gave back of two slices ended the process.
TEST_CASE("A message that ends early is unreadable, wherever its slices end") {
  v1::SearchItemsRequest text;
  text.mutable_query()->set_text(std::string(100, 'x'));
  const std::string good = text.SerializeAsString();
  const std::vector<std::string> ends = {std::string("\x00", 1), std::string("\x80\x00", 2),
                                         "\x7c"};
  for (const std::string& end : ends) {
    const std::string bytes = good + end + good;
    for (size_t first = 1; first < bytes.size(); ++first) {
      INFO("first slice of " << first);
      v1::SearchItemsRequest request;
      const IncomingRequest incoming = InTwoSlices(bytes, first);
      REQUIRE(absl::IsInvalidArgument(
          MeasureRequest(incoming, *v1::SearchItemsRequest::descriptor(), 1 << 20).status()));
      REQUIRE(absl::IsInvalidArgument(ReadRequest(incoming, &request)));
    }
  }
  for (size_t first = 1; first < good.size(); ++first) {
    v1::SearchItemsRequest request;
    const IncomingRequest incoming = InTwoSlices(good, first);
    REQUIRE(ReadRequest(incoming, &request).ok());
    REQUIRE(request.query().text() == text.query().text());
  }
}

TEST_CASE("An INTERNAL error of a handler stays one") {
  SearchServer server([](v1::SearchItemsRequest) { return absl::InternalError("a bug"); });
  const grpc::Status status = RawCall(server.channel, kSearchItems, kText);
  CHECK(status.error_code() == grpc::StatusCode::INTERNAL);
  CHECK(status.error_message() == "a bug");
}

TEST_CASE("gRPC's own refusals keep their codes") {
  RpcServerOptions options;
  options.max_receive_bytes = 1000;
  SearchServer server([](v1::SearchItemsRequest) { return absl::OkStatus(); }, options);
  CHECK(RawCall(server.channel, kSearchItems, std::string(1001, '\xff')).error_code() ==
        grpc::StatusCode::RESOURCE_EXHAUSTED);
  for (const char* method : {"Nothing", "ScorePairs"}) {  // none, and one without a handler
    CHECK(RawCall(server.channel, absl::StrCat("/sightline.v1.Search/", method), kNotUtf8)
              .error_code() == grpc::StatusCode::UNIMPLEMENTED);
  }
}

TEST_CASE("A request is the handler's own: what it moves out of it is not copied") {
  const char* arrived = nullptr;
  const char* moved = nullptr;
  SearchServer server([&](v1::SearchItemsRequest request) {
    arrived = request.query().image().data();
    const std::string picture = std::move(*request.mutable_query()->mutable_image());
    moved = picture.data();
    return absl::OkStatus();
  });
  REQUIRE(RawCall(server.channel, kSearchItems, Upload(1 << 20)).ok());
  CHECK(moved == arrived);
}

TEST_CASE("A request that does not fit beside those in progress is refused, a short one is not") {
  RpcServerOptions options;
  options.max_receive_bytes = 1 << 20;
  options.max_in_flight_bytes = 2 << 20;
  Gate entered, release;
  std::atomic<int> uploads{0};
  SearchServer server(
      [&](v1::SearchItemsRequest request) {
        if (request.query().image().empty()) return absl::OkStatus();
        const int number = ++uploads;
        if (number == 2) entered.Open();
        if (number <= 2) release.Wait();
        return absl::OkStatus();
      },
      options);
  const std::string upload = Upload(900 << 10);
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] { CHECK(RawCall(server.channel, kSearchItems, upload).ok()); });
  }
  entered.Wait();
  const int64_t held = server.server.gate()->in_flight_bytes();
  const int64_t uploads_bytes = 2 * static_cast<int64_t>(upload.size());
  CHECK(held >= uploads_bytes);
  CHECK(held <= uploads_bytes + 2000);
  CHECK_THAT(HttpGet(server.server.metrics_port(), "/metrics"),
             Catch::Contains(absl::StrCat("sightline_rpc_in_flight_bytes ", held)));
  const absl::Status refused = FromGrpcStatus(RawCall(server.channel, kSearchItems, upload));
  CHECK(refused.code() == absl::StatusCode::kResourceExhausted);
  CHECK(HasReason(refused, reasons::kTooManyBytes));
  CHECK(GetRetryDelay(refused).has_value());
  CHECK_THAT(std::string(refused.message()), Catch::Contains(absl::StrCat(upload.size())));
  CHECK(RawCall(server.channel, kSearchItems, kText).ok());
  release.Open();
  for (std::thread& caller : callers) caller.join();
  CHECK(RawCall(server.channel, kSearchItems, upload).ok());
  CHECK(server.server.gate()->in_flight_bytes() == 0);
}

TEST_CASE("A status call is answered whatever is in progress, unless it is long itself") {
  RpcServerOptions options;
  options.max_receive_bytes = 1 << 20;
  options.max_in_flight_bytes = 1 << 20;
  std::atomic<int> entered{0};
  Gate both, release;
  TestServer server(
      [&](const CallContext&) {
        const int number = ++entered;
        if (number == 2) both.Open();
        if (number <= 2) release.Wait();
        return absl::OkStatus();
      },
      options, Clock::Real(), CallGate::Admission::kAlways);
  v1::GetStatusRequest request;
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(
      1000, std::string(900 << 10, 'x'));
  const std::string bytes = request.SerializeAsString();
  const auto call = [&](const std::string& sent) {
    return RawCall(server.NewChannel(), "/sightline.v1.Admin/GetStatus", sent).error_code();
  };
  std::thread first([&] { CHECK(call(bytes) == grpc::StatusCode::OK); });
  std::thread second([&] { CHECK(call("") == grpc::StatusCode::OK); });
  both.Wait();
  CHECK(call(bytes) == grpc::StatusCode::RESOURCE_EXHAUSTED);
  release.Open();
  first.join();
  second.join();
}

// 1 MiB of two bytes each that protobuf makes an object of.
std::string Repeated(const char* field) {
  std::string bytes;
  for (int i = 0; i < 1 << 19; ++i) bytes += std::string(field, 2);
  return bytes;
}

TEST_CASE("A request that would unfold to more than there is room for is refused unread") {
  RpcServerOptions options;
  options.max_in_flight_bytes = 16 << 20;
  int calls = 0;
  SearchServer server(
      [&](v1::SearchItemsRequest) {
        ++calls;
        return absl::OkStatus();
      },
      options);
  const std::string ids = Repeated("\x12\x00");
  for (const std::string& request : {ids, Repeated("\x7a\x00"), Repeated("\x7b\x7c")}) {
    const absl::Status refused =
        FromGrpcStatus(RawCall(server.channel, "/sightline.v1.Search/GetItems", request));
    INFO(refused.ToString());
    CHECK(refused.code() == absl::StatusCode::kResourceExhausted);
    CHECK(HasReason(refused, reasons::kRequestTooLarge));
    CHECK(GetRetryDelay(refused) == absl::InfiniteDuration());
    CHECK(GetReason(refused)->metadata.at("requestBytes") == "1048576");
    CHECK_THAT(std::string(refused.message()),
               Catch::Contains("1048576 bytes") && Catch::Contains("16777216"));
  }
  CHECK(calls == 0);
  CHECK(server.server.gate()->in_flight_bytes() == 0);
  // As long, and no more than it looks.
  CHECK(RawCall(server.channel, kSearchItems, Upload(1 << 20)).ok());
}

TEST_CASE("What a request unfolds to is counted while it is in progress") {
  RpcServerOptions options;
  options.max_in_flight_bytes = 32 << 20;
  Gate entered, release;
  SearchServer server(
      [&](v1::SearchItemsRequest) {
        entered.Open();
        release.Wait();
        return absl::OkStatus();
      },
      options);
  const std::string ids = Repeated("\x12\x00").substr(0, 400 << 10);
  const auto call = [&] {
    return FromGrpcStatus(RawCall(server.channel, "/sightline.v1.Search/GetItems", ids));
  };
  std::thread first([&] { CHECK(call().ok()); });
  entered.Wait();
  CHECK(server.server.gate()->in_flight_bytes() > 32 * static_cast<int64_t>(ids.size()));
  const absl::Status second = call();
  CHECK(second.code() == absl::StatusCode::kResourceExhausted);
  CHECK(HasReason(second, reasons::kTooManyBytes));
  release.Open();
  first.join();
}

// A few bytes that unfold to many would be unfolded before anybody looks at their number.
TEST_CASE("A compressed request is refused before it is unfolded") {
  int calls = 0;
  SearchServer server([&](v1::SearchItemsRequest) {
    ++calls;
    return absl::OkStatus();
  });
  v1::SearchItemsRequest request;
  request.mutable_query()->set_image(std::string(1 << 20, 'x'));
  v1::SearchItemsResponse response;
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    grpc::ClientContext context;
    context.set_compression_algorithm(algorithm);
    const grpc::Status status =
        v1::Search::NewStub(server.channel)->SearchItems(&context, request, &response);
    INFO(status.error_message());
    CHECK(status.error_code() == grpc::StatusCode::UNIMPLEMENTED);
  }
  CHECK(calls == 0);
}

}  // namespace
}  // namespace sightline
