#include "common/rpc/event_loop.h"

#include <arpa/inet.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/fiber.h"
#include "common/base/outcome.h"
#include "common/metrics/metrics.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/rpc_server.h"
#include "common/rpc/rpc_service.h"
#include "sightline/v1/search.grpc.pb.h"
#include "tests/support/catch.h"
#include "tests/support/gate.h"

namespace sightline {
namespace {

// Search, of which one method is served in fibers and one in threads.
class TwoPlaces final : public RpcService {
 public:
  using Handler =
      std::function<absl::Status(const v1::SearchItemsRequest& request, const CallContext& call)>;

  TwoPlaces(CallGate* calls, Handler handler)
      : RpcService(v1::Search::service_full_name(), calls), handler_(std::move(handler)) {
    AddUnary("SearchItems", &TwoPlaces::SearchItems, CallGate::Admission::kLimited,
             HandlerPlace::kFiber);
    AddUnary("GetItems", &TwoPlaces::GetItems);
  }

 private:
  absl::Status SearchItems(v1::SearchItemsRequest request, const CallContext& call,
                           v1::SearchItemsResponse*) {
    return handler_(request, call);
  }
  absl::Status GetItems(v1::GetItemsRequest, const CallContext& call, v1::GetItemsResponse*) {
    return handler_({}, call);
  }

  const Handler handler_;
};

struct Server {
  explicit Server(TwoPlaces::Handler handler, const RpcServerOptions& options = {})
      : server(options, &metrics), service(server.gate(), std::move(handler)) {
    server.AddService(&service);
    REQUIRE(server.Start().ok());
    channel = MakeChannel(absl::StrCat("127.0.0.1:", server.port()));
  }
  ~Server() { server.Drain(); }

  // Of a question with this text.
  absl::Status Search(const std::string& text, grpc::ClientContext* context) const {
    v1::SearchItemsRequest request;
    request.mutable_query()->set_text(text);
    v1::SearchItemsResponse response;
    return FromGrpcStatus(v1::Search::NewStub(channel)->SearchItems(context, request, &response));
  }
  absl::Status Search(const std::string& text) const {
    grpc::ClientContext context;
    return Search(text, &context);
  }
  absl::Status GetItems() const {
    grpc::ClientContext context;
    v1::GetItemsResponse response;
    return FromGrpcStatus(
        v1::Search::NewStub(channel)->GetItems(&context, v1::GetItemsRequest(), &response));
  }

