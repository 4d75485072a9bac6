// More uploads at once than a router has memory for: it takes what fits, refuses the rest,
// and keeps each upload that it takes once, whatever becomes of the calls to its encoders.
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "common/clients/server_status.h"
#include "common/metrics/metrics.h"
#include "common/rpc/admin_service.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/rpc_server.h"
#include "common/rpc/rpc_service.h"
#include "loadtest/fleet/await_serving.h"
#include "sightline/v1/query_encoder.pb.h"
#include "sightline/v1/search.pb.h"
#include "tests/integration/member.h"
#include "tests/support/catch.h"
#include "tests/support/gate.h"

namespace sightline {
namespace {

constexpr int kCallers = 60;
constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kUploadBytes = 15 * kMiB;
constexpr int64_t kInFlightBytes = 128 * kMiB;  // of the router
constexpr int64_t kQuotaBytes = 128 * kMiB;     // of its gRPC
// Of the router itself and of gRPC with 60 connections, beyond the two above.
constexpr int64_t kOtherBytes = 96 * kMiB;

constexpr char kConfig[] = R"(
server:
  listen: "127.0.0.1:0"
  metrics_listen: "127.0.0.1:0"
  max_deadline: 5m
  max_in_flight_bytes: $0
  memory_quota: $1
encoders: ["$2", "$3"]
indexes: {captions: {shards: [{addresses: ["$4"]}]}}
)";

// Waits for callers and for what they make of the encoders.
class Turnout {
 public:
  void Seen(const std::string& request_id) {
    std::lock_guard<std::mutex> lock(mutex_);
    seen_.insert(request_id);
    changed_.notify_all();
  }
  void Ended() {
    std::lock_guard<std::mutex> lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }
  // Until each of the callers has reached an encoder or an end.
  void AwaitAll(size_t callers) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return seen_.size() + ended_ >= callers; });
  }
  size_t seen() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return seen_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> seen_;  // guarded by mutex_
  size_t ended_ = 0;            // guarded by mutex_
};

// Answers texts at once and pictures when it is released; what it answers is an error that
// nobody else gives.
class HeldEncoder final : public RpcService {
 public:
  HeldEncoder(RpcCalls* calls, Turnout* turnout)
      : RpcService("sightline.v1.QueryEncoder", calls), turnout_(turnout) {
    AddUnary("EncodeQueries", &HeldEncoder::EncodeQueries);
  }
  void Release() { release_.Open(); }

 private:
  absl::Status EncodeQueries(v1::EncodeQueriesRequest request, const CallContext& call,
                             v1::EncodeQueriesResponse*) {
    const bool picture = request.queries(0).has_image();
    if (picture && request.queries(0).image().size() != kUploadBytes) {
      return absl::DataLossError("the picture is another");
    }
    v1::EncodeQueriesRequest().Swap(&request);  // only the router shall hold it
    if (picture) {
      turnout_->Seen(call.request_id());
      release_.Wait();
    }
    return absl::OutOfRangeError("reached an encoder");
  }

  Turnout* const turnout_;
  Gate release_;
};

// A backend that says of itself what a router wants to hear.
struct Backend {
  explicit Backend(const std::string& service) : server(Options(), &metrics) {
    status.service = service;
    GenerationStatus held;
    held.state = GenerationState::kReady;
    held.sequence = 1;
    held.info.ref = {"captions", "g1", std::string(64, '0')};
    held.info.shard_count = 1;
    held.info.dimension = 8;
    if (service == "index_search") held.held_shards = {0};
    status.generations = {held};
    server.AddService("sightline.v1.Admin", &admin);
  }
  ~Backend() { server.Drain(); }

