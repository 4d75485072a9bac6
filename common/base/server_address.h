// Where a server is and how a connection to it is secured: for whoever calls one.
#ifndef SIGHTLINE_COMMON_BASE_SERVER_ADDRESS_H_
#define SIGHTLINE_COMMON_BASE_SERVER_ADDRESS_H_

#include <string>
#include <utility>

namespace sightline {

// One of those that common/rpc/credentials.cc lists.
inline constexpr char kPlaintext[] = "plaintext";

struct ServerAddress {
  // From what people write.
  ServerAddress(std::string target) : target(std::move(target)) {}  // NOLINT: converts
  ServerAddress(const char* target) : target(target) {}             // NOLINT: converts

  // "host:port", or a gRPC target like "dns:///host:port".
  std::string target;
  std::string credentials = kPlaintext;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_SERVER_ADDRESS_H_
