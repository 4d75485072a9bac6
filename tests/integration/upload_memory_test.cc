// More uploads at once than a router wants to hold: it takes what fits, refuses the rest,
// and keeps each upload that it takes once, whatever becomes of the calls to its encoders.  What
// is short on the wire and not in memory counts as what it is in memory.
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "common/api/server_status.h"
#include "common/base/mutex.h"
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
constexpr int kRegions = 1000;
constexpr int kRegionNumbers = 4096;
constexpr int64_t kInFlightBytes = 128 * kMiB;  // of the router
constexpr int64_t kQuotaBytes = 128 * kMiB;     // of its gRPC
// Of the router itself and of gRPC with 60 connections, beyond the two above.
constexpr int64_t kOtherBytes = 96 * kMiB;
// Of gRPC while it ends calls for room: it reads on what it has said that it would.  Of 900 MiB
// that are sent at once some 350 were seen to come in beyond its quota where cores are fast.
constexpr int64_t kBeyondQuotaBytes = 3 * kQuotaBytes;

// Without results, or equal uploads would wait for the first of them.
constexpr char kConfig[] = R"(
server:
  listen: "127.0.0.1:0"
  metrics_listen: "127.0.0.1:0"
  max_deadline: 5m
  max_in_flight_bytes: $0
  memory_quota: $1
cache: {max_result_bytes: 0}
encoders: ["$2", "$3"]
indexes: {captions: {shards: [{addresses: ["$4"]}]}}
)";

// Waits for callers and for what they make of the encoders.
class Turnout {
 public:
  void Seen(const std::string& request_id) {
    MutexLock lock(mutex_);
    seen_.insert(request_id);
    changed_.NotifyAll();
  }
  void Ended() {
    MutexLock lock(mutex_);
    ++ended_;
    changed_.NotifyAll();
  }
  // Until each of the callers has reached an encoder or an end.
  void AwaitAll(size_t callers) {
    MutexLock lock(mutex_);
    while (seen_.size() + ended_ < callers) changed_.Wait(mutex_);
  }
  size_t seen() const {
    MutexLock lock(mutex_);
    return seen_.size();
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  std::set<std::string> seen_ GUARDED_BY(mutex_);
  size_t ended_ GUARDED_BY(mutex_) = 0;
};

// Answers texts at once and uploads when it is released; what it answers is an error that
// nobody else gives.
class HeldEncoder final : public RpcService {
 public:
  HeldEncoder(CallGate* calls, Turnout* turnout)
      : RpcService("sightline.v1.QueryEncoder", calls), turnout_(turnout) {
    AddUnary("EncodeQueries", &HeldEncoder::EncodeQueries);
  }
  void Release() { release_.Open(); }

 private:
  absl::Status EncodeQueries(v1::EncodeQueriesRequest request, const CallContext& call,
                             v1::EncodeQueriesResponse*) {
    const v1::EncodableQuery& query = request.queries(0);
    const bool upload = !query.has_text();
    if (query.has_image() && query.image().size() != kUploadBytes) {
      return absl::DataLossError("the picture is another");
    }
    if (query.has_regions() && query.regions().features().row_count() != kRegions) {
      return absl::DataLossError("the regions are others");
    }
    v1::EncodeQueriesRequest().Swap(&request);  // only the router shall hold it
    if (upload) {
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
    server.AddService(&admin);
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
  AdminService admin{[this](const StatusRequest&) { return status; }, server.gate()};
};

struct EncoderBackend : Backend {
  explicit EncoderBackend(Turnout* turnout)
      : Backend("query_encoder"), encoder(server.gate(), turnout) {
    server.AddService(&encoder);
    REQUIRE(server.Start().ok());
  }
  ~EncoderBackend() {
    encoder.Release();
    server.Drain();
  }
  HeldEncoder encoder;
};

// One call, its bytes shared by all who send them.
absl::Status Call(const std::string& address, const std::string& method,
                  const grpc::ByteBuffer& request) {
  grpc::GenericStub stub(MakeChannel(address));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(4));
  grpc::CompletionQueue queue;
  const auto call =
      stub.PrepareUnaryCall(&context, "/sightline.v1.Search/" + method, request, &queue);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return FromGrpcStatus(status);
}

grpc::ByteBuffer BytesOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
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

// A router, two encoders that hold what they get, and a shard.
struct Fleet {
  Fleet() {
    REQUIRE(shard.server.Start().ok());
    router = LaunchProcess("router",
                           absl::Substitute(kConfig, kInFlightBytes, kQuotaBytes, first.address(),
                                            second.address(), shard.address()));
    address = absl::StrCat("127.0.0.1:", router->port());
    const CallContext patience(Clock::Real(), Clock::Real()->Now() + absl::Minutes(1));
    REQUIRE(AwaitServing(address, patience).ok());
    REQUIRE(AnswersTexts());
    before = PeakBytes(router->pid());
    REQUIRE(before > 0);
  }

  bool AnswersTexts() const {
    v1::SearchItemsRequest text;
    text.set_index("captions");
    text.mutable_query()->set_text("a red fish");
    return Answers(BytesOf(text.SerializeAsString()), &absl::IsUnavailable);
  }

