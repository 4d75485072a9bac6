#include "loadtest/fleet/free_ports.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>

#include "tests/support/catch.h"

namespace sightline {
namespace {

int ListenOnAnyPort(int* port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  REQUIRE(::bind(listener, reinterpret_cast<const sockaddr*>(&address), length) == 0);
  REQUIRE(::listen(listener, 1) == 0);
  REQUIRE(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  *port = ntohs(address.sin_port);
  return listener;
}

}  // namespace

TEST_CASE("free ports are different ones that can be listened on") {
  const auto ports = ChooseFreePorts(50);
  REQUIRE(ports.ok());
  REQUIRE(std::set<int>(ports->begin(), ports->end()).size() == 50);
  for (const int port : *ports) REQUIRE(port >= 10'000);
}

TEST_CASE("a port is not free while somebody listens on it") {
  int port = 0;
  const int listener = ListenOnAnyPort(&port);
  REQUIRE(!IsPortFree(port));
  ::close(listener);
  REQUIRE(IsPortFree(port));
}

TEST_CASE("more ports than there are cannot be had") {
  REQUIRE(ChooseFreePorts(100'000).status().code() == absl::StatusCode::kResourceExhausted);
}

}  // namespace sightline
