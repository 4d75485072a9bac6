// What a stranger meets on the wire of each server, as processes: refusals by gRPC itself,
// health, the metrics page, and the end by SIGTERM.
#include <grpcpp/client_context.h>
#include <grpcpp/server_builder.h>

#include <future>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "sightline/v1/reranker.grpc.pb.h"
#include "tests/common/rpc/health_of.h"
#include "tests/integration/fleet.h"
#include "tests/support/catch.h"
#include "tests/support/gate.h"
#include "tests/support/http_get.h"
#include "tests/support/raw_call.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

namespace health = ::grpc::health::v1;

const TinyStore& Store() {
  static TempDir* const directory = new TempDir;
  static const TinyStore* const store = new TinyStore(MakeTinyStore(directory->path(), 20));
  return *store;
}

// For the cases that only ask.
Fleet& TheFleet() {
  static Fleet fleet(Store(), LaunchProcess);
  return fleet;
}

// What a server of each kind is asked for, beside Admin.
struct Kind {
  std::string service;
  std::string method;
  size_t max_receive_bytes;
};

const Kind& KindOf(const Slot& slot) {
  constexpr size_t kMiB = size_t{1} << 20;
  static const auto* const kinds = new std::map<std::string, Kind>{
      {"router", {"sightline.v1.Search", "SearchItems", 20 * kMiB}},
      {"query_encoder", {"sightline.v1.QueryEncoder", "EncodeQueries", 20 * kMiB}},
      {"index_search", {"sightline.v1.IndexSearch", "SearchIndex", 16 * kMiB}},
      {"reranker", {"sightline.v1.Reranker", "RerankCandidates", 64 * kMiB}},
  };
  return kinds->at(slot.service);
}

std::string MethodOf(const Slot& slot) {
  return absl::StrCat("/", KindOf(slot).service, "/", KindOf(slot).method);
}

absl::Status Raw(const Slot& slot, const std::string& method, const std::string& request) {
  return FromGrpcStatus(RawCall(MakeChannel(slot.address()), method, request));
}

void RequireUnreadable(const absl::Status& status) {
  INFO(status.ToString());
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(HasReason(status, reasons::kUnreadableRequest));
}

std::string HealthOf(const Slot& slot, const std::string& service) {
  return sightline::HealthOf(MakeChannel(slot.address()), service);
}

// A reranker that holds its first call until it is released, and fails it then.
class HeldReranker final : public v1::Reranker::Service {
 public:
  HeldReranker() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~HeldReranker() override { release_.Open(); }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  void AwaitCall() { entered_.Wait(); }
  void Release() { release_.Open(); }

  grpc::Status RerankCandidates(grpc::ServerContext*, const v1::RerankCandidatesRequest*,
                                v1::RerankCandidatesResponse*) override {
    entered_.Open();
    release_.Wait();
    return grpc::Status(grpc::StatusCode::INTERNAL, "released");
  }

