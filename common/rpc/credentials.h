// How the two ends of a connection make sure of each other: all that servers and clients know of
// it is a name, and this says what the name means.
#ifndef SIGHTLINE_COMMON_RPC_CREDENTIALS_H_
#define SIGHTLINE_COMMON_RPC_CREDENTIALS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace grpc {
class ChannelCredentials;
class ServerCredentials;
}  // namespace grpc

namespace sightline {

// InvalidArgument, with those that there are, for a name that is none.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ChannelCredentialsOf(
    const std::string& name);
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentialsOf(
    const std::string& name);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_CREDENTIALS_H_
