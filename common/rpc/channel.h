// Channels to other servers, and the client contexts of calls made for a call.
#ifndef SIGHTLINE_COMMON_RPC_CHANNEL_H_
#define SIGHTLINE_COMMON_RPC_CHANNEL_H_

#include <memory>
#include <string>

#include "common/base/call_context.h"
#include "common/base/server_address.h"

namespace grpc {
class Channel;
class ClientContext;
}  // namespace grpc

namespace sightline {

// A channel to `address`, never null; it connects when first used, and fails each call if there are
// no such credentials: ChannelCredentialsOf says why.  Each channel has its own connection: two of
// them to one address do not share one, so that one client's load and failures stay its own.
// Proxies of the environment are not used.
//
// `service_config_json` is gRPC's service config (timeouts, retries) for callers of the
// public API.  Empty, as between our services, means no retries in the channel: the router
// alone retries.
std::shared_ptr<grpc::Channel> MakeChannel(const ServerAddress& address,
                                           const std::string& service_config_json = "");

// A context for one call to a backend on behalf of `call`: its deadline, its request id,
// and its cancellation, which cancels the backend's call too.  Keep it until the call
// has ended.
std::shared_ptr<grpc::ClientContext> NewClientContext(const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_CHANNEL_H_