 private:
  int port_ = 0;
  Gate entered_, release_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

TEST_CASE("a text that is not UTF-8 is the caller's fault") {
  // SearchItemsRequest{query: {text: "\xff"}}.
  RequireUnreadable(
      Raw(TheFleet().router(), "/sightline.v1.Search/SearchItems", "\x12\x03\x0a\x01\xff"));
}

TEST_CASE("bytes that are no message are the caller's fault, on every server") {
  for (const Slot* slot : TheFleet().all()) {
    INFO(slot->service);
    RequireUnreadable(Raw(*slot, MethodOf(*slot), "\xff"));
    RequireUnreadable(Raw(*slot, "/sightline.v1.Admin/GetStatus", "\xff"));
  }
}

TEST_CASE("a message over max_receive_bytes is RESOURCE_EXHAUSTED, on every server") {
  for (const Slot* slot : TheFleet().all()) {
    INFO(slot->service);
    const std::string request(KindOf(*slot).max_receive_bytes + 1, '\xff');
    const absl::Status status = Raw(*slot, MethodOf(*slot), request);
    INFO(status.ToString());
    REQUIRE(status.code() == absl::StatusCode::kResourceExhausted);
    // One byte less arrives, and is looked at.
    RequireUnreadable(Raw(*slot, MethodOf(*slot), request.substr(1)));
  }
}

TEST_CASE("a method that there is not is UNIMPLEMENTED") {
  for (const Slot* slot : TheFleet().all()) {
    INFO(slot->service);
    for (const std::string& method :
         {absl::StrCat("/", KindOf(*slot).service, "/Nothing"), std::string("/a.B/C")}) {
      REQUIRE(Raw(*slot, method, "").code() == absl::StatusCode::kUnimplemented);
    }
  }
}

TEST_CASE("health is told per service and for the server as a whole") {
  for (const Slot* slot : TheFleet().all()) {
    INFO(slot->service);
    REQUIRE(HealthOf(*slot, "") == "SERVING");
    REQUIRE(HealthOf(*slot, "liveness") == "SERVING");
    REQUIRE(HealthOf(*slot, KindOf(*slot).service) == "SERVING");
    REQUIRE(HealthOf(*slot, "sightline.v1.Admin") == "SERVING");
    REQUIRE(HealthOf(*slot, "sightline.v1.Nobody") == "NOT_FOUND");
  }
}

TEST_CASE("every server has a metrics page with what is documented") {
  TheFleet().AwaitWhole();
  const std::vector<std::string> batch = {
      "sightline_batch_tasks",
      "sightline_batch_cost",
      "sightline_batch_wait_seconds",
      "sightline_batch_process_seconds",
      "sightline_batch_dropped_tasks_total",
      "sightline_batch_refused_tasks_total",
      "sightline_batch_queued_cost",
  };
  const std::map<std::string, std::vector<std::string>> special = {
      {"router",
       {"sightline_stage_seconds", "sightline_degraded_answers_total",
        "sightline_rerank_outcomes_total"}},
      {"query_encoder", batch},
      {"index_search", batch},
      {"reranker", batch},
  };
  for (const Slot* slot : TheFleet().all()) {
    INFO(slot->service);
    const std::string page = HttpGet(slot->member->metrics_port(), "/metrics");
    REQUIRE_THAT(page, Catch::StartsWith("HTTP/1.") && Catch::Contains(" 200 "));
    for (const char* name : {"rpc_calls_total", "rpc_latency_seconds", "rpc_in_flight",
                             "rpc_in_flight_bytes", "rpc_handlers_total"}) {
      REQUIRE_THAT(page, Catch::Contains(absl::StrCat("# TYPE sightline_", name, " ")));
    }
    for (const std::string& name : special.at(slot->service)) {
      REQUIRE_THAT(page, Catch::Contains(absl::StrCat("# TYPE ", name, " ")));
    }
    REQUIRE_THAT(page, Catch::Contains(absl::StrCat("service=\"", KindOf(*slot).service, "\"")));
  }
}

TEST_CASE("SIGTERM ends every idle server with status 0") {
  Fleet fleet(Store(), LaunchProcess);
  for (Slot* slot : fleet.all()) {
    INFO(slot->service);
    REQUIRE(slot->member->Terminate() == 0);
  }
}

TEST_CASE("SIGTERM lets a call in progress end, then the process, with status 0") {
  HeldReranker reranker;
  FleetOptions options;
  options.reranker_addresses = {reranker.address()};
  Fleet fleet(Store(), LaunchProcess, options);

  grpc::ClientContext watching;
  const auto stub = health::Health::NewStub(MakeChannel(fleet.router().address()));
  const auto watch = stub->Watch(&watching, health::HealthCheckRequest());
  health::HealthCheckResponse response;
  REQUIRE(watch->Read(&response));
  REQUIRE(response.status() == health::HealthCheckResponse::SERVING);

  SearchRequest request;
  request.query = TextQuery{"a red fish"};
  auto call = std::async(std::launch::async,
                         [&] { return fleet.Search(request, /*timeout=*/absl::Seconds(30)); });
  reranker.AwaitCall();
  auto status = std::async(std::launch::async, [&] { return fleet.router().member->Terminate(); });
  // The drain has begun when health says so, and the call is still held.
  REQUIRE(watch->Read(&response));
  REQUIRE(response.status() == health::HealthCheckResponse::NOT_SERVING);
  watching.TryCancel();
  reranker.Release();
  const absl::StatusOr<SearchResult> result = call.get();
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  REQUIRE_FALSE(result->hits.empty());
  REQUIRE(status.get() == 0);
}

}  // namespace sightline
