#include "common/rpc/rpc_server.h"

#include <grpc/grpc.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/log/log.h"
#include "common/rpc/credentials.h"
#include "common/rpc/event_loop.h"
#include "common/rpc/health_service.h"
#include "common/rpc/reflection_service.h"
#include "common/rpc/rpc_service.h"

namespace sightline {
namespace {

// Threads beyond max_concurrent_calls: for status calls, which are always admitted, and for
// calls that are being refused.
constexpr int kSpareThreads = 16;

// Calls that one connection may have open; what comes beyond waits in the client.
constexpr int kMaxStreamsPerConnection = 1024;

// How often a client may ask whether the connection lives; twice as often as ours do.
constexpr absl::Duration kMinPingInterval = absl::Seconds(5);

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(duration), 1, std::numeric_limits<int>::max()));
}

void SetLimits(const RpcServerOptions& options, grpc::ServerBuilder* builder) {
  grpc::ResourceQuota quota("server");
  quota.Resize(static_cast<size_t>(options.memory_quota_bytes));
  builder->SetResourceQuota(quota);
  builder->SetMaxReceiveMessageSize(static_cast<int>(
      std::min<int64_t>(options.max_receive_bytes, std::numeric_limits<int>::max())));
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              static_cast<int>(absl::ToInt64Milliseconds(kMinPingInterval)));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                              Milliseconds(options.max_connection_age));
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                              Milliseconds(options.max_deadline));
  // Pictures are compressed already, and a few bytes that unfold to gigabytes would do so
  // before their length is looked at.
  for (const grpc_compression_algorithm algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    builder->SetCompressionAlgorithmSupportStatus(algorithm, false);
  }
  // A taken port is an error, not something to share.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

// Has a server take no more calls and tell its callers so.  As long as it is there gRPC may tell it
// of the end.
class StopNotice {
 public:
  StopNotice(grpc::Server* server, EventLoop* loop)
      : queue_(grpc_completion_queue_create_for_next(/*reserved=*/nullptr)) {
    loop->RunWhenIdle(
        [&] { grpc_server_shutdown_and_notify(server->c_server(), queue_, /*tag=*/nullptr); });
  }
  // The server has stopped.
  ~StopNotice() {
    grpc_completion_queue_shutdown(queue_);
    const gpr_timespec never = gpr_inf_future(GPR_CLOCK_MONOTONIC);
    while (grpc_completion_queue_next(queue_, never, /*reserved=*/nullptr).type !=
           GRPC_QUEUE_SHUTDOWN) {
    }
    grpc_completion_queue_destroy(queue_);
  }
  StopNotice(const StopNotice&) = delete;
  StopNotice& operator=(const StopNotice&) = delete;

 private:
  grpc_completion_queue* const queue_;
};

}  // namespace

RpcServer::RpcServer(const RpcServerOptions& options, MetricsRegistry* metrics, Clock* clock)
    : options_(options),
      metrics_(metrics),
      clock_(clock),
      gate_(options, metrics, clock),
      health_(std::make_unique<HealthService>(&gate_)) {}

RpcServer::~RpcServer() {
  Stop(absl::ZeroDuration(), absl::ZeroDuration());
  // Before the server goes: gRPC has requests of its own in the queue, which know it.
  if (loop_ != nullptr) loop_->Stop();
}

void RpcServer::AddService(RpcService* service) {
  services_.push_back(service);
}

absl::Status RpcServer::Start() {
  if (options_.listen.rfind(':') == std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("listen address \"", options_.listen, "\" is not host:port"));
  }
  ASSIGN_OR_RETURN(const auto credentials, ServerCredentialsOf(options_.credentials));
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options_.listen, credentials, &port_);
  SetLimits(options_, &builder);
  SetHealth(false);
  if (options_.reflection) {
    std::vector<std::string> names;
    for (const RpcService* const service : Services()) names.push_back(service->full_name());
    reflection_ = std::make_unique<ReflectionService>(&gate_, std::move(names));
  }
  for (RpcService* const service : Services()) builder.RegisterService(service);
  loop_ = std::make_unique<EventLoop>(builder.AddCompletionQueue(),
                                      options_.max_concurrent_calls + kSpareThreads,
                                      LoopMetrics::Make(metrics_));
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port_ == 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", options_.listen,
                     "; is the port taken, or the address not of this machine?"));
  }
  loop_->Start();
  for (RpcService* const service : Services()) service->Accept(loop_.get());
  if (!options_.metrics_listen.empty()) {
    ASSIGN_OR_RETURN(metrics_server_, MetricsServer::Start(metrics_, options_.metrics_listen));
  }
  Log(Severity::kInfo, "listening",
      {{"address", options_.listen}, {"port", port_}, {"metrics_port", metrics_port()}});
  return absl::OkStatus();
}

std::vector<RpcService*> RpcServer::Services() const {
  std::vector<RpcService*> all = services_;
  all.push_back(health_.get());
  if (reflection_ != nullptr) all.push_back(reflection_.get());
  return all;
}

void RpcServer::SetHealth(bool serving) {
  health_->Set("", serving);
  for (const RpcService* const service : services_) health_->Set(service->full_name(), serving);
}

void RpcServer::SetServing(bool serving) {
  MutexLock lock(mutex_);
  if (draining_ || server_ == nullptr || serving == serving_) return;
  serving_ = serving;
  ever_served_ = ever_served_ || serving;
  SetHealth(serving);
  Log(Severity::kInfo, serving ? "serving" : "not serving");
}

bool RpcServer::serving() const {
  MutexLock lock(mutex_);
  return serving_;
}

bool RpcServer::draining() const {
  MutexLock lock(mutex_);
  return draining_;
}

void RpcServer::Drain() {
  Stop(options_.drain_delay, options_.drain_timeout);
}

void RpcServer::Stop(absl::Duration delay, absl::Duration timeout) {
  MutexLock stopping(stop_mutex_);
  if (stopped_ || server_ == nullptr) return;
  stopped_ = true;
  bool ever_served;
  {
    MutexLock lock(mutex_);
    draining_ = true;
    serving_ = false;
    ever_served = ever_served_;
    SetHealth(false);
  }
  // Nobody was sent to a server that never was SERVING: one that failed to start just ends.
  if (ever_served) clock_->SleepUntil(clock_->Now() + delay);
  loop_->Close();
  // In the thread that reads, and asks for the next call: no call is on its way between the two, of
  // which gRPC would say that it was cancelled, and nothing is asked that would not be answered.
  const StopNotice notice(server_.get(), loop_.get());
  server_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoMicroseconds(timeout));
  server_->Wait();
  loop_->AwaitLastCaller();
}

}  // namespace sightline
