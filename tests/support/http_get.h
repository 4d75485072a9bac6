// One HTTP request over a plain socket, for pages that a test wants to read as a
// stranger would.
#ifndef SIGHTLINE_TESTS_SUPPORT_HTTP_GET_H_
#define SIGHTLINE_TESTS_SUPPORT_HTTP_GET_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace sightline {

// A connection to 127.0.0.1:`port`, the caller's to close.  Throws, which fails the test, if
// nobody listens there.
inline int ConnectTo(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    ::close(fd);
    throw std::runtime_error("nobody listens on port " + std::to_string(port));
  }
  return fd;
}

// The whole answer, status line and headers included, of GET `path` at 127.0.0.1:`port`.
// Throws, which fails the test, if nobody answers.
inline std::string HttpGet(int port, const std::string& path) {
  const int fd = ConnectTo(port);
  const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
  std::string answer;
  if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) ==
      static_cast<ssize_t>(request.size())) {
    char buffer[4096];
    for (ssize_t n; (n = ::recv(fd, buffer, sizeof(buffer), 0)) > 0;) answer.append(buffer, n);
  }
  ::close(fd);
  return answer;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_HTTP_GET_H_
