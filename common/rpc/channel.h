// Channels to other servers, and the client contexts of calls made for a call.
#ifndef SIGHTLINE_COMMON_RPC_CHANNEL_H_
#define SIGHTLINE_COMMON_RPC_CHANNEL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/limits.h"

namespace grpc {
class Channel;
class ClientContext;
}  // namespace grpc

namespace sightline {

struct ChannelOptions {
  // Longest message in each direction.
  int64_t max_receive_bytes = limits::kMaxMessageBytes;
  int64_t max_send_bytes = limits::kMaxMessageBytes;

  // Wait before reconnecting: `first` after the first failure, growing to `last`.
  // gRPC's own growth, to two minutes, would keep a restarted backend idle.
  absl::Duration first_backoff = absl::Milliseconds(100);
  absl::Duration last_backoff = absl::Seconds(1);

  // How long one attempt to connect may take.
  absl::Duration connect_timeout = absl::Seconds(2);

  // A connection that is silent for `keepalive_time` is probed and given up after
  // `keepalive_timeout`: how long a vanished host goes unnoticed.
  absl::Duration keepalive_time = absl::Seconds(10);
  absl::Duration keepalive_timeout = absl::Seconds(5);

  // The least time between two look-ups of the address's name, and how long one may take.  A
  // name is looked up when its connection has broken, not while it holds.
  absl::Duration name_interval = absl::Seconds(1);
  absl::Duration name_timeout = absl::Seconds(5);

  // gRPC service config (timeouts, retries) for callers of the public API.  Empty, as
  // between our services, means no retries in the channel: the router alone retries.
  std::string service_config_json;
};

// A channel to `address` ("host:port", or a gRPC target like "dns:///host:port"), never
// null; it connects when first used.  Each channel has its own connection: two of them
// to one address do not share one, so that one client's load and failures stay its own.
// Proxies of the environment are not used.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const ChannelOptions& options = {});

// A context for one call to a backend on behalf of `call`: its deadline, its request id,
// and its cancellation, which cancels the backend's call too.  Keep it until the call
// has ended.
std::shared_ptr<grpc::ClientContext> NewClientContext(const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_CHANNEL_H_
