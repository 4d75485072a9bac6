#include "common/rpc/channel.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <chrono>

#include "absl/time/time.h"
#include "common/base/limits.h"
#include "common/rpc/credentials.h"
#include "common/rpc/request_id.h"

namespace sightline {
namespace {

// Wait before reconnecting: the first after the first failure, growing to the last.  gRPC's
// own growth, to two minutes, would keep a restarted backend idle.
constexpr absl::Duration kFirstBackoff = absl::Milliseconds(100);
constexpr absl::Duration kLastBackoff = absl::Seconds(1);

// How long one attempt to connect may take.
constexpr absl::Duration kConnectTimeout = absl::Seconds(2);

// A connection that is silent for the first is probed and given up after the second: how long
// a vanished host goes unnoticed.
constexpr absl::Duration kKeepaliveTime = absl::Seconds(10);
constexpr absl::Duration kKeepaliveTimeout = absl::Seconds(5);

// The least time between two look-ups of the address's name, and how long one may take.  A
// name is looked up when its connection has broken, not while it holds; gRPC would wait for
// 30 s before it does, and for an answer up to two minutes.
constexpr absl::Duration kNameInterval = absl::Seconds(1);
constexpr absl::Duration kNameTimeout = absl::Seconds(5);

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const ServerAddress& address,
                                           const std::string& service_config_json) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(limits::kMaxMessageBytes));
  arguments.SetMaxSendMessageSize(static_cast<int>(limits::kMaxMessageBytes));
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, Milliseconds(kFirstBackoff));
  // In spite of its name this is how long an attempt to connect may take.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, Milliseconds(kConnectTimeout));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, Milliseconds(kLastBackoff));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(kKeepaliveTime));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(kKeepaliveTimeout));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, Milliseconds(kNameInterval));
  arguments.SetInt(GRPC_ARG_DNS_ARES_QUERY_TIMEOUT_MS, Milliseconds(kNameTimeout));
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // A service config comes from us or not at all, never from a DNS record.
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  if (service_config_json.empty()) {
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  } else {
    arguments.SetServiceConfigJSON(service_config_json);
  }
  // Of none gRPC makes a channel that fails.
  const auto credentials = ChannelCredentialsOf(address.credentials, &arguments);
  return grpc::CreateCustomChannel(address.target, credentials.ok() ? *credentials : nullptr,
                                   arguments);
}

std::shared_ptr<grpc::ClientContext> NewClientContext(const CallContext& call) {
  struct Linked {
    grpc::ClientContext context;
    Cancellation::Registration link;
  };
  const auto linked = std::make_shared<Linked>();
  const std::shared_ptr<grpc::ClientContext> context(linked, &linked->context);
  if (call.deadline() != absl::InfiniteFuture()) {
    // By what is left, because our clock may not be the system's.
    const absl::Duration left = std::min(call.remaining(), absl::Hours(24));
    context->set_deadline(std::chrono::system_clock::now() + absl::ToChronoMicroseconds(left));
  }
  if (!call.request_id().empty()) context->AddMetadata(kRequestIdKey, call.request_id());
  linked->link =
      call.cancellation()->OnCancel([weak = std::weak_ptr<grpc::ClientContext>(context)] {
        if (const std::shared_ptr<grpc::ClientContext> alive = weak.lock()) alive->TryCancel();
      });
  return context;
}

}  // namespace sightline
