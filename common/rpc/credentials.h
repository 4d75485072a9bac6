// What Credentials mean to gRPC: to servers and clients they are a value that they pass on.
#ifndef SIGHTLINE_COMMON_RPC_CREDENTIALS_H_
#define SIGHTLINE_COMMON_RPC_CREDENTIALS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/base/server_address.h"

namespace grpc {
class ChannelArguments;
class ChannelCredentials;
class ServerCredentials;
}  // namespace grpc

namespace sightline {

// InvalidArgument, with those that there are, for a kind that is none; or what the kind finds
// wrong.  What gRPC takes as an argument of the channel, a name to expect, is added to `arguments`.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ChannelCredentialsOf(
    const Credentials& credentials, grpc::ChannelArguments* arguments);
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentialsOf(
    const Credentials& credentials);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_CREDENTIALS_H_
