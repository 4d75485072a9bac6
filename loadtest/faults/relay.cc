#include "loadtest/faults/relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/descriptor.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "loadtest/faults/delayed_stream.h"

namespace sightline {
namespace {

constexpr int kEventsAtOnce = 64;
// How long nobody is accepted after the process ran out of descriptors.
constexpr absl::Duration kAcceptPause = absl::Milliseconds(100);

absl::StatusOr<sockaddr_in> ParseAddress(absl::string_view text) {
  const size_t colon = text.rfind(':');
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  int port = 0;
  if (colon == absl::string_view::npos || !absl::SimpleAtoi(text.substr(colon + 1), &port) ||
      port < 1 || port > 65535 ||
      ::inet_pton(AF_INET, std::string(text.substr(0, colon)).c_str(), &address.sin_addr) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no address to relay to; write 127.0.0.1:PORT"));
  }
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

const sockaddr* Generic(const sockaddr_in* address) {
  return reinterpret_cast<const sockaddr*>(address);
}

// Small messages go out as they come.
void SendAtOnce(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

// Its end will be a reset.
void EndWithReset(int socket) {
  const linger at_once = {1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

// One of the two sockets of a connection, and what epoll was told of it.
struct Side {
  explicit Side(int fd) : socket(fd) {}
  Descriptor socket;
  bool watched = false;
  uint32_t events = 0;
};

struct Connection {
  Connection(uint64_t id, int client_fd, int target_fd, int64_t max_held_bytes)
      : id(id),
        sides{Side(client_fd), Side(target_fd)},
        streams{DelayedStream(client_fd, target_fd, max_held_bytes),
                DelayedStream(target_fd, client_fd, max_held_bytes)} {}
  int64_t held_bytes() const { return streams[0].held_bytes() + streams[1].held_bytes(); }
  bool done() const { return streams[0].done() && streams[1].done(); }

  const uint64_t id;
  Side sides[2];             // client, target
  DelayedStream streams[2];  // [i] reads from sides[i] and writes to the other
  absl::Time timer = absl::InfiniteFuture();
  int64_t counted_bytes = 0;  // its part of held_bytes_ of the relay
};

class EpollRelay : public Relay {
 public:
  EpollRelay(const sockaddr_in& target, const RelayOptions& options)
      : target_(target),
        options_(options),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        listener_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {}

  ~EpollRelay() override {
    if (!thread_.joinable()) return;
    const uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof(one));
    thread_.join();
    for (const auto& [id, connection] : open_) {
      for (const Side& side : connection->sides) EndWithReset(side.socket.get());
    }
  }

  absl::Status Listen() {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    if (epoll_.get() < 0 || wake_.get() < 0 || listener_.get() < 0 ||
        ::bind(listener_.get(), Generic(&address), sizeof(address)) != 0 ||
        ::listen(listener_.get(), SOMAXCONN) != 0 ||
        ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
        !Watch(EPOLL_CTL_ADD, listener_.get(), EPOLLIN, kListener) ||
        !Watch(EPOLL_CTL_ADD, wake_.get(), EPOLLIN, kWake)) {
      return FileError("listen on", "127.0.0.1", errno);
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Loop(); });
    return absl::OkStatus();
  }

  int port() const override { return port_; }
  void SetDelay(absl::Duration each_way) override {
    delay_nanoseconds_ = std::max<int64_t>(0, absl::ToInt64Nanoseconds(each_way));
  }
  int connections() const override { return connections_; }
  int64_t held_bytes() const override { return held_bytes_; }

 private:
  // What an event is of: these, or twice a connection's id and the side.
  static constexpr uint64_t kListener = 0, kWake = 1, kFirstId = 1;

  bool Watch(int operation, int fd, uint32_t events, uint64_t of) {
    epoll_event event = {};
    event.events = events;
    event.data.u64 = of;
    return ::epoll_ctl(epoll_.get(), operation, fd, &event) == 0;
  }

  void Loop() {
    epoll_event events[kEventsAtOnce];
    for (;;) {
      const int count = ::epoll_wait(epoll_.get(), events, kEventsAtOnce, Timeout());
      for (int i = 0; i < count; ++i) {
        if (events[i].data.u64 == kWake) return;
        if (events[i].data.u64 == kListener) {
          AcceptAll();
        } else {
          OnEvent(events[i].data.u64 / 2, events[i].data.u64 % 2, events[i].events);
        }
      }
      RunTimers();
    }
  }

  // Milliseconds until the next timer, rounded up; -1 for none.
  int Timeout() const {
    const absl::Time next =
        timers_.empty() ? accept_again_ : std::min(accept_again_, timers_.begin()->first);
    if (next == absl::InfiniteFuture()) return -1;
    const double left = absl::ToDoubleMilliseconds(next - clock_->Now());
    return static_cast<int>(std::clamp(std::ceil(left), 0.0, 1e6));
  }

  void RunTimers() {
    const absl::Time now = clock_->Now();
    if (accept_again_ <= now) {
      accept_again_ = absl::InfiniteFuture();
      (void)Watch(EPOLL_CTL_MOD, listener_.get(), EPOLLIN, kListener);
    }
    while (!timers_.empty() && timers_.begin()->first <= now) {
      const auto found = open_.find(timers_.begin()->second);
      Advance(found->second.get());
    }
  }

  void AcceptAll() {
    for (;;) {
      const int client = ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (client >= 0) {
        Open(client);
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        // The one who waits would wake us at once, again and again.
        (void)Watch(EPOLL_CTL_MOD, listener_.get(), 0, kListener);
        accept_again_ = clock_->Now() + kAcceptPause;
        return;
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return;
      }
    }
  }

  void Open(int client) {
    SendAtOnce(client);
    const int target = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (target < 0 ||
        (::connect(target, Generic(&target_), sizeof(target_)) != 0 && errno != EINPROGRESS)) {
      EndWithReset(client);
      ::close(client);
      if (target >= 0) ::close(target);
      return;
    }
    SendAtOnce(target);
    const uint64_t id = next_id_++;
    auto& connection = open_[id];
    connection = std::make_unique<Connection>(id, client, target, options_.max_held_bytes);
    ++connections_;
    Advance(connection.get());
  }

  void OnEvent(uint64_t id, uint64_t side_number, uint32_t events) {
    const auto found = open_.find(id);
    if (found == open_.end()) return;  // closed by an event before this one
    Connection* const connection = found->second.get();
    Side* const side = &connection->sides[side_number];
    DelayedStream* const stream = &connection->streams[side_number];
    if ((events & EPOLLERR) != 0) return Close(connection, /*reset=*/true);
    if ((events & EPOLLHUP) != 0 && side->events == 0) {
      // Ended in both directions, and its rest has to wait: epoll would tell it for ever.
      (void)Watch(EPOLL_CTL_DEL, side->socket.get(), 0, 0);
      side->watched = false;
      return;
    }
    if ((events & (EPOLLIN | EPOLLHUP)) != 0 && stream->wants_read() &&
        !stream->Read(clock_->Now() + absl::Nanoseconds(delay_nanoseconds_.load()))) {
      return Close(connection, /*reset=*/true);
    }
    Advance(connection);
  }

  // Writes what can be written, and says to epoll and the timers what comes next.
  void Advance(Connection* connection) {
    const absl::Time now = clock_->Now();
    for (DelayedStream& stream : connection->streams) {
      if (!stream.Write(now)) return Close(connection, /*reset=*/true);
    }
    if (connection->done()) return Close(connection, /*reset=*/false);
    Count(connection, connection->held_bytes());
    absl::Time timer = absl::InfiniteFuture();
    for (int i = 0; i < 2; ++i) {
      const absl::Time due = connection->streams[i].due();
      const bool blocked = due <= now;  // was to be written and was not
      if (!blocked) timer = std::min(timer, due);
      SetInterest(connection, 1 - i, connection->streams[1 - i].wants_read(), blocked);
    }
    SetTimer(connection, timer);
  }

  void SetInterest(Connection* connection, int side_number, bool read, bool write) {
    Side* const side = &connection->sides[side_number];
    const uint32_t events = (read ? EPOLLIN : 0u) | (write ? EPOLLOUT : 0u);
    if (side->watched ? events == side->events : events == 0) return;
    (void)Watch(side->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, side->socket.get(), events,
                2 * connection->id + static_cast<uint64_t>(side_number));
    side->watched = true;
    side->events = events;
  }

  void SetTimer(Connection* connection, absl::Time timer) {
    if (timer == connection->timer) return;
    timers_.erase({connection->timer, connection->id});
    connection->timer = timer;
    if (timer != absl::InfiniteFuture()) timers_.insert({timer, connection->id});
  }

  void Count(Connection* connection, int64_t held_bytes) {
    held_bytes_ += held_bytes - connection->counted_bytes;
    connection->counted_bytes = held_bytes;
  }

  void Close(Connection* connection, bool reset) {
    Count(connection, 0);
    SetTimer(connection, absl::InfiniteFuture());
    for (const Side& side : connection->sides) {
      if (reset) EndWithReset(side.socket.get());
    }
    --connections_;
    open_.erase(connection->id);  // closes its sockets, which ends their watch
  }

  Clock* const clock_ = Clock::Real();
  const sockaddr_in target_;
  const RelayOptions options_;
  const Descriptor epoll_, wake_, listener_;
  int port_ = 0;
  std::atomic<int64_t> delay_nanoseconds_{0};
  std::atomic<int> connections_{0};
  std::atomic<int64_t> held_bytes_{0};

  // Of the thread, and of the destructor after it.
  uint64_t next_id_ = kFirstId;
  std::map<uint64_t, std::unique_ptr<Connection>> open_;
  std::set<std::pair<absl::Time, uint64_t>> timers_;  // those of open_ that are not infinite
  absl::Time accept_again_ = absl::InfiniteFuture();
  std::thread thread_;
};

}  // namespace

std::string Relay::address() const {
  return absl::StrCat("127.0.0.1:", port());
}

absl::StatusOr<std::unique_ptr<Relay>> Relay::Start(absl::string_view target,
                                                    const RelayOptions& options) {
  ASSIGN_OR_RETURN(const sockaddr_in address, ParseAddress(target));
  auto relay = std::make_unique<EpollRelay>(address, options);
  RETURN_IF_ERROR(relay->Listen());
  return relay;
}

}  // namespace sightline