  // Whether who tries again while `is_busy` is answered: gRPC, at its quota, closes connections.
  bool Answers(const grpc::ByteBuffer& request, bool (*is_busy)(const absl::Status&)) const {
    const CallContext patience(Clock::Real(), Clock::Real()->Now() + absl::Minutes(1));
    absl::Status end;
    do {
      end = Call(address, "SearchItems", request);
    } while (is_busy(end) && patience.Check("ask again").ok());
    UNSCOPED_INFO(end.ToString());
    return absl::IsOutOfRange(end);
  }

  // What the router has had beyond what it had before anything was uploaded.
  int64_t Taken() const { return PeakBytes(router->pid()) - before; }

  Turnout turnout;
  EncoderBackend first{&turnout}, second{&turnout};
  Backend shard{"index_search"};
  std::unique_ptr<Member> router;
  std::string address;
  int64_t before = 0;
};

// Sixty searches at once.  `most`: how many the router has room for.
void CheckUploads(const v1::SearchItemsRequest& request, int64_t most) {
  Fleet fleet;
  const grpc::ByteBuffer upload = BytesOf(request.SerializeAsString());
  std::vector<absl::Status> ends(kCallers);
  std::vector<std::thread> callers;
  for (absl::Status& end : ends) {
    callers.emplace_back([&] {
      end = Call(fleet.address, "SearchItems", upload);
      fleet.turnout.Ended();
    });
  }
  fleet.turnout.AwaitAll(kCallers);
  const int64_t held = static_cast<int64_t>(fleet.turnout.seen());
  // There is room for whoever sends little.
  CHECK(fleet.AnswersTexts());
  const int64_t taken = fleet.Taken();
  fleet.first.encoder.Release();
  fleet.second.encoder.Release();
  for (std::thread& caller : callers) caller.join();

  std::fprintf(stderr, "%d of %d uploads of %d MiB were held; they took %d MiB\n",
               static_cast<int>(held), kCallers, static_cast<int>(upload.Length() / kMiB),
               static_cast<int>(taken / kMiB));
  int64_t answered = 0;
  for (const absl::Status& end : ends) {
    INFO(end.ToString());
    // UNAVAILABLE where gRPC, at its quota, closed the connection before the call.
    CHECK((absl::IsOutOfRange(end) || absl::IsResourceExhausted(end) || absl::IsUnavailable(end)));
    answered += absl::IsOutOfRange(end);
  }
  // Fewer, down to none, where gRPC ended them for room although the router had taken them in.
  CHECK(answered <= held);
  CHECK(answered <= most);
  CHECK(taken <= kInFlightBytes + kQuotaBytes + kBeyondQuotaBytes + kOtherBytes);
  // What ended, however it did, has left its room.
  CHECK(fleet.Answers(upload, [](const absl::Status& end) {
    return absl::IsUnavailable(end) || absl::IsResourceExhausted(end);
  }));
}

TEST_CASE("sixty uploads of 15 MiB take what the router may hold, and no more") {
  v1::SearchItemsRequest picture;
  picture.set_index("captions");
  picture.mutable_query()->set_image(std::string(kUploadBytes, 'x'));
  CheckUploads(picture, kInFlightBytes / kUploadBytes);
}

TEST_CASE("sixty uploads of regions in half precision count as what becomes of them") {
  v1::SearchItemsRequest regions;
  regions.set_index("captions");
  v1::PackedVectors* features = regions.mutable_query()->mutable_regions()->mutable_features();
  features->set_element_type(v1::FLOAT16);
  features->set_row_count(kRegions);
  features->set_dimension(kRegionNumbers);
  features->set_data(std::string(int64_t{2} * kRegions * kRegionNumbers, '\0'));
  CheckUploads(regions, kInFlightBytes / (int64_t{6} * kRegions * kRegionNumbers));
}

TEST_CASE("requests of two-byte fields take no more than their bytes") {
  Fleet fleet;
  // Empty texts, empty ids and unknown fields, 16 MiB of each.
  const std::vector<std::pair<std::string, std::string>> floods = {
      {"ScorePairs", std::string("\x12\x00", 2)},
      {"GetItems", std::string("\x12\x00", 2)},
      {"SearchItems", std::string("\x7a\x00", 2)}};
  std::vector<std::thread> callers;
  std::vector<absl::Status> ends(12);
  for (size_t i = 0; i < ends.size(); ++i) {
    callers.emplace_back([&, i] {
      const auto& [method, field] = floods[i % floods.size()];
      std::string bytes;
      while (bytes.size() < 16 * kMiB) bytes += field;
      ends[i] = Call(fleet.address, method, BytesOf(bytes));
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const absl::Status& end : ends) {
    INFO(end.ToString());
    CHECK((absl::IsResourceExhausted(end) || absl::IsUnavailable(end)));
  }
  CHECK(fleet.AnswersTexts());
  const int64_t taken = fleet.Taken();
  std::fprintf(stderr, "floods took %d MiB\n", static_cast<int>(taken / kMiB));
  CHECK(taken <= kQuotaBytes + kOtherBytes);
}

}  // namespace
}  // namespace sightline
