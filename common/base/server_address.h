// Where a server is and how a connection to it is secured: for whoever calls one.
#ifndef SIGHTLINE_COMMON_BASE_SERVER_ADDRESS_H_
#define SIGHTLINE_COMMON_BASE_SERVER_ADDRESS_H_

#include <string>
#include <utility>

namespace sightline {

inline constexpr char kPlaintext[] = "plaintext";

// How the two ends of a connection make sure of each other.  What a kind needs to know, files
// or a name to expect, is a field here.
struct Credentials {
  // One of those that common/rpc/credentials.cc lists.
  std::string kind = kPlaintext;
};

struct ServerAddress {
  // From what people write.
  ServerAddress(std::string target, Credentials credentials = {})  // NOLINT: converts
      : target(std::move(target)), credentials(std::move(credentials)) {}
  ServerAddress(const char* target) : target(target) {}  // NOLINT: converts

  // "host:port", or a gRPC target like "dns:///host:port".
  std::string target;
  Credentials credentials;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_SERVER_ADDRESS_H_
