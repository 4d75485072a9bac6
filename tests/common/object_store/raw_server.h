// A server that answers with any bytes at all, to clients that have to live with it.
//
//   RawServer server([](int socket) { SendAll(socket, "HTTP/1.1 200 OK\r\n\r\n"); });
#ifndef SIGHTLINE_TESTS_COMMON_OBJECT_STORE_RAW_SERVER_H_
#define SIGHTLINE_TESTS_COMMON_OBJECT_STORE_RAW_SERVER_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/descriptor.h"

namespace sightline {

// False once the other side has gone.
inline bool SendAll(int socket, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(sent);
  }
  return true;
}

// Up to the end of a request's headers, or of the connection.
inline std::string ReadHeaders(int socket) {
  std::string text;
  char byte = 0;
  while (text.find("\r\n\r\n") == text.npos && ::recv(socket, &byte, 1, 0) == 1) text += byte;
  return text;
}

// Hands each connection to `serve`, one after the other, and closes it then.
class RawServer {
 public:
  explicit RawServer(std::function<void(int socket)> serve)
      : listener_(::socket(AF_INET, SOCK_STREAM, 0)), serve_(std::move(serve)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* const general = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_.get(), general, length) != 0 || ::listen(listener_.get(), 8) != 0 ||
        ::getsockname(listener_.get(), general, &length) != 0) {
      throw std::runtime_error("cannot listen on 127.0.0.1");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Run(); });
  }

  ~RawServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  std::string url(absl::string_view scheme = "http") const {
    return absl::StrCat(scheme, "://127.0.0.1:", port_, "/a");
  }

 private:
  void Run() {
    while (true) {
      const Descriptor connection(::accept(listener_.get(), nullptr, nullptr));
      if (connection.get() < 0) return;
      serve_(connection.get());
    }
  }

  const Descriptor listener_;
  const std::function<void(int)> serve_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_OBJECT_STORE_RAW_SERVER_H_
