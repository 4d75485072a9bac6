#include "services/router/router_server.h"

#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/clients/admin_client.h"
#include "common/clients/grpc_backend_clients.h"

namespace sightline {
namespace {

// Between an answer and its consequences: what comes meanwhile is looked at together.
constexpr absl::Duration kRefreshDelay = absl::Milliseconds(50);

// 64 random bits as hex digits.
std::string RandomName() {
  std::random_device random;
  return absl::StrCat(absl::Hex(random(), absl::kZeroPad8), absl::Hex(random(), absl::kZeroPad8));
}

StatusBoardOptions BoardOptions(const RouterConfig& config) {
  return {RandomName(),       config.ready_share,         config.dead_after,    config.poll_timeout,
          config.start_grace, config.page_token_lifetime, config.restored_after};
}

ClientFactories GrpcClients(ChannelPool* channels) {
  return {[channels](const std::string& address) {
            return MakeGrpcQueryEncoderClient(channels->To(address), address);
          },
          [channels](const std::string& address) {
            return MakeGrpcIndexSearchClient(channels->To(address), address);
          },
          [channels](const std::string& address) {
            return MakeGrpcRerankerClient(channels->To(address), address);
          }};
}

ReplicaOptions Equipped(ReplicaOptions options, std::shared_ptr<EarlyPolls> early_polls) {
  options.timer = std::make_shared<TimerThread>(Clock::Real());
  options.seed = std::random_device()();
  options.precision_changed = [early_polls = std::move(early_polls)](const std::string& address) {
    early_polls->Ask(address);
  };
  return options;
}

}  // namespace

RouterServer::RouterServer(const RouterConfig& config)
    : config_(config),
      channels_(config_.backend_credentials),
      sets_(config_.backends, GrpcClients(&channels_), Equipped(config_.replicas, early_polls_),
            &metrics_),
      board_(Expand(config_.backends, {}), BoardOptions(config_), Clock::Real(), &metrics_,
             [this](const ReplicaSetId& set, Roster roster) {
               sets_.SetRoster(set, std::move(roster));
             }),
      budget_(config_.budget),
      caches_(config_.cache, &metrics_),
      retriever_(&sets_.backends(), &board_, &budget_, config_.retriever, &caches_),
      rpc_(config_.server, &metrics_),
      service_(&retriever_, rpc_.gate(), &metrics_, Clock::Real()),
      admin_([this](const StatusRequest&) { return Describe(); }, rpc_.gate()) {}

// Calls that come while it drains are answered by backends that come and go as before.
RouterServer::~RouterServer() {
  rpc_.Drain();
  names_.reset();
  early_polls_->Set(nullptr);
  poller_.reset();
  refreshes_.reset();
}

absl::Status RouterServer::Start(const std::shared_ptr<Cancellation>& /*stop*/) {
  rpc_.AddService(&service_);
  rpc_.AddService(&admin_);
  RETURN_IF_ERROR(rpc_.Start());
  started_ = Clock::Real()->Now();
  refreshes_ = std::make_unique<TimerThread>(Clock::Real());
  BackendPollerOptions polling;
  polling.interval = config_.poll_interval;
  polling.timeout = config_.poll_timeout;
  polling.make_client = [this](const std::string& address) {
    return MakeGrpcAdminClient(channels_.To(address), address);
  };
  polling.request = [this](const std::string& address) { return board_.RequestFor(address); };
  polling.report = [this](const std::string& address, absl::StatusOr<ServerStatus> status) {
    OnReport(address, std::move(status));
  };
  polling.seed = std::random_device()();
  poller_ = std::make_unique<BackendPoller>(AllAddresses(Expand(config_.backends, {})),
                                            std::move(polling), Clock::Real());
  early_polls_->Set(poller_.get());
  names_ = std::make_unique<NameWatcher>(
      config_.backends, config_.resolve_interval, Clock::Real(), LookUp,
      [this](const Membership& members) { SetMembers(members); });
  return absl::OkStatus();
}

ServerStatus RouterServer::Describe() const {
  ServerStatus status = board_.Describe();
  status.caches = caches_.Describe();
  status.draining = rpc_.draining();
  return status;
}

void RouterServer::SetMembers(const Membership& members) {
  board_.SetMembers(members);
  poller_->SetAddresses(AllAddresses(members));
}

void RouterServer::OnReport(const std::string& address, absl::StatusOr<ServerStatus> status) {
  if (!board_.Report(address, std::move(status))) return;
  refreshes_->At(Clock::Real()->Now() + kRefreshDelay, [this] { Refresh(); });
}

// Once serving, the router stays so: what is missing then shows in the answers.
void RouterServer::Refresh() {
  board_.Refresh();
  if (rpc_.serving()) return;
  const bool waited = Clock::Real()->Now() - started_ >= config_.start_grace;
  if (board_.all_known() || (waited && board_.any_known())) rpc_.SetServing(true);
}

}  // namespace sightline
