#include "loadtest/fleet/free_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/descriptor.h"
#include "common/base/files.h"

namespace sightline {
namespace {

constexpr int kLowest = 10'000;  // well-known servers live below
constexpr int kHighest = 65'535;
constexpr int kFewestCandidates = 1'000;

// First and last port that the kernel gives to connections.
std::pair<int, int> ConnectionPorts() {
  const auto text = ReadFile("/proc/sys/net/ipv4/ip_local_port_range", 100);
  std::pair<int, int> range(32'768, 60'999);
  if (!text.ok()) return range;
  const std::vector<std::string> numbers =
      absl::StrSplit(*text, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
  std::pair<int, int> told;
  const bool read = numbers.size() == 2 && absl::SimpleAtoi(numbers[0], &told.first) &&
                    absl::SimpleAtoi(numbers[1], &told.second);
  return read ? told : range;
}

// In random order.  On a machine that gives nearly all ports to connections there is no
// good choice, and any port is a candidate.
std::vector<int> Candidates() {
  const std::pair<int, int> connections = ConnectionPorts();
  std::vector<int> outside, all;
  for (int port = kLowest; port <= kHighest; ++port) {
    all.push_back(port);
    if (port < connections.first || port > connections.second) outside.push_back(port);
  }
  std::vector<int>& candidates = outside.size() >= kFewestCandidates ? outside : all;
  std::shuffle(candidates.begin(), candidates.end(), std::mt19937(std::random_device{}()));
  return std::move(candidates);
}

}  // namespace

bool IsPortFree(int port) {
  const Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (listener.get() < 0) return false;
  const int on = 1;  // as servers do: connections that are over do not count
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
             0 &&
         ::listen(listener.get(), 1) == 0;
}

absl::StatusOr<std::vector<int>> ChooseFreePorts(int count) {
  std::vector<int> ports;
  for (const int port : Candidates()) {
    if (static_cast<int>(ports.size()) == count) break;
    if (IsPortFree(port)) ports.push_back(port);
  }
  if (static_cast<int>(ports.size()) == count) return ports;
  return absl::ResourceExhaustedError(
      absl::StrCat(count, " ports of 127.0.0.1 are wanted and ", ports.size(), " are free"));
}

}  // namespace sightline
