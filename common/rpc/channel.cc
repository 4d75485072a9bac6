#include "common/rpc/channel.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "common/rpc/request_id.h"

namespace sightline {
namespace {

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(duration), 1, std::numeric_limits<int>::max()));
}

int Bounded(int64_t bytes) {
  return static_cast<int>(std::clamp<int64_t>(bytes, 1, std::numeric_limits<int>::max()));
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const ChannelOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(Bounded(options.max_receive_bytes));
  arguments.SetMaxSendMessageSize(Bounded(options.max_send_bytes));
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, Milliseconds(options.first_backoff));
  // In spite of its name this is how long an attempt to connect may take.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, Milliseconds(options.connect_timeout));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, Milliseconds(options.last_backoff));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options.keepalive_time));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(options.keepalive_timeout));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // A name is asked for again when its connection breaks; gRPC would wait for 30 s before it
  // does, and for an answer up to two minutes.
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS,
                   Milliseconds(options.name_interval));
  arguments.SetInt(GRPC_ARG_DNS_ARES_QUERY_TIMEOUT_MS, Milliseconds(options.name_timeout));
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // A service config comes from us or not at all, never from a DNS record.
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  if (options.service_config_json.empty()) {
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  } else {
    arguments.SetServiceConfigJSON(options.service_config_json);
  }
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
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