  static RpcServerOptions Options() {
    RpcServerOptions options;
    options.max_concurrent_calls = 4 * kCallers;
    options.max_receive_bytes = 20 * kMiB;
    options.max_in_flight_bytes = 4 * kCallers * kUploadBytes;
    options.memory_quota_bytes = 4 * kCallers * kUploadBytes;
    options.drain_timeout = absl::ZeroDuration();
    return options;
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", server.port()); }

  MetricsRegistry metrics;
  RpcServer server;
  ServerStatus status;
  AdminService admin{[this](const StatusRequest&) { return status; }, server.calls()};
};

struct EncoderBackend : Backend {
  explicit EncoderBackend(Turnout* turnout)
      : Backend("query_encoder"), encoder(server.calls(), turnout) {
    server.AddService("sightline.v1.QueryEncoder", &encoder);
    REQUIRE(server.Start().ok());
  }
  ~EncoderBackend() {
    encoder.Release();
    server.Drain();
  }
  HeldEncoder encoder;
};

// One search, its bytes shared by all who send them.
absl::Status Search(const std::string& address, const grpc::ByteBuffer& request) {
  grpc::GenericStub stub(MakeChannel(address));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(4));
  grpc::CompletionQueue queue;
  const auto call =
      stub.PrepareUnaryCall(&context, "/sightline.v1.Search/SearchItems", request, &queue);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return FromGrpcStatus(status);
}

grpc::ByteBuffer BytesOf(const v1::SearchItemsRequest& request) {
  const grpc::Slice slice(request.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

// The most memory that a process has had.
int64_t PeakBytes(pid_t pid) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  std::string word;
  while (status >> word) {
    int64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

TEST_CASE("sixty uploads of 15 MiB take what the router may hold, and no more") {
  Turnout turnout;
  EncoderBackend first(&turnout), second(&turnout);
  Backend shard("index_search");
  REQUIRE(shard.server.Start().ok());
  const auto router =
      LaunchProcess("router", absl::Substitute(kConfig, kInFlightBytes, kQuotaBytes,
                                               first.address(), second.address(), shard.address()));
  const std::string address = absl::StrCat("127.0.0.1:", router->port());
  const CallContext patience(Clock::Real(), Clock::Real()->Now() + absl::Minutes(1));
  REQUIRE(AwaitServing(address, patience).ok());
  v1::SearchItemsRequest text;
  text.set_index("captions");
  text.mutable_query()->set_text("a red fish");
  REQUIRE(absl::IsOutOfRange(Search(address, BytesOf(text))));
  const int64_t before = PeakBytes(router->pid());

  v1::SearchItemsRequest picture;
  picture.set_index("captions");
  picture.mutable_query()->set_image(std::string(kUploadBytes, 'x'));
  const grpc::ByteBuffer upload = BytesOf(picture);
  std::vector<absl::Status> ends(kCallers);
  std::vector<std::thread> callers;
  for (absl::Status& end : ends) {
    callers.emplace_back([&] {
      end = Search(address, upload);
      turnout.Ended();
    });
  }
  turnout.AwaitAll(kCallers);
  const size_t held = turnout.seen();
  // There is room for whoever sends little.
  CHECK(absl::IsOutOfRange(Search(address, BytesOf(text))));
  const int64_t peak = PeakBytes(router->pid());
  first.encoder.Release();
  second.encoder.Release();
  for (std::thread& caller : callers) caller.join();

  std::fprintf(stderr, "%zu of %d uploads of %d MiB were held; peak %d MiB, before them %d MiB\n",
               held, kCallers, static_cast<int>(kUploadBytes / kMiB), static_cast<int>(peak / kMiB),
               static_cast<int>(before / kMiB));
  CHECK(held >= 1);
  CHECK(held <= kInFlightBytes / kUploadBytes);
  size_t answered = 0;
  for (const absl::Status& end : ends) {
    INFO(end.ToString());
    // UNAVAILABLE where gRPC, at its quota, closed the connection before the call.
    CHECK((absl::IsOutOfRange(end) || absl::IsResourceExhausted(end) || absl::IsUnavailable(end)));
    answered += absl::IsOutOfRange(end);
  }
  CHECK(answered == held);
  CHECK(before > 0);
  CHECK(peak - before <= kInFlightBytes + kQuotaBytes + kOtherBytes);
}

}  // namespace
}  // namespace sightline
