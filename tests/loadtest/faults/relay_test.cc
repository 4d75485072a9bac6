#include "loadtest/faults/relay.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/await.h"
#include "tests/support/catch.h"
#include "tests/support/gate.h"

namespace sightline {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A blocking socket.  Threads must not fail a test, so errors are results.
class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Socket() { Close(); }

  static Socket Connect(int port) {
    Socket made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = Loopback(port);
    (void)::connect(made.fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    const int on = 1;
    ::setsockopt(made.fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return made;
  }

  bool Send(const std::string& bytes) const {
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t count = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return false;
      sent += static_cast<size_t>(count);
    }
    return true;
  }
  void SendEnd() const { ::shutdown(fd_, SHUT_WR); }

  // What comes, `at_most` bytes; empty at the end, and after a reset, which sets `reset`.
  std::string Receive(size_t at_most, bool* reset = nullptr) const {
    std::string bytes(at_most, '\0');
    const ssize_t count = ::recv(fd_, bytes.data(), bytes.size(), 0);
    if (reset != nullptr) *reset = count < 0 && errno == ECONNRESET;
    bytes.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
    return bytes;
  }
  std::string ReceiveExactly(size_t size) const {
    std::string all;
    while (all.size() < size) {
      const std::string bytes = Receive(std::min<size_t>(size - all.size(), 64 << 10));
      if (bytes.empty()) break;
      all += bytes;
    }
    return all;
  }
  std::string ReceiveAll() const { return ReceiveExactly(SIZE_MAX); }

  void Reset() {
    const linger at_once = {1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    Close();
  }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Does the same with everybody who connects, each in a thread of its own.
class Server {
 public:
  explicit Server(std::function<void(Socket)> serve, int port = 0)
      : serve_(std::move(serve)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    ::setsockopt(listener_.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in address = Loopback(port);
    socklen_t length = sizeof(address);
    REQUIRE(::bind(listener_.fd(), reinterpret_cast<const sockaddr*>(&address), length) == 0);
    REQUIRE(::listen(listener_.fd(), SOMAXCONN) == 0);
    REQUIRE(::getsockname(listener_.fd(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { AcceptAll(); });
  }
  ~Server() {
    ::shutdown(listener_.fd(), SHUT_RDWR);
    thread_.join();
    for (std::thread& thread : threads_) thread.join();
  }
  int port() const { return port_; }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  void AcceptAll() {
    for (;;) {
      const int fd = ::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      threads_.emplace_back([this, fd] { serve_(Socket(fd)); });
    }
  }

  const std::function<void(Socket)> serve_;
  const Socket listener_;
  int port_ = 0;
  std::vector<std::thread> threads_;
  std::thread thread_;
};

// Sends back what comes, and its end.
void Echo(const Socket& socket) {
  for (;;) {
    const std::string bytes = socket.Receive(64 << 10);
    if (bytes.empty() || !socket.Send(bytes)) break;
  }
  socket.SendEnd();
}

std::unique_ptr<Relay> RelayTo(const std::string& address, const RelayOptions& options = {}) {
  auto relay = Relay::Start(address, options);
  INFO(relay.status());
  REQUIRE(relay.ok());
  return *std::move(relay);
}

// Bytes that no two places of a stream have alike.
std::string Noise(size_t size, uint32_t seed) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) {
    seed = seed * 1664525 + 1013904223;
    byte = static_cast<char>(seed >> 24);
  }
  return bytes;
}

absl::Duration RoundTrip(const Socket& socket) {
  const absl::Time begin = absl::Now();
  REQUIRE(socket.Send("x"));
  REQUIRE(socket.Receive(1) == "x");
  return absl::Now() - begin;
}

absl::Duration CpuTime() {
  timespec used;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return absl::DurationFromTimespec(used);
}

}  // namespace

TEST_CASE("megabytes come through intact, both ways at once, on many connections") {
  Server server(Echo);
  const auto relay = RelayTo(server.address());
  for (const absl::Duration delay : {absl::ZeroDuration(), absl::Milliseconds(3)}) {
    relay->SetDelay(delay);
    std::vector<std::thread> threads;
    std::vector<int> intact(4, 0);
    for (size_t i = 0; i < intact.size(); ++i) {
      threads.emplace_back([&, i] {
        const std::string sent = Noise(4 << 20, static_cast<uint32_t>(i));
        const Socket socket = Socket::Connect(relay->port());
        std::thread sender([&] {
          (void)socket.Send(sent);
          socket.SendEnd();
        });
        intact[i] = socket.ReceiveAll() == sent ? 1 : 0;
        sender.join();
      });
    }
    for (std::thread& thread : threads) thread.join();
    REQUIRE(intact == std::vector<int>(4, 1));
  }
}

TEST_CASE("many connections are open at once, and forgotten when they are closed") {
  Server server(Echo);
  const auto relay = RelayTo(server.address());
  std::vector<Socket> sockets;
  for (int i = 0; i < 200; ++i) sockets.push_back(Socket::Connect(relay->port()));
  for (int i = 0; i < 200; ++i) REQUIRE(sockets[i].Send(absl::StrCat("connection ", i)));
  for (int i = 0; i < 200; ++i) {
    const std::string sent = absl::StrCat("connection ", i);
    REQUIRE(sockets[i].ReceiveExactly(sent.size()) == sent);
  }
  REQUIRE(relay->connections() == 200);
  sockets.clear();
  AwaitUntil([&] { return relay->connections() == 0; });
  REQUIRE(relay->held_bytes() == 0);
}

TEST_CASE("a delay is added to each direction, and taken away again") {
  Server server(Echo);
  const auto relay = RelayTo(server.address());
  const Socket socket = Socket::Connect(relay->port());
  relay->SetDelay(absl::Milliseconds(150));
  for (int i = 0; i < 3; ++i) REQUIRE(RoundTrip(socket) >= absl::Milliseconds(300));
  relay->SetDelay(absl::ZeroDuration());
  // The fastest of some is hardly slowed by whatever else the machine does.
  absl::Duration fastest = absl::InfiniteDuration();
  for (int i = 0; i < 20; ++i) fastest = std::min(fastest, RoundTrip(socket));
  REQUIRE(fastest < absl::Milliseconds(150));
}

TEST_CASE("a delay holds messages beside each other, not one after the other") {
  Server server(Echo);
  const auto relay = RelayTo(server.address());
  const Socket socket = Socket::Connect(relay->port());
  relay->SetDelay(absl::Milliseconds(50));
  const absl::Time begin = absl::Now();
  for (int i = 0; i < 100; ++i) REQUIRE(socket.Send("x"));
  REQUIRE(socket.ReceiveExactly(100) == std::string(100, 'x'));
  const absl::Duration took = absl::Now() - begin;
  REQUIRE(took >= absl::Milliseconds(100));
  REQUIRE(took < 100 * absl::Milliseconds(50));
}

TEST_CASE("bytes keep their order when the delay becomes shorter") {
  Server server(Echo);
  const auto relay = RelayTo(server.address());
  const Socket socket = Socket::Connect(relay->port());
  relay->SetDelay(absl::Milliseconds(100));
  REQUIRE(socket.Send("first "));
  AwaitUntil([&] { return relay->held_bytes() == 6; });
  relay->SetDelay(absl::ZeroDuration());
  REQUIRE(socket.Send("second"));
  REQUIRE(socket.ReceiveExactly(12) == "first second");
}

TEST_CASE("the end of one direction is passed on, and the other goes on") {
  Server server([](const Socket& socket) {
    const std::string asked = socket.ReceiveAll();
    (void)socket.Send(absl::StrCat(asked.size(), " bytes came"));
  });
  const auto relay = RelayTo(server.address());
  for (const int delay : {0, 20}) {
    relay->SetDelay(absl::Milliseconds(delay));
    const Socket socket = Socket::Connect(relay->port());
    REQUIRE(socket.Send(std::string(100'000, 'x')));
    socket.SendEnd();
    REQUIRE(socket.ReceiveAll() == "100000 bytes came");
  }
  AwaitUntil([&] { return relay->connections() == 0; });
}

TEST_CASE("a reset is passed on") {
  SECTION("to the server") {
    Gate over;
    bool reset = false;
    Server server([&](const Socket& socket) {
      (void)socket.Send("hello");
      (void)socket.Receive(1, &reset);
      over.Open();
    });
    const auto relay = RelayTo(server.address());
    Socket socket = Socket::Connect(relay->port());
    REQUIRE(socket.ReceiveExactly(5) == "hello");
    socket.Reset();
    over.Wait();
    REQUIRE(reset);
  }
  SECTION("to the client") {
    Server server([](Socket socket) {
      (void)socket.Receive(1);
      socket.Reset();
    });
    const auto relay = RelayTo(server.address());
    const Socket socket = Socket::Connect(relay->port());
    REQUIRE(socket.Send("x"));
    bool reset = false;
    REQUIRE(socket.Receive(1, &reset).empty());
    REQUIRE(reset);
  }
}

TEST_CASE("a target that is not there resets, and is found when it comes back") {
  int port = 0;
  {
    Server server(Echo);
    port = server.port();
  }
  const auto relay = RelayTo(absl::StrCat("127.0.0.1:", port));
  bool reset = false;
  REQUIRE(Socket::Connect(relay->port()).Receive(1, &reset).empty());
  REQUIRE(reset);
  Server server(Echo, port);
  RoundTrip(Socket::Connect(relay->port()));
}

TEST_CASE("a slow reader makes the sender wait, and nobody else") {
  constexpr size_t kSize = 64 << 20;  // more than all buffers of the kernel together
  Gate read;
  std::string received;
  Server server([&](const Socket& socket) {
    if (socket.Receive(4) == "slow") {
      read.Wait();
      received = socket.ReceiveAll();
    } else {
      Echo(socket);
    }
  });
  RelayOptions options;
  options.max_held_bytes = 256 << 10;
  const auto relay = RelayTo(server.address(), options);
  const std::string sent = Noise(kSize, 7);
  std::thread sender([&] {
    const Socket socket = Socket::Connect(relay->port());
    (void)socket.Send("slow");
    (void)socket.Send(sent);
    socket.SendEnd();
    (void)socket.ReceiveAll();
  });
  // Full, and it stays so: the server reads nothing.
  AwaitUntil([&] { return relay->held_bytes() == options.max_held_bytes; });
  const Socket other = Socket::Connect(relay->port());
  REQUIRE(other.Send("fast"));
  for (int i = 0; i < 100; ++i) {
    RoundTrip(other);
    REQUIRE(relay->held_bytes() <= 2 * options.max_held_bytes);
  }
  read.Open();
  sender.join();
  REQUIRE(received == sent);
}

TEST_CASE("a relay that only waits uses no processor") {
  Server server([](const Socket& socket) {
    const std::string asked = socket.ReceiveAll();
    (void)socket.Send(asked);  // and closes, while the relay still holds the answer
  });
  const auto relay = RelayTo(server.address());
  relay->SetDelay(absl::Seconds(1));
  const Socket idle = Socket::Connect(relay->port());
  const Socket socket = Socket::Connect(relay->port());
  const absl::Duration before = CpuTime();
  REQUIRE(socket.Send("x"));
  socket.SendEnd();
  REQUIRE(socket.ReceiveAll() == "x");  // two seconds later
  // A thread that spins would get more than this even where it shares a core with many.
  REQUIRE(CpuTime() - before < absl::Milliseconds(50));
}

TEST_CASE("the end of a relay resets its connections") {
  Server server(Echo);
  auto relay = RelayTo(server.address());
  const Socket socket = Socket::Connect(relay->port());
  RoundTrip(socket);
  relay.reset();
  bool reset = false;
  REQUIRE(socket.Receive(1, &reset).empty());
  REQUIRE(reset);
}

TEST_CASE("a relay to what is no address is refused") {
  for (const char* address : {"", "7400", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0",
                              "127.0.0.1:65536", "router:7400", "127.0.0.1:x"}) {
    INFO(address);
    REQUIRE(Relay::Start(address).status().code() == absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace sightline