  MetricsRegistry metrics;
  RpcServer server;
  TwoPlaces service;
  std::shared_ptr<grpc::Channel> channel;
};

TEST_CASE("Handlers run where their methods say, and long requests in threads") {
  bool in_fiber = false;
  bool in_loop = false;
  Server server([&](const v1::SearchItemsRequest&, const CallContext&) {
    in_fiber = Fiber::Current() != nullptr;
    in_loop = EventLoop::Current() != nullptr;
    return absl::OkStatus();
  });
  REQUIRE(server.GetItems().ok());
  CHECK_FALSE(in_fiber);
  CHECK_FALSE(in_loop);
  do {  // a machine that has much to do is behind for a while
    REQUIRE(server.Search("short").ok());
  } while (!in_fiber);
  CHECK(in_loop);
  REQUIRE(server.Search(std::string(100'000, 'x')).ok());
  CHECK_FALSE(in_fiber);
  CHECK_FALSE(in_loop);
}

TEST_CASE("Fibers that wait hold up nobody, not one another either") {
  constexpr int kWaiting = 30;
  Gate all, release;
  std::atomic<int> waiting{0};
  Server server([&](const v1::SearchItemsRequest& request, const CallContext&) {
    if (request.query().text() != "waits") return absl::OkStatus();
    if (++waiting == kWaiting) all.Open();
    release.Wait();
    return absl::OkStatus();
  });
  std::vector<std::thread> callers;
  for (int i = 0; i < kWaiting; ++i) {
    callers.emplace_back([&] { CHECK(server.Search("waits").ok()); });
  }
  all.Wait();
  CHECK(server.Search("does not").ok());
  CHECK(server.GetItems().ok());
  CHECK(server.server.gate()->in_flight() == kWaiting);
  release.Open();
  for (std::thread& caller : callers) caller.join();
}

// How many of three calls, that come while the loop is held up, are served in threads.
int ServedInThreads() {
  constexpr int kLater = 3;
  Gate entered, all, release;
  std::atomic<bool> let_go{false};
  std::atomic<int> in_threads{0}, served{0};
  Server server([&](const v1::SearchItemsRequest& request, const CallContext&) {
    if (request.query().text() == "computes") {
      entered.Open();
      while (!let_go) {  // as who computes: the thread can do nothing else
      }
      return absl::OkStatus();
    }
    if (Fiber::Current() == nullptr) ++in_threads;
    if (++served == kLater) all.Open();
    release.Wait();
    return absl::OkStatus();
  });
  std::vector<std::thread> callers;
  callers.emplace_back([&] { CHECK(server.Search("computes").ok()); });
  entered.Wait();
  for (int i = 0; i < kLater; ++i) {
    callers.emplace_back([&] { CHECK(server.Search("waits").ok()); });
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
  let_go = true;
  all.Wait();
  release.Open();
  for (std::thread& caller : callers) caller.join();
  return in_threads;
}

TEST_CASE("What comes while the loop has had much to do is served in threads") {
  // Unless the callers' threads came too late for it.
  while (ServedInThreads() == 0) {
  }
}

TEST_CASE("A fiber that awaits a result hears that its caller went away, or that its time is up") {
  Gate entered;
  Server server([&](const v1::SearchItemsRequest&, const CallContext& call) {
    const auto never = std::make_shared<Outcome<int>>();
    entered.Open();
    return never->Await(call, "nothing").status();
  });
  grpc::ClientContext context;
  absl::Status status;
  std::thread caller([&] { status = server.Search("", &context); });
  entered.Wait();
  context.TryCancel();
  caller.join();
  CHECK(absl::IsCancelled(status));

  grpc::ClientContext hasty;
  hasty.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(20));
  CHECK(absl::IsDeadlineExceeded(server.Search("", &hasty)));
  while (server.server.gate()->in_flight() > 0) std::this_thread::yield();
}

TEST_CASE("A drain cancels fibers that outlast its timeout, and returns when they have ended") {
  RpcServerOptions options;
  options.drain_timeout = absl::ZeroDuration();
  Gate entered;
  std::atomic<bool> ended{false};
  Server server(
      [&](const v1::SearchItemsRequest&, const CallContext& call) {
        const auto never = std::make_shared<Outcome<int>>();
        entered.Open();
        const absl::Status status = never->Await(call, "nothing").status();
        ended = true;
        return status;
      },
      options);
  std::thread caller([&] { CHECK_FALSE(server.Search("").ok()); });
  entered.Wait();
  server.server.Drain();
  CHECK(ended);
  caller.join();
}

TEST_CASE("What a fiber has done in a thread is awaited, with its result or what it throws") {
  std::thread::id loop, worker;
  bool in_fiber = false;
  Gate entered, release;
  Server server([&](const v1::SearchItemsRequest& request, const CallContext&) {
    const std::string& text = request.query().text();
    if (text == "quick") return absl::OkStatus();
    loop = std::this_thread::get_id();
    in_fiber = Fiber::Current() != nullptr;
    return AwaitInThread([&]() -> absl::Status {
      worker = std::this_thread::get_id();
      if (text == "throws") throw std::bad_alloc();
      entered.Open();
      release.Wait();
      return absl::NotFoundError("not here");
    });
  });
  absl::Status first;
  std::thread caller([&] { first = server.Search("waits"); });
  entered.Wait();
  CHECK(server.Search("quick").ok());
  release.Open();
  caller.join();
  CHECK(first == absl::NotFoundError("not here"));
  CHECK((worker != loop) == in_fiber);
  CHECK(absl::IsResourceExhausted(server.Search("throws")));

  CHECK(AwaitInThread([&] {
          worker = std::this_thread::get_id();
          return absl::OkStatus();
        }).ok());
  CHECK(worker == std::this_thread::get_id());  // outside of fibers it is the caller's
}

// A caller of HTTP/2 who lets nothing of an answer be sent.
class Miser {
 public:
  Miser(int port, int calls) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    std::string bytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    bytes += Frame(4, 0, 0, std::string("\0\x04\0\0\0\0", 6));  // settings: windows of none
    std::string headers;
    for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
             {":method", "POST"},
             {":scheme", "http"},
             {":path", "/sightline.v1.Search/SearchItems"},
             {":authority", "here"},
             {"te", "trailers"},
             {"content-type", "application/grpc"}}) {
      headers += std::string(1, '\0') + static_cast<char>(name.size()) + name +
                 static_cast<char>(value.size()) + value;
    }
    for (int i = 0; i < calls; ++i) {
      bytes += Frame(1, 4, 2 * i + 1, headers) + Frame(0, 1, 2 * i + 1, std::string(5, '\0'));
    }
    REQUIRE(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
  }
  ~Miser() { ::close(socket_); }
  Miser(const Miser&) = delete;
  Miser& operator=(const Miser&) = delete;

 private:
  static std::string Frame(char type, char flags, int stream, const std::string& payload) {
    const size_t size = payload.size();
    return std::string{static_cast<char>(size >> 16),
                       static_cast<char>(size >> 8),
                       static_cast<char>(size),
                       type,
                       flags,
                       0,
                       0,
                       static_cast<char>(stream >> 8),
                       static_cast<char>(stream)} +
           payload;
  }
  const int socket_;
};

// Of a server: the places that it has, and more calls than those.
constexpr int kMaxCalls = 64;
constexpr int kPlaces = kMaxCalls + 16;
constexpr int kMany = 3 * kPlaces;

TEST_CASE("Who does not take his answers gets so many, and no more when he has gone") {
  RpcServerOptions options;
  options.max_concurrent_calls = kMaxCalls;
  std::atomic<int> answered{0};
  Server server(
      [&](const v1::SearchItemsRequest& request, const CallContext&) {
        if (request.query().text().empty()) ++answered;
        return absl::OkStatus();
      },
      options);
  {
    const Miser miser(server.server.port(), kMany);
    while (!absl::IsResourceExhausted(server.Search("probe"))) std::this_thread::yield();
    CHECK(answered <= kPlaces);
  }
  while (!server.Search("probe").ok()) std::this_thread::yield();
}

TEST_CASE("Who does not take his answers has to go when others come") {
  RpcServerOptions options;
  options.max_concurrent_calls = kMaxCalls;
  options.default_deadline = absl::Milliseconds(20);  // and a second to take an answer
  Server server([](const v1::SearchItemsRequest&, const CallContext&) { return absl::OkStatus(); },
                options);
  const Miser miser(server.server.port(), kMany);
  while (!absl::IsResourceExhausted(server.Search("probe"))) std::this_thread::yield();
  while (!server.Search("probe").ok()) std::this_thread::yield();
}

TEST_CASE("A server stops whatever still comes, and who calls is told") {
  for (int round = 0; round < 5; ++round) {
    Server server(
        [](const v1::SearchItemsRequest&, const CallContext&) { return absl::OkStatus(); });
    std::atomic<int> answered{0};
    std::atomic<int> wrong{0};
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i) {
      callers.emplace_back([&] {
        const auto stub = v1::Search::NewStub(server.channel);
        while (true) {
          grpc::ClientContext context;
          v1::GetItemsResponse response;
          const grpc::Status status = stub->GetItems(&context, v1::GetItemsRequest(), &response);
          if (status.ok()) {
            ++answered;
            continue;
          }
          // What was on its way meanwhile gRPC ends itself.
          if (status.error_code() != grpc::StatusCode::UNAVAILABLE &&
              status.error_code() != grpc::StatusCode::CANCELLED) {
            ++wrong;
          }
          break;
        }
      });
    }
    while (answered < 50) std::this_thread::yield();
    server.server.Drain();
    for (std::thread& caller : callers) caller.join();
    CHECK(wrong == 0);
  }
}

TEST_CASE("Outside of servers there is no loop, and one that is lent is waited for") {
  CHECK(EventLoop::Current() == nullptr);
  CHECK(EventLoop::Lend() == nullptr);
  Gate ends, ended;
  std::thread ender;
  {
    Server server(
        [](const v1::SearchItemsRequest&, const CallContext&) { return absl::OkStatus(); });
    EventLoop* const lent = EventLoop::Lend();
    REQUIRE(lent != nullptr);
    server.server.Drain();
    CHECK(EventLoop::Lend() == nullptr);
    ender = std::thread([&, lent] {
      ends.Wait();
      lent->GiveBack();
    });
    ends.Open();
  }
  ender.join();
}

}  // namespace
}  // namespace sightline
